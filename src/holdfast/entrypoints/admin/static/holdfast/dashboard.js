// Refreshes the numbers of the dashboard, and counts down. It pauses while the tab is hidden.
const cards = document.getElementById("dash-cards");
const status = document.getElementById("dash-status");
const RETRY_SECONDS_MAX = 60;

let failures = 0;
let timer;
let text = "";
let clockOffset = 0;

const clock = (date) => date.toLocaleTimeString([], { hour12: false });

function say(words, isLate) {
  if (status.textContent !== words) status.textContent = words;
  status.classList.toggle("dash-late", isLate);
}

// The server's clock counts: the one of this computer may be wrong.
function setClock() {
  const grid = cards.querySelector("[data-now]");
  if (grid) clockOffset = new Date(grid.dataset.now) - Date.now();
}

function countDown() {
  for (const time of cards.querySelectorAll("time[data-until]")) {
    const left = Math.floor((new Date(time.dateTime) - Date.now() - clockOffset) / 1000);
    const shown =
      left > 0 ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` : "expired";
    if (time.textContent !== shown) time.textContent = shown;
  }
}

// Keeps the keyboard focus on the same link.
function replace(markup) {
  const focused = cards.contains(document.activeElement)
    ? document.activeElement.getAttribute("href")
    : null;
  cards.innerHTML = markup;
  if (focused === null) return;
  const links = [...cards.querySelectorAll("a")];
  links.find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
}

async function refresh() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    const answer = await fetch(cards.dataset.url, {
      credentials: "same-origin",
      redirect: "manual",
      signal: AbortSignal.timeout(15_000),
    });
    if (answer.type === "opaqueredirect" || answer.status === 403) {
      say("You are no longer logged in here. Reload the page to log in.", true);
      return;
    }
    if (!answer.ok) throw new Error(answer.status);
    const found = await answer.text();
    if (found !== text) replace(found);
    text = found;
    failures = 0;
    setClock();
    countDown();
    say("Updates by itself.", false);
    cards.dataset.updated = String(Number(cards.dataset.updated ?? 0) + 1);
  } catch {
    if (failures === 0) cards.dataset.since = clock(new Date());
    failures += 1;
    say(`Server unreachable since ${cards.dataset.since}. Trying again.`, true);
  }
  const seconds = Number(cards.dataset.refreshSeconds) * 2 ** Math.min(failures, 5);
  // Not all tabs at the same moment.
  timer = setTimeout(refresh, Math.min(seconds, RETRY_SECONDS_MAX) * (900 + Math.random() * 200));
}

if (cards) {
  setClock();
  countDown();
  setInterval(() => document.hidden || countDown(), 1000);
  document.addEventListener("visibilitychange", refresh);
  say("Updates by itself.", false);
  timer = setTimeout(refresh, Number(cards.dataset.refreshSeconds) * 1000);
}
