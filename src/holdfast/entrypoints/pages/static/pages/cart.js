// The cart of the demo. Three rules keep it honest:
//   - it sends all that the cart has, never what has changed, so that a lost or repeated request does no harm;
//   - it waits until the buyer has stopped clicking, and has at most one request on its way;
//   - it counts down from the seconds that Holdfast says are left, and never resets them by itself.

const QUIET_MS = 500;
const LOOK_MS = 2000;
const HELD = "active";
const WAITING = "waiting";

const fragment = new URLSearchParams(location.hash.slice(1));
const key = fragment.get("key");
const at = (id) => document.getElementById(id);

let session = fragment.get("session");
let offers = [];
let wanted = {}; // what the buyer has clicked together, by ticket type
let hold = null; // what Holdfast said last
let endsAt = 0; // on the clock of this page
let sendsAt = null; // when the buyer will have been quiet long enough
let isBusy = false;
let isAway = false; // Holdfast, when asked last
let refusal = ""; // why the buyer did not get what they clicked; it stays until they click again
let checkoutId = null;

class Refused extends Error {
  constructor(problem) {
    super(reasonOf(problem));
    this.code = problem.error;
  }
}

// What buyers are told in other words than programs are.
const REASONS = {
  insufficient_inventory: ({ available_quantity: left }) =>
    left ? `Only ${left}${isLive() ? " more" : ""} left` : "Sold out",
  no_available_seats: () => "Sold out",
  others_are_waiting: () => "Others have waited for that longer than you",
  quantity_above_maximum: ({ maximum }) => `You can have ${maximum} of these at most`,
  waiting_places_exceeded: () => "You have as many places in the line as you can have",
  amount_changed: () => "Your cart has changed meanwhile: look at the new amount, and pay again",
};

const reasonOf = (problem) => `${REASONS[problem.error]?.(problem) ?? problem.message}.`;

async function ask(method, path, body) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const answer = await fetch(`/api/${path}`, { method, headers, body: body && JSON.stringify(body) });
  const content = await answer.json();
  if (!answer.ok) throw new Refused(content);
  return content;
}

// One request at a time: whoever comes meanwhile waits for its turn.
let last = Promise.resolve();
const alone = (work) => (last = last.then(() => run(work)));

async function run(work) {
  isBusy = true;
  try {
    await work();
    isAway = false;
  } catch (error) {
    isAway = !(error instanceof Refused);
    if (!isAway) refusal = error.message;
  } finally {
    isBusy = false;
    show();
  }
}

// The tabs of a browser share a cart; each session has its own.
const cartKey = () => `holdfast-cart-${session}`;

