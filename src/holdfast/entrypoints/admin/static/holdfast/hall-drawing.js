// @ts-check
// The drawing of a hall: seats are selected by click or tap, by dragging over an area, by the name
// of a row or block, and by keyboard.

import { range } from "./hall-seats.js";

/** @typedef {import("./hall-seats.js").Hall} Hall */
/** @typedef {import("./hall-seats.js").Selection} Selection */

const SVG = "http://www.w3.org/2000/svg";
const DRAG_PX = 4;
const REACH = 0.75; // of a click, in distances between seats
/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @param {string} shape @param {number} x @param {number} y */
function use(shape, x, y) {
  const element = document.createElementNS(SVG, "use");
  element.setAttribute("href", `#hall-${shape.replace(" ", "-")}`);
  element.setAttribute("x", String(x));
  element.setAttribute("y", String(y));
  return element;
}

export class Drawing {
  /**
   * @param {SVGSVGElement} svg @param {Hall} hall @param {Selection} selection
   * @param {{isMultiple: boolean, isShown: (index: number) => boolean,
   *   point: (index: number) => void}} options
   */
  constructor(svg, hall, selection, options) {
    this.svg = svg;
    this.hall = hall;
    this.selection = selection;
    this.options = options;
    this.focused = 0;
    this.list = /** @type {SVGGElement} */ (svg.querySelector(".hall-seats"));
    this.band = /** @type {SVGRectElement} */ (svg.querySelector(".hall-band"));
    this.ring = /** @type {SVGUseElement} */ (svg.querySelector(".hall-ring"));
    this.groups = hall.seats.map(() => document.createElementNS(SVG, "g"));
    this.groups.forEach((group, index) => this.#draw(group, index));
    this.list.append(...this.groups);
    this.#moveFocus(0, false);
    this.#listen();
  }

  /** @param {SVGGElement} group @param {number} index */
  #draw(group, index) {
    const { x, y, marks } = this.hall.seats[index];
    group.setAttribute("role", "option");
    group.setAttribute("aria-selected", "false");
    group.append(use(this.hall.status(index), x, y), ...marks.map((mark) => use(mark, x, y)));
  }

  /** Show the current state of these seats. Neither focus nor selection changes. @param {number[]} indexes */
  update(indexes) {
    for (const index of indexes) {
      const shape = `#hall-${this.hall.status(index)}`;
      const [seat] = this.groups[index].children;
      this.groups[index].setAttribute("aria-label", this.hall.label(index));
      // The browser builds the shape again even if it is the same.
      if (seat.getAttribute("href") !== shape) seat.setAttribute("href", shape);
    }
  }

  /** @param {number[]} indexes */
  mark(indexes) {
    for (const index of indexes) {
      const [group, { x, y }] = [this.groups[index], this.hall.seats[index]];
      const isSelected = this.selection.indexes.has(index);
      if (isSelected === (group.getAttribute("aria-selected") === "true")) continue;
      group.setAttribute("aria-selected", String(isSelected));
      if (isSelected) group.append(use("selected", x, y));
      else group.lastChild?.remove();
    }
  }

  dim() {
    this.groups.forEach((group, index) =>
      group.classList.toggle("is-dimmed", !this.options.isShown(index)),
    );
  }

