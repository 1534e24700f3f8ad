"use strict";

{
  const clock = document.querySelector(".clock");
  const face = clock.querySelector(".countdown");
  // The shop's page says what became of the tickets.
  const countdown = new Countdown(clock, () => location.assign(face.dataset.then));
  countdown.start(Number(face.dataset.seconds));
}
