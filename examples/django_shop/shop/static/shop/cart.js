"use strict";

{
  const section = document.querySelector("#cart");
  const find = (selector) => section.querySelector(selector);
  const types = [...document.querySelectorAll("[data-type]")];
  const { url, availability, session } = section.dataset;
  const countdown = new Countdown(find(".clock"), load);
  const REFRESH_MS = 5000;
  // How many of each type the buttons show. One request at a time sends the whole cart.
  let wanted = new Map();
  let isSending = false;
  let isChanged = false;

  function csrfToken() {
    const found = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
    return found ? found[1] : "";
  }

  async function call(method, address, body) {
    const options = { method, headers: { "X-CSRFToken": csrfToken() } };
    if (body !== undefined) {
      options.headers["Content-Type"] = "application/json";
      options.body = JSON.stringify(body);
    }
    try {
      const answer = await fetch(address, options);
      return { status: answer.status, data: await answer.json() };
    } catch {
      return { status: 503, data: { message: "No connection. Please try again." } };
    }
  }

  function money(minor, currency) {
    return new Intl.NumberFormat("en", { style: "currency", currency }).format(minor / 100);
  }

  function nameOf(typeId) {
    const type = types.find((each) => each.dataset.type === typeId);
    return type ? type.dataset.name : "Ticket";
  }

  function say(problem) {
    find(".problem").textContent = problem;
    find(".problem").hidden = problem === "";
  }

  function show(state, hold) {
    const isHeld = state === "active" || state === "waiting";
    section.dataset.state = state;
    find(".empty").hidden = state !== "empty";
    find(".clock").hidden = state !== "active";
    find(".expired").hidden = state !== "expired";
    find(".waiting").hidden = state !== "waiting";
    if (state === "waiting") find("[data-position]").textContent = hold.position;
    find(".total").hidden = state === "empty";
    find("form").hidden = !isHeld;
    countdown.stop();
    if (state === "active") countdown.start(hold.expires_in_seconds);
    const lines = state === "empty" ? [] : hold.lines;
    find(".lines").replaceChildren(...lines.map((line) => lineOf(line, hold.currency)));
    if (lines.length) find("[data-total]").textContent = money(hold.total, hold.currency);
    if (isSending) return;
    wanted = new Map();
    for (const line of isHeld ? lines : []) {
      wanted.set(line.ticket_type_id, (wanted.get(line.ticket_type_id) ?? 0) + line.quantity);
    }
    showCounts();
  }

  function showCounts() {
    for (const type of types) {
      const count = wanted.get(type.dataset.type) ?? 0;
      type.querySelector("output").value = count;
      type.querySelector('[data-step="-1"]').disabled = count === 0;
    }
  }

  function lineOf(line, currency) {
    const item = document.createElement("li");
    const name = document.createElement("span");
    name.textContent = `${line.quantity} × ${nameOf(line.ticket_type_id)}`;
    if (line.seat) {
      const seat = document.createElement("small");
      seat.textContent = `${line.seat.block_name}, row ${line.seat.row}, seat ${line.seat.seat_number}`;
      name.append(seat);
    }
    const price = document.createElement("span");
    price.textContent = money(line.subtotal, currency);
    item.append(name, price);
    return item;
  }

  function showCart(answer) {
    if (answer.status === 404) return showHold(null);
    if (answer.status >= 400) return say(answer.data.message);
    showHold(answer.data);
  }

  function showHold(hold) {
    const isOver = hold === null || ["empty", "cancelled", "converted"].includes(hold.status);
    show(isOver ? "empty" : hold.status, hold);
  }

  async function load() {
    showCart(await call("GET", url));
    await refreshOffer();
  }

  async function refreshOffer() {
    const answer = await call("GET", availability);
    if (answer.status !== 200) return;
    for (const offered of answer.data.ticket_types) {
      const type = types.find((each) => each.dataset.type === offered.ticket_type_id);
      if (!type) continue;
      type.querySelector("[data-left]").textContent =
        offered.available > 0 ? `${offered.available.toLocaleString("en")} left` : "Sold out";
    }
  }

  async function fill() {
    const items = [...wanted]
      .filter(([, quantity]) => quantity > 0)
      .map(([id, quantity]) => ({ cart_item_id: id, ticket_type_id: id, quantity }));
    const answer = items.length
      ? await call("PUT", url, { session_id: session, items })
      : await call("DELETE", url);
    say(answer.status >= 400 ? answer.data.message : "");
  }

  async function step(type, by) {
    const id = type.dataset.type;
    wanted.set(id, Math.max(0, (wanted.get(id) ?? 0) + by));
    showCounts();
    isChanged = true;
    if (isSending) return;
    isSending = true;
    while (isChanged) {
      isChanged = false;
      await fill();
    }
    isSending = false;
    await load();
  }

  for (const type of types) {
    for (const button of type.querySelectorAll("[data-step]")) {
      button.addEventListener("click", () => step(type, Number(button.dataset.step)));
    }
  }
  for (const button of section.querySelectorAll("[data-empty]")) {
    button.addEventListener("click", async () => {
      say("");
      showCart(await call("DELETE", url));
      await refreshOffer();
    });
  }
  find("[data-renew]").addEventListener("click", async () => {
    const answer = await call("POST", `${url}/renew`, {});
    say(answer.status >= 400 ? answer.data.message : "");
    if (answer.status < 400) showCart(answer);
    await refreshOffer();
  });

  setInterval(refreshOffer, REFRESH_MS);
  showHold(JSON.parse(document.querySelector("#cart-hold").textContent));
}
