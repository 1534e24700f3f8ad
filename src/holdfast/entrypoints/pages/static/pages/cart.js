// The demo's cart page. Three rules keep it correct:
//   - it sends the whole cart, never a difference, so a lost or repeated request does no harm;
//   - it waits until the buyer stops clicking, and has at most one request in flight;
//   - it counts down from the seconds that Holdfast reports, and never resets them itself.

const QUIET_MS = 500;
const LOOK_MS = 2000;
const ANSWER_MS = 20_000;
const HELD = "active";
const WAITING = "waiting";

const fragment = new URLSearchParams(location.hash.slice(1));
const organization = new URLSearchParams(location.search).get("organization");
const at = (id) => document.getElementById(id);
const minorDigits = JSON.parse(at("minor-digits").textContent);

let token = null; // of this buyer; the shop's server issues it
let buyer = null;
let session = fragment.get("session");
let offers = [];
let wanted = {}; // tickets by type, as the buyer has chosen them
let hold = null; // as Holdfast last reported it
let endsAt = 0; // on this page's clock
let sendsAt = null; // when the buyer will have stopped clicking for long enough
let pending = 0; // requests that are in flight or about to be
let isAway = false; // whether the last request failed to reach Holdfast
let refusal = ""; // why the last click failed; shown until the next one
let checkoutId = null;
const soldOutTypes = new Set(); // types without a waitlist that were sold out when the buyer tried

class Refused extends Error {
  constructor(problem) {
    super(reasonOf(problem));
    this.code = problem.error;
    this.isSoldOut = problem.available_quantity === 0;
  }
}

const ON_SALE = new Set(["published", "live"]);

// The API's messages are for developers.
const REASONS = {
  insufficient_inventory: ({ available_quantity: left }) =>
    left ? `Only ${left}${isLive() ? " more" : ""} left` : "Sold out",
  no_available_seats: () => "Sold out",
  others_are_waiting: () => "Others on the waitlist are ahead of you",
  quantity_above_maximum: ({ maximum }) => `You can buy at most ${maximum} of these`,
  waiting_places_exceeded: () => "You have reached the limit of places on this waitlist",
  amount_changed: () => "Your cart has changed. Check the new total and pay again",
};

const reasonOf = (problem) =>
  `${REASONS[problem.error]?.(problem) ?? problem.message.replace(/\.$/, "")}.`;

async function ask(method, path, body) {
  let answer = await call(method, path, body);
  if (answer.status === 401) {
    // The token has expired. The answer to an expired one is not the answer to the request.
    await getToken();
    answer = await call(method, path, body);
  }
  const content = await answer.json();
  if (!answer.ok) throw new Refused(content);
  return content;
}

const call = (method, path, body) =>
  fetch(`/api/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_MS),
  });

// A cookie that this script cannot read tells the shop's server who this buyer is.
async function getToken() {
  const path = `/demo/token?organization=${encodeURIComponent(organization)}`;
  const answer = await fetch(path, { method: "POST", signal: AbortSignal.timeout(ANSWER_MS) });
  if (!answer.ok) throw new Error("no token");
  ({ token, user_id: buyer } = await answer.json());
}

// Runs one job at a time. A job counts as pending as soon as it is requested: otherwise a second one
// would slip in behind it.
let last = Promise.resolve();
function alone(work) {
  pending += 1;
  last = last.then(() => run(work));
  return last;
}

async function run(work) {
  try {
    await work();
    isAway = false;
  } catch (error) {
    isAway = !(error instanceof Refused);
    if (!isAway) refusal = error.message;
  } finally {
    pending -= 1;
    show();
  }
}

// Each buyer has a cart of their own for each session, shared by all tabs of the browser.
const cartKey = () => `holdfast-cart-${session}-${buyer}`;

function cartName() {
  const known = localStorage.getItem(cartKey());
  if (known) return known;
  const made = `demo-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;
  localStorage.setItem(cartKey(), made);
  return made;
}

const cartPath = (rest = "") => `carts/${encodeURIComponent(cartName())}/hold${rest}`;

