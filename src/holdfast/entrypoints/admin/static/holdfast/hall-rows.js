// @ts-check
// The hall as a list of rows, for screen readers and phones. The seats of a row are added when it
// is opened.

import { STATUS_OF, range } from "./hall-seats.js";

/** @typedef {import("./hall-seats.js").Hall} Hall */
/** @typedef {import("./hall-seats.js").Selection} Selection */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {Partial<HTMLElementTagNameMap[Name]>} properties
 * @param {(Node | string)[]} children
 */
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** @param {string} status @param {string[]} marks */
function icon(status, marks) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "-.65 -.65 1.3 1.3");
  svg.setAttribute("aria-hidden", "true");
  for (const shape of [status, ...marks]) {
    const use = document.createElementNS(SVG, "use");
    use.setAttribute("href", `#hall-${shape.replace(" ", "-")}`);
    svg.append(use);
  }
  return svg;
}

export class RowList {
  /**
   * @param {HTMLElement} place @param {Hall} hall @param {Selection} selection
   * @param {{isMultiple: boolean, isShown: (index: number) => boolean}} options
   */
  constructor(place, hall, selection, options) {
    this.hall = hall;
    this.selection = selection;
    this.options = options;
    /** @type {HTMLElement[]} */ this.counts = [];
    /** @type {HTMLElement[]} */ this.rows = [];
    /** @type {Map<number, HTMLButtonElement>} */ this.buttons = new Map();
    hall.blocks.forEach((block, number) => {
      place.append(element("h3", {}, block.name));
      if (options.isMultiple) place.append(this.#selector(block, `Select block ${block.name}`));
      hall.rows.forEach((row, index) => {
        if (row.block === number) place.append(this.#row(index));
      });
    });
  }

  /** @param {number} index */
  #row(index) {
    const row = this.hall.rows[index];
    this.counts[index] = element("span", { className: "hall-row-counts" });
    const name = element("strong", {}, `Row ${row.name}`);
    const details = element("details", { className: "hall-row" });
    details.append(element("summary", {}, name, " ", this.counts[index]));
    details.addEventListener("toggle", () => this.#fill(details, index), { once: true });
    this.rows[index] = details;
    return details;
  }

  /** @param {HTMLElement} details @param {number} index */
  #fill(details, index) {
    const row = this.hall.rows[index];
    if (this.options.isMultiple) details.append(this.#selector(row, `Select row ${row.name}`));
    const seats = range(row.start, row.end);
    const items = seats.map((seat) => element("li", {}, this.#button(seat)));
    details.append(element("ul", { className: "hall-row-seats" }, ...items));
    this.update(seats);
    this.mark(seats);
  }

  /** @param {{start: number, end: number}} part @param {string} text */
  #selector(part, text) {
    const button = element("button", { type: "button", className: "hall-button" }, text);
    button.addEventListener("click", () => {
      const shown = range(part.start, part.end).filter(this.options.isShown);
      this.selection.toggleAll(shown);
    });
    return button;
  }

  /** @param {number} index */
  #button(index) {
    const button = element("button", { type: "button", className: "hall-seat-button" });
    button.addEventListener("click", () => {
      if (this.options.isMultiple) this.selection.toggle(index);
      else this.selection.only(index);
    });
    this.buttons.set(index, button);
    return button;
  }

  /** @param {number[]} indexes */
  update(indexes) {
    for (const index of indexes) {
      const button = this.buttons.get(index);
      const { number, marks } = this.hall.seats[index];
      button?.replaceChildren(icon(this.hall.status(index), marks), number);
      button?.setAttribute("aria-label", this.hall.label(index));
    }
    for (const row of new Set(indexes.map((index) => this.hall.seats[index].row))) {
      this.counts[row].textContent = this.#counted(this.hall.rows[row]);
    }
  }

  /** @param {{start: number, end: number}} row */
  #counted({ start, end }) {
    const found = range(start, end).map((index) => this.hall.status(index));
    const parts = Object.values(STATUS_OF).map((status) => {
      const count = found.filter((each) => each === status).length;
      return count ? `${count} ${status}` : "";
    });
    return parts.filter(Boolean).join(", ");
  }

  /** @param {number[]} indexes */
  mark(indexes) {
    for (const index of indexes) {
      const isSelected = String(this.selection.indexes.has(index));
      this.buttons.get(index)?.setAttribute("aria-pressed", isSelected);
    }
  }

  dim() {
    for (const [index, button] of this.buttons) {
      button.classList.toggle("is-dimmed", !this.options.isShown(index));
    }
    this.hall.rows.forEach(({ start, end }, index) => {
      const isShown = range(start, end).some(this.options.isShown);
      this.rows[index].classList.toggle("is-dimmed", !isShown);
    });
  }
}