  /** @param {number} index */
  #moveFocus(index, isReal = true) {
    this.groups[this.focused].removeAttribute("tabindex");
    this.focused = index;
    const [group, { x, y }] = [this.groups[index], this.hall.seats[index]];
    group.setAttribute("tabindex", "0");
    this.ring.setAttribute("x", String(x));
    this.ring.setAttribute("y", String(y));
    if (isReal) group.focus();
  }

  #listen() {
    this.svg.addEventListener("keydown", (event) => this.#onKey(event));
    this.svg.addEventListener("pointerdown", (event) => this.#onDown(event));
    // Otherwise the whole drawing gets the focus.
    this.svg.addEventListener("mousedown", (event) => event.preventDefault());
    this.svg.addEventListener("pointermove", (event) => {
      const { x, y } = this.#at(event);
      this.options.point(this.hall.nearest(x, y, REACH));
    });
    this.svg.addEventListener("pointerleave", () => this.options.point(-1));
    this.svg.addEventListener("focusin", () => this.options.point(this.focused));
    this.svg.addEventListener("click", (event) => this.#onClick(event));
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const { hall, selection } = this;
    const { start, end } = hall.row(this.focused);
    const isExtending = event.shiftKey && this.options.isMultiple;
    const arrow = ARROWS[event.key];
    if (arrow) this.#step(hall.beside(this.focused, ...arrow), isExtending);
    else if (event.key === "Home") this.#step(start, isExtending);
    else if (event.key === "End") this.#step(end - 1, isExtending);
    else if (event.key === " " && isExtending) selection.toggleAll(this.#among(range(start, end)));
    else if (event.key === " " || event.key === "Enter") this.#pick(this.focused);
    else if (event.key === "Escape") selection.clear();
    else return;
    event.preventDefault();
  }

  /** Move the focus, and select what it passes in the row. @param {number} to @param {boolean} isExtending */
  #step(to, isExtending) {
    const from = this.focused;
    this.#moveFocus(to);
    if (!isExtending) return;
    const isSameRow = this.hall.row(from) === this.hall.row(to);
    const passed = isSameRow ? range(Math.min(from, to), Math.max(from, to) + 1) : [from, to];
    this.selection.add(this.#among(passed));
  }

  /** @param {number} index */
  #pick(index) {
    if (this.options.isMultiple) this.selection.toggle(index);
    else this.selection.only(index);
  }

  /** Those that the filter shows. @param {number[]} indexes */
  #among(indexes) {
    return indexes.filter((index) => this.options.isShown(index));
  }

  /** @param {MouseEvent} event */
  #at(event) {
    const matrix = this.svg.getScreenCTM()?.inverse();
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    if (this.isDragged) return;
    const { x, y } = this.#at(event);
    const index = this.hall.nearest(x, y, REACH);
    const name = /** @type {Element} */ (event.target).closest(".hall-rows text, .hall-blocks text");
    if (name && this.options.isMultiple) this.#pickNamed(name);
    else if (index >= 0) {
      this.#moveFocus(index);
      this.#pick(index);
    }
  }

  /** Select the row or block whose name was clicked. @param {Element} name */
  #pickNamed(name) {
    const [x, y] = ["x", "y"].map((axis) => Number(name.getAttribute(axis)));
    const text = name.textContent;
    const isBlock = name.closest(".hall-blocks") !== null;
    const part = isBlock
      ? this.hall.blocks.find((block) => block.name === text)
      : this.hall.row(
          this.hall.nearest(x, y, Infinity, (index) => this.hall.row(index).name === text),
        );
    if (part) this.selection.toggleAll(this.#among(range(part.start, part.end)));
  }

  /** Drag over an area. Fingers scroll instead. @param {PointerEvent} down */
  #onDown(down) {
    this.isDragged = false;
    if (!this.options.isMultiple || down.button !== 0 || down.pointerType === "touch") return;
    const start = this.#at(down);
    const stop = new AbortController();
    const move = (/** @type {PointerEvent} */ event) => {
      const distance = Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY);
      if (!this.isDragged && distance < DRAG_PX) return;
      this.isDragged = true;
      this.#drawBand(start, this.#at(event));
    };
    const up = (/** @type {PointerEvent} */ event) => {
      stop.abort();
      this.band.setAttribute("width", "0");
      if (this.isDragged) this.selection.add(this.#among(this.#within(start, this.#at(event))));
    };
    addEventListener("pointermove", move, { signal: stop.signal });
    addEventListener("pointerup", up, { signal: stop.signal });
    addEventListener("pointercancel", () => stop.abort(), { signal: stop.signal });
  }

  /** @param {DOMPoint} one @param {DOMPoint} other */
  #drawBand(one, other) {
    const box = {
      x: Math.min(one.x, other.x),
      y: Math.min(one.y, other.y),
      width: Math.abs(one.x - other.x),
      height: Math.abs(one.y - other.y),
    };
    for (const [name, value] of Object.entries(box)) this.band.setAttribute(name, String(value));
  }

  /** @param {DOMPoint} one @param {DOMPoint} other */
  #within(one, other) {
    const [left, right] = [Math.min(one.x, other.x), Math.max(one.x, other.x)];
    const [top, bottom] = [Math.min(one.y, other.y), Math.max(one.y, other.y)];
    return range(0, this.hall.seats.length).filter((index) => {
      const { x, y } = this.hall.seats[index];
      return x >= left && x <= right && y >= top && y <= bottom;
    });
  }
}