function hear(answer) {
  hold = answer.hold_id ? answer : null;
  endsAt = performance.now() + (hold?.expires_in_seconds ?? 0) * 1000;
  if (sendsAt === null) wanted = held();
}

function held() {
  const counts = {};
  if (!isLive() && !hold?.can_renew) return counts;
  for (const line of hold.lines) {
    counts[line.ticket_type_id] = (counts[line.ticket_type_id] ?? 0) + line.quantity;
  }
  return counts;
}

const isLive = () => hold !== null && [HELD, WAITING].includes(hold.status);
// Holdfast rounds the seconds down, so the hold may last up to one more.
const isOver = () =>
  hold !== null && (hold.can_renew || (isLive() && performance.now() >= endsAt + 1000));

const secondsLeft = () => Math.max(0, Math.floor((endsAt - performance.now()) / 1000));

const send = () =>
  alone(async () => {
    const items = Object.entries(wanted)
      .filter(([, quantity]) => quantity > 0)
      .map(([type, quantity]) => ({ cart_item_id: type, ticket_type_id: type, quantity }));
    sendsAt = null;
    try {
      hear(await ask("PUT", cartPath(), { session_id: session, items }));
      refusal = ""; // it belongs to an earlier click
    } catch (error) {
      if (error.isSoldOut && items.length === 1) soldOutTypes.add(items[0].ticket_type_id);
      if (sendsAt === null) wanted = held(); // back to what the cart has
      throw error;
    }
    await lookAtOffers();
  });

function change(type, by) {
  // Hold the first ticket at once. Join a waitlist only after the last click, because asking for
  // more later means going to its end.
  const isFirst = !isLive() && sendsAt === null && isLeft(type);
  wanted = { ...wanted, [type]: Math.max(0, (wanted[type] ?? 0) + by) };
  sendsAt = performance.now() + (isFirst ? 0 : QUIET_MS);
  show();
}

const isLeft = (type) => offers.some((each) => each.ticket_type_id === type && each.available > 0);

async function lookAtOffers() {
  const found = await ask("GET", `sessions/${session}/availability`);
  offers = found.ticket_types;
}

// Another tab may have changed the cart, and the waitlist moves.
async function look() {
  if (pending || sendsAt !== null || document.hidden) return;
  await alone(async () => {
    if (localStorage.getItem(cartKey())) {
      const answer = await lookAtCart();
      if (sendsAt === null) hear(answer);
    }
    await lookAtOffers();
  });
}

async function lookAtCart() {
  try {
    return await ask("GET", cartPath());
  } catch (error) {
    if (error.code === "hold_not_found") return {}; // nothing was ever held
    throw error;
  }
}

const renew = () => alone(async () => hear(await ask("POST", cartPath("/renew"))));

const empty = () =>
  alone(async () => {
    await ask("DELETE", cartPath());
    hold = null;
    wanted = {};
  });

const checkOut = () =>
  alone(async () => {
    const started = await ask("POST", "checkouts", { cart_token: cartName() });
    checkoutId = started.checkout_id;
    hear(await ask("GET", cartPath()));
    goTo("paying");
  });

const pay = () =>
  alone(async () => {
    const paid = await ask("POST", "demo/payments", { amount: hold.total, currency: hold.currency });
    // With the amount, nothing is sold if another tab has changed the cart in the meantime.
    const payment = { payment_reference: paid.payment_reference, amount: hold.total };
    const order = await ask("POST", `checkouts/${checkoutId}/complete`, payment);
    hear(await ask("GET", cartPath()));
    at("order").textContent = order.order_id;
    at("paid-total").textContent = `${tickets(order.tickets.length)}, ${money(order.total, order.currency)}`;
    at("tickets").replaceChildren(...order.tickets.map(ticketItem));
    goTo("paid");
  });

function startAgain() {
  localStorage.removeItem(cartKey());
  hold = null;
  wanted = {};
  goTo("choosing");
  show();
  look();
}

function step(name) {
  for (const each of ["choosing", "paying", "paid"]) at(each).hidden = each !== name;
}

