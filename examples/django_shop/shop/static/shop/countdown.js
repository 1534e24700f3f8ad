"use strict";

// Counts down from the seconds that the server says are left. The browser's own clock may be wrong,
// so it only measures how much of them has passed.
class Countdown {
  constructor(clock, onEnd) {
    this.face = clock.querySelector(".countdown");
    this.bar = clock.querySelector(".bar > div");
    this.clock = clock;
    this.onEnd = onEnd;
    this.timer = null;
    this.full = 0;
  }

  start(seconds) {
    this.stop();
    this.until = performance.now() + seconds * 1000;
    this.full = Math.max(this.full, seconds);
    this.timer = setInterval(() => this.show(), 250);
    this.show();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
  }

  show() {
    const left = Math.max(0, Math.ceil((this.until - performance.now()) / 1000));
    this.face.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    this.bar.style.width = `${(100 * left) / this.full}%`;
    this.clock.classList.toggle("soon", left <= 60);
    if (left === 0 && this.timer !== null) {
      this.stop();
      this.onEnd();
    }
  }
}
