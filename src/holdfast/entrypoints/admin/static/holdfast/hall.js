// @ts-check
// The page of a hall: ties the seats to the drawing, the list of rows, the filters and the panel.

import { Drawing } from "./hall-drawing.js";
import { LoggedOut, follow, get } from "./hall-feed.js";
import { RowList } from "./hall-rows.js";
import { Hall, Selection, clock, range } from "./hall-seats.js";

const DETAILS_AFTER_MS = 150;
const ZOOM_MAX = 6;

/** @param {string} id @returns {any} */
const at = (id) => document.getElementById(id);
/** @param {string} query @returns {HTMLElement[]} */
const all = (query) => [...document.querySelectorAll(query)];

const data = JSON.parse(at("hall-data").textContent);
const hall = new Hall(data);
const selection = new Selection();
const isMultiple = at("hall-form") !== null;

/** @type {Set<string>} statuses and marks to show; all if empty */
const wanted = new Set();
let wantedBlock = "";

/** @param {number} index */
function isShown(index) {
  const isInBlock = !wantedBlock || hall.block(index).name === wantedBlock;
  const kinds = [hall.status(index), ...hall.seats[index].marks];
  return isInBlock && (!wanted.size || kinds.some((kind) => wanted.has(kind)));
}

/** @param {number} index */
function point(index) {
  at("hall-pointed").textContent = index < 0 ? "" : hall.label(index);
}

const drawing = new Drawing(at("hall-drawing"), hall, selection, { isMultiple, isShown, point });
const rows = new RowList(at("hall-rows"), hall, selection, { isMultiple, isShown });

/** Show what has changed, here or on the server. */
function refresh() {
  const changed = hall.changed();
  if (!changed.length) return;
  drawing.update(changed);
  rows.update(changed);
  count();
  if (wanted.size) dim();
  if (selection.picked !== null && changed.includes(selection.picked)) showDetails();
  if (changed.some((index) => selection.indexes.has(index))) showSelection();
}

function count() {
  /** @type {Record<string, number>} */
  const counts = {};
  hall.seats.forEach((seat, index) => {
    for (const kind of [hall.status(index), ...seat.marks]) counts[kind] = (counts[kind] ?? 0) + 1;
  });
  for (const place of all("[data-count]")) {
    place.textContent = String(counts[place.dataset.count ?? ""] ?? 0);
  }
}

function dim() {
  drawing.dim();
  rows.dim();
}

function showSelection() {
  if (!isMultiple) return;
  const chosen = [...selection.indexes];
  const blocked = chosen.filter((index) => hall.status(index) === "blocked").length;
  const seats = (/** @type {number} */ many) => (many === 1 ? "1 seat" : `${many} seats`);
  const tooMany = chosen.length > data.selectedMax;
  at("hall-chosen").textContent = chosen.length
    ? `${seats(chosen.length)} selected: ${hall.names(chosen)}.`
    : "No seat selected.";
  at("hall-limit").hidden = !tooMany;
  at("hall-clear").disabled = !chosen.length;
  const free = chosen.filter((index) => hall.status(index) === "available").length;
  const hold = at("hall-hold");
  if (hold) hold.disabled = !free || free < chosen.length;
  const [toBlock, toUnblock] = [chosen.length - blocked, blocked];
  at("hall-block").disabled = !toBlock || tooMany;
  at("hall-unblock").disabled = !toUnblock || tooMany;
  at("hall-block").textContent = toBlock ? `Block ${seats(toBlock)}` : "Block";
  at("hall-unblock").textContent = toUnblock ? `Unblock ${seats(toUnblock)}` : "Unblock";
  at("hall-chosen-ids").value = chosen.map((index) => hall.seats[index].id).join(",");
}

let details = new AbortController();

/** Ask who has the seat that was picked last. */
async function showDetails() {
  details.abort();
  details = new AbortController();
  const { signal } = details;
  const index = selection.picked;
  const place = at("hall-details");
  if (index === null) return place.replaceChildren();
  await new Promise((resolve) => setTimeout(resolve, DETAILS_AFTER_MS));
  if (signal.aborted) return;
  try {
    const answer = await get(`${data.seatsUrl}${hall.seats[index].id}/`, signal);
    const html = await answer.text();
    // From our own template, which escapes all values.
    if (!signal.aborted) place.innerHTML = html;
  } catch {
    if (!signal.aborted) place.textContent = "The details of this seat could not be loaded.";
  }
}

selection.addEventListener("change", (event) => {
  const { detail } = /** @type {CustomEvent<number[]>} */ (event);
  drawing.mark(detail);
  rows.mark(detail);
  showSelection();
  showDetails();
});

for (const button of all("[data-filter]")) {
  button.addEventListener("click", () => {
    const kind = button.dataset.filter ?? "";
    if (!wanted.delete(kind)) wanted.add(kind);
    button.setAttribute("aria-pressed", String(wanted.has(kind)));
    dim();
  });
}

at("hall-block-filter")?.addEventListener("change", (/** @type {any} */ event) => {
  wantedBlock = event.target.value;
  dim();
});

for (const button of all("[data-view]")) {
  button.addEventListener("click", () => {
    for (const each of all("[data-view]")) {
      each.setAttribute("aria-pressed", String(each === button));
      at(each.dataset.view).hidden = each !== button;
    }
  });
}

let zoom = 1;
for (const button of all("[data-zoom]")) {
  button.addEventListener("click", () => {
    zoom = Math.min(ZOOM_MAX, Math.max(1, zoom * Number(button.dataset.zoom)));
    drawing.svg.classList.toggle("is-zoomed", zoom > 1);
    drawing.svg.style.width = zoom > 1 ? `${100 * zoom}%` : "";
  });
}

at("hall-clear")?.addEventListener("click", () => selection.clear());
// The browser may have kept the value of a form that was sent before.
addEventListener("pageshow", showSelection);

/** Only a new text is announced. @param {string} text @param {boolean} isBad */
function say(text, isBad = true) {
  const place = at("hall-live");
  if (place.textContent !== text) place.textContent = text;
  place.classList.toggle("is-bad", isBad);
}

let lastSeen = hall.now();
let isOutdated = false;

follow(
  () => data.changesUrl + hall.version,
  (reply) => {
    // In one part, the seats of others are not known.
    if (reply && !hall.take(reply) && (data.isWhole || "statuses" in reply)) isOutdated = true;
    lastSeen = hall.now();
    refresh();
    if (isOutdated) say("Seats were added to or removed from this hall. Reload the page.");
    else say("Up to date. Refreshes by itself.", false);
  },
  (error) => {
    refresh();
    if (error instanceof LoggedOut) return say("You have been logged out. Reload the page.");
    say(`The server cannot be reached. This is the hall at ${clock(lastSeen, 8)} UTC.`);
  },
);

hall.changed();
const everything = range(0, hall.seats.length);
drawing.update(everything);
rows.update(everything);
count();
showSelection();