function cartName() {
  const known = localStorage.getItem(cartKey());
  if (known) return known;
  const made = `demo-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
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
// The seconds that are left are rounded down, so it may last a little longer than they say.
const isOver = () =>
  hold !== null && (hold.can_renew || (isLive() && performance.now() >= endsAt + 1000));

const send = () =>
  alone(async () => {
    const items = Object.entries(wanted)
      .filter(([, quantity]) => quantity > 0)
      .map(([type, quantity]) => ({ cart_item_id: type, ticket_type_id: type, quantity }));
    sendsAt = null;
    try {
      hear(await ask("PUT", cartPath(), { session_id: session, items, user_id: cartName() }));
      refusal = ""; // that was of a click before
    } catch (error) {
      if (sendsAt === null) wanted = held(); // what could not be had is not in the cart
      throw error;
    }
    await lookAtOffers();
  });

function change(type, by) {
  // The first ticket is taken at once. A place in the line is not: who asks for more loses it.
  const isFirst = !isLive() && sendsAt === null && isLeft(type);
  wanted = { ...wanted, [type]: Math.max(0, (wanted[type] ?? 0) + by) };
  sendsAt = performance.now() + (isFirst ? 0 : QUIET_MS);
  show();
  tick();
}

const isLeft = (type) => offers.some((each) => each.ticket_type_id === type && each.available > 0);

async function lookAtOffers() {
  const found = await ask("GET", `sessions/${session}/availability`);
  offers = found.ticket_types;
}

// Another tab may have changed the cart, and those who wait move on.
async function look() {
  if (isBusy || sendsAt !== null || document.hidden) return;
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
    if (error.code === "hold_not_found") return {}; // its first click was refused
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
    const started = await ask("POST", "checkouts", { cart: cartName() });
    checkoutId = started.checkout_id;
    hear(await ask("GET", cartPath()));
    step("paying");
  });

const pay = () =>
  alone(async () => {
    const paid = await ask("POST", "demo/payments", { amount: hold.total, currency: hold.currency });
    // With the amount, nothing is sold if another tab has changed the cart meanwhile.
    const payment = { payment_reference: paid.payment_reference, amount: hold.total };
    const order = await ask("POST", `checkouts/${checkoutId}/complete`, payment);
    hear(await ask("GET", cartPath()));
    at("order").textContent = order.order_id;
    at("tickets").textContent = `${order.tickets.length} ticket${order.tickets.length === 1 ? "" : "s"}`;
    step("paid");
  });

function startAgain() {
  localStorage.removeItem(cartKey());
  hold = null;
  wanted = {};
  step("choosing");
  look();
}

function step(name) {
  for (const each of ["choosing", "paying", "paid"]) at(each).hidden = each !== name;
}

function say(id, text) {
  at(id).textContent = text;
  at(id).hidden = !text;
}

const money = (minor, currency) =>
  new Intl.NumberFormat("en", { style: "currency", currency }).format(minor / 100);

function clock(seconds) {
  const padded = String(seconds % 60).padStart(2, "0");
  return `${Math.floor(seconds / 60)}:${padded}`;
}

function sentence() {
  if (isOver()) return "Your time is up: the places are free for others.";
  if (hold?.status === HELD) return `Held for you: ${hold.quantity}. Reference ${hold.reference}.`;
  if (hold?.status === WAITING) {
    const wait = hold.estimated_wait_seconds;
    const estimate = wait === null ? "" : ` At this pace it takes about ${clock(wait)}.`;
    return `Sold out for now. You wait for ${hold.quantity}, at position ${hold.position}.${estimate}`;
  }
  return hold?.status === "converted" ? "Paid." : "Nothing yet.";
}

function show() {
  const isHeld = hold?.status === HELD && !isOver();
  const isWaiting = hold?.status === WAITING && !isOver();
  say("problem", isAway ? "Holdfast cannot be reached." : refusal);
  say("said", sentence());
  at("state-heading").textContent = isWaiting ? "Your place in the line" : "What you hold";
  at("empty").textContent = isWaiting ? "Leave the line" : "Let it go";
  at("renew").hidden = !isOver();
  at("empty").hidden = !isLive() || isOver() || !at("paying").hidden;
  at("checkout").hidden = !isHeld || !at("paying").hidden;
  at("pay").disabled = !isHeld;
  say("total", isHeld ? `Total ${money(hold.total, hold.currency)}` : "");
  if (hold) at("amount").textContent = money(hold.total, hold.currency);
  showOffers();
  tick();
}

function showOffers() {
  const list = at("types");
  while (list.children.length > offers.length) list.lastChild.remove();
  offers.forEach((offer, place) => showOffer(list.children[place] ?? newRow(list), offer));
}

function newRow(list) {
  list.append(at("type").content.cloneNode(true));
  const row = list.lastElementChild;
  row.querySelector(".less").onclick = () => change(row.dataset.type, -1);
  row.querySelector(".more").onclick = () => change(row.dataset.type, 1);
  return row;
}

function showOffer(row, offer) {
  const count = wanted[offer.ticket_type_id] ?? 0;
  row.dataset.type = offer.ticket_type_id;
  row.querySelector(".type-name").textContent = offer.name;
  row.querySelector(".price").textContent = money(offer.price, offer.currency);
  row.querySelector(".left").textContent = offer.available ? `${offer.available} left` : "sold out";
  row.querySelector("output").textContent = count;
  row.querySelector(".less").ariaLabel = `One ${offer.name} less`;
  row.querySelector(".more").ariaLabel = `One ${offer.name} more`;
  row.querySelector(".less").disabled = count === 0;
}

// Four times a second, so that the countdown is never a second late.
function tick() {
  const isCounting = hold?.status === HELD && !isOver();
  const seconds = Math.max(0, Math.floor((endsAt - performance.now()) / 1000));
  say("countdown", isCounting ? clock(seconds) : "");
  if (hold?.status === HELD && isOver() && at("renew").hidden) show();
  if (!isBusy && sendsAt !== null && performance.now() >= sendsAt) send();
}

async function everySession() {
  const found = [];
  let cursor = "";
  do {
    const page = await ask("GET", `sessions?limit=100${cursor && `&cursor=${cursor}`}`);
    found.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor);
  return found;
}

function forgetRefusal() {
  refusal = "";
  show();
}

async function open(chosen) {
  session = chosen;
  fragment.set("session", chosen); // so that it is there again after a reload
  history.replaceState(null, "", `#${fragment}`);
  hold = null;
  wanted = {};
  offers = [];
  step("choosing");
  await look();
}

async function start() {
  at("keyless").hidden = Boolean(key);
  at("shop").hidden = !key;
  if (!key) return;
  await alone(async () => {
    const found = await everySession();
    at("session").replaceChildren(...found.map((each) => new Option(each.name, each.id)));
    session ??= found[0]?.id;
    at("session").value = session;
  });
  at("shop").addEventListener("click", forgetRefusal, { capture: true });
  at("session").onchange = (event) => open(event.target.value);
  at("renew").onclick = renew;
  at("empty").onclick = empty;
  at("checkout").onclick = checkOut;
  at("pay").onclick = pay;
  at("back").onclick = () => {
    step("choosing");
    show();
  };
  at("again").onclick = startAgain;
  await open(session);
  setInterval(tick, 250);
  setInterval(look, LOOK_MS);
}

start();