function goTo(name) {
  step(name);
  at(`${name}-heading`).focus(); // the button that was pressed is hidden now
}

// Screen readers read a live region again whenever it is written, so write only what is new.
function say(id, text) {
  if (at(id).textContent !== text) at(id).textContent = text;
  at(id).hidden = !text;
}

// By ISO 4217. Browsers leave out the hundredths of some currencies that have them.
function money(minor, currency) {
  const digits = minorDigits[currency] ?? 2;
  const format = { style: "currency", currency, minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat("en", format).format(minor / 10 ** digits);
}

const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const tickets = (count) => counted(count, "ticket");
const minutes = (seconds) => counted(Math.ceil(seconds / 60), "minute");
const nameOf = (type) => offers.find((each) => each.ticket_type_id === type)?.name ?? "Ticket";
const seatName = (seat) => `${seat.block_name}, row ${seat.row}, seat ${seat.seat_number}`;

function item(...texts) {
  const made = document.createElement("li");
  for (const text of texts) {
    const part = document.createElement("span");
    part.textContent = text;
    made.append(part);
  }
  return made;
}

const lineItem = (line) =>
  item(
    line.seat
      ? `${nameOf(line.ticket_type_id)}: ${seatName(line.seat)}`
      : `${line.quantity} \u00d7 ${nameOf(line.ticket_type_id)}`,
    money(line.subtotal, hold.currency),
  );

const ticketItem = ({ ticket_type_id: type, seat, code }) =>
  item(seat ? `${nameOf(type)}: ${seatName(seat)}` : nameOf(type), `Code ${code}`);

function clock(seconds) {
  const padded = String(seconds % 60).padStart(2, "0");
  return `${Math.floor(seconds / 60)}:${padded}`;
}

function sentence() {
  if (isOver()) return "Your time is up. Your tickets have been released.";
  if (hold?.status === HELD) return heldSentence();
  if (hold?.status === WAITING) {
    const wait = hold.estimated_wait_seconds;
    const estimate = wait === undefined ? "" : ` Estimated wait: ${minutes(wait)}.`;
    return `Sold out for now. You are number ${hold.position} on the waitlist for ${tickets(hold.quantity)}.${estimate}`;
  }
  return hold?.status === "converted" ? "You have paid for this cart." : "Your cart is empty.";
}

function heldSentence() {
  const left = secondsLeft();
  const wasWaiting = hold.held_at !== hold.created_at;
  const start = wasWaiting ? "Your tickets are ready." : `${tickets(hold.quantity)} held for you.`;
  if (left <= 60) return `${start} You have less than a minute left to pay.`;
  return wasWaiting ? `${start} Please pay within ${minutes(left)}.` : start;
}

function show() {
  const focused = document.activeElement;
  const isHeld = hold?.status === HELD && !isOver();
  const isWaiting = hold?.status === WAITING && !isOver();
  if (!at("paying").hidden && !isHeld) step("choosing"); // expired, or changed in another tab
  say("problem", isAway ? "Holdfast cannot be reached. Trying again." : refusal);
  say("said", sentence());
  at("state").hidden = !at("paid").hidden;
  at("state-heading").textContent = isWaiting ? "Waitlist" : "Your cart";
  at("empty").textContent = isWaiting ? "Leave the waitlist" : "Remove all";
  at("renew").hidden = !isOver();
  at("empty").hidden = !isLive() || isOver() || !at("paying").hidden;
  at("checkout").hidden = !isHeld || !at("paying").hidden;
  at("lines").replaceChildren(...(isHeld || isWaiting ? hold.lines.map(lineItem) : []));
  say("total", isHeld ? `Total ${money(hold.total, hold.currency)}` : "");
  say("reference", isHeld ? `Reference ${hold.reference}` : "");
  if (hold) at("amount").textContent = money(hold.total, hold.currency);
  showOffers();
  tick();
  if (!focused.checkVisibility()) at("state-heading").focus();
}

function showOffers() {
  const list = at("types");
  while (list.children.length > offers.length) list.lastChild.remove();
  offers.forEach((offer, place) => showOffer(list.children[place] ?? newRow(list), offer));
}

function newRow(list) {
  list.append(at("type").content.cloneNode(true));
  const row = list.lastElementChild;
  for (const [name, by] of [[".less", -1], [".more", 1]]) {
    const button = row.querySelector(name);
    button.onclick = () => button.ariaDisabled === "true" || change(row.dataset.type, by);
  }
  return row;
}

function showOffer(row, offer) {
  const count = wanted[offer.ticket_type_id] ?? 0;
  row.dataset.type = offer.ticket_type_id;
  row.querySelector(".type-name").textContent = offer.name;
  row.querySelector(".price").textContent = money(offer.price, offer.currency);
  row.querySelector(".left").textContent =
    offer.available ? `${offer.available.toLocaleString("en")} left` : "Sold out";
  const output = row.querySelector("output");
  if (output.textContent !== String(count)) output.textContent = count; // a live region too
  row.querySelector(".less").ariaLabel = `Remove one ${offer.name}`;
  row.querySelector(".more").ariaLabel = `Add one ${offer.name}`;
  // Not `disabled`: that would take the keyboard focus away.
  row.querySelector(".less").ariaDisabled = String(count === 0);
  row.querySelector(".more").ariaDisabled = String(!canAdd(offer));
}

// A cart that holds something never joins a waitlist for more.
const canAdd = ({ available, ticket_type_id: type }) =>
  available > 0 || (hold?.status !== HELD && !soldOutTypes.has(type));

// Runs four times a second, to keep the countdown from lagging a second behind.
function tick() {
  const isCounting = hold?.status === HELD && !isOver();
  say("countdown", isCounting ? clock(secondsLeft()) : "");
  if (isCounting) say("said", sentence());
  if (hold?.status === HELD && isOver() && at("renew").hidden) show();
  if (!pending && sendsAt !== null && performance.now() >= sendsAt) send();
}

async function all(path) {
  const found = [];
  let cursor = "";
  do {
    const page = await ask("GET", `${path}?limit=100${cursor && `&cursor=${cursor}`}`);
    found.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor);
  return found;
}

function sessionGroup(event, sessions) {
  const group = document.createElement("optgroup");
  group.label = event.name;
  const own = sessions.filter((each) => each.event_id === event.event_id);
  group.append(...own.map((each) => new Option(each.name, each.session_id)));
  return group;
}

async function loadSessions() {
  const events = (await all("events")).filter((each) => ON_SALE.has(each.status));
  const sessions = await all("sessions");
  const groups = events.map((event) => sessionGroup(event, sessions));
  const list = at("session");
  list.replaceChildren(...groups.filter((group) => group.children.length));
  list.value = session;
  if (list.selectedIndex < 0) {
    if (session) refusal = "That session is not on sale.";
    list.selectedIndex = 0;
  }
  session = list.value;
}

function forgetRefusal() {
  refusal = "";
  show();
}

// Queued as a job: requests in flight, and a click not sent yet, belong to the previous session.
async function open(chosen) {
  sendsAt = null;
  await alone(() => {
    sendsAt = null;
    session = chosen;
    fragment.set("session", chosen); // for the next reload
    history.replaceState(null, "", `#${fragment}`);
    hold = null;
    wanted = {};
    offers = [];
    soldOutTypes.clear();
    step("choosing");
  });
  await look();
}

async function start() {
  if (organization) await alone(getToken);
  at("closed").hidden = Boolean(token);
  if (!token) return;
  await alone(loadSessions);
  at("nothing").hidden = Boolean(session);
  at("shop").hidden = !session;
  if (!session) return;
  at("shop").addEventListener("click", forgetRefusal, { capture: true });
  at("session").onchange = (event) => open(event.target.value);
  at("renew").onclick = renew;
  at("empty").onclick = empty;
  at("checkout").onclick = checkOut;
  at("pay").onclick = pay;
  at("back").onclick = () => {
    goTo("choosing");
    show();
  };
  at("again").onclick = startAgain;
  await open(session);
  setInterval(tick, 250);
  setInterval(look, LOOK_MS);
}

start();
