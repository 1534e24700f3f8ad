// @ts-check
// The seats of a hall and their states, and which of them are selected. A seat is named by its
// index: seats are in the order of blocks and rows, each row from left to right.

/**
 * @typedef {{name: string, prefix: string, ids: string[], numbers: string[]}} RowData
 * @typedef {{name: string, price: string, rows: RowData[]}} BlockData
 * @typedef {{version: number, at: number, statuses: string, until: Record<string, number>}} States
 * @typedef {{version: number, at: number, changes: [string, string, number | null][]}} Changes
 * @typedef {States & {
 *   blocks: BlockData[], marks: Record<string, number[]>, points: number[], changesUrl: string,
 *   seatsUrl: string, isWhole: boolean, selectedMax: number}} HallData
 * @typedef {{name: string, block: number, start: number, end: number}} Row
 * @typedef {{name: string, price: string, start: number, end: number}} Block
 * @typedef {{id: string, number: string, row: number, x: number, y: number, marks: string[]}} Seat
 */

/** @type {Record<string, string>} */
export const STATUS_OF = { a: "available", h: "held", s: "sold", b: "blocked" };
const NAMES_SHOWN_MAX = 60;

/** @param {number} start @param {number} end @returns {number[]} */
export const range = (start, end) => Array.from({ length: end - start }, (_, step) => start + step);

/** The time of day in UTC, as everywhere in the admin. @param {number} seconds since 1970 */
export const clock = (seconds, length = 5) =>
  new Date(seconds * 1000).toISOString().slice(11, 11 + length);

export class Hall {
  /** @param {HallData} data */
  constructor(data) {
    /** @type {Seat[]} */ this.seats = [];
    /** @type {Row[]} */ this.rows = [];
    /** @type {Block[]} */ this.blocks = [];
    for (const block of data.blocks) this.#addBlock(block, data.points);
    for (const [mark, indexes] of Object.entries(data.marks)) {
      for (const index of indexes) this.seats[index].marks.push(mark);
    }
    this.indexOf = new Map(this.seats.map((seat, index) => [seat.id, index]));
    this.version = data.version;
    /** @type {string[]} letters */ this.letters = [];
    /** @type {(number | null)[]} */ this.until = [];
    /** @type {string[]} what was last shown of each */ this.shown = [];
    this.clockOffset = 0;
    this.take(data);
  }

  /** @param {BlockData} data @param {number[]} points */
  #addBlock(data, points) {
    const first = this.seats.length;
    for (const row of data.rows) {
      const start = this.seats.length;
      row.ids.forEach((ending, place) => {
        const at = 2 * this.seats.length;
        this.seats.push({
          id: row.prefix + ending,
          number: row.numbers[place],
          row: this.rows.length,
          x: points[at],
          y: points[at + 1],
          marks: [],
        });
      });
      this.rows.push({ name: row.name, block: this.blocks.length, start, end: this.seats.length });
    }
    this.blocks.push({ name: data.name, price: data.price, start: first, end: this.seats.length });
  }

  /**
   * Take over what the server says.
   * @param {States | Changes} reply
   * @returns {boolean} false if the hall has other seats now, so that the page is out of date
   */
  take(reply) {
    this.version = reply.version;
    this.clockOffset = reply.at - Date.now() / 1000;
    if ("statuses" in reply) {
      if (reply.statuses.length !== this.seats.length) return false;
      this.letters = [...reply.statuses];
      this.until = this.letters.map((_, index) => reply.until[index] ?? null);
      return true;
    }
    let isKnown = true;
    for (const [id, letter, until] of reply.changes) {
      const index = this.indexOf.get(id);
      if (index === undefined) isKnown = false;
      else [this.letters[index], this.until[index]] = [letter, until];
    }
    return isKnown;
  }

  /** The seats that look different since the last call, even if only their hold's time is up. */
  changed() {
    return range(0, this.seats.length).filter((index) => {
      const state = this.status(index) + this.until[index];
      const isNew = this.shown[index] !== state;
      this.shown[index] = state;
      return isNew;
    });
  }

  now() {
    return Date.now() / 1000 + this.clockOffset;
  }

  /** @param {number} index */
  status(index) {
    const letter = this.letters[index];
    const isOver = letter === "h" && (this.until[index] ?? Infinity) <= this.now();
    return STATUS_OF[isOver ? "a" : letter];
  }

  /** @param {number} index */
  row(index) {
    return this.rows[this.seats[index].row];
  }

  /** @param {number} index */
  block(index) {
    return this.blocks[this.row(index).block];
  }

  /** The whole name and state of a seat. @param {number} index */
  label(index) {
    const seat = this.seats[index];
    const [row, block] = [this.row(index), this.block(index)];
    const status = this.status(index);
    const until = this.until[index];
    const state = status === "held" && until ? `held until ${clock(until)}` : status;
    const parts = [block.name, `row ${row.name}`, `seat ${seat.number}`, state, ...seat.marks];
    return [...parts, block.price].filter(Boolean).join(", ");
  }

  /** `Stalls B 3, 4; C 1`. @param {Iterable<number>} indexes */
  names(indexes) {
    const sorted = [...indexes].sort((one, other) => one - other);
    let text = "";
    let last = -1;
    for (const index of sorted.slice(0, NAMES_SHOWN_MAX)) {
      const { number, row } = this.seats[index];
      if (last >= 0 && this.seats[last].row === row) text += `, ${number}`;
      else {
        const isSameBlock = last >= 0 && this.block(last) === this.block(index);
        text += `${last < 0 ? "" : "; "}${isSameBlock ? "" : `${this.block(index).name} `}`;
        text += `${this.rows[row].name} ${number}`;
      }
      last = index;
    }
    const more = sorted.length - NAMES_SHOWN_MAX;
    return more > 0 ? `${text} and ${more} more` : text;
  }

  /** The seat nearest to a point, at most `reach` away. @param {number} x @param {number} y */
  nearest(x, y, reach = Infinity, /** @type {(index: number) => boolean} */ isMeant = () => true) {
    let [found, best] = [-1, reach];
    this.seats.forEach((seat, index) => {
      const away = Math.hypot(seat.x - x, seat.y - y);
      if (away <= best && isMeant(index)) [found, best] = [index, away];
    });
    return found;
  }

  /**
   * The seat that an arrow key leads to, or the same one.
   * @param {number} index @param {number} right @param {number} down each -1, 0 or 1
   */
  beside(index, right, down) {
    const row = this.row(index);
    if (right && index + right >= row.start && index + right < row.end) return index + right;
    const from = this.seats[index];
    let [found, best] = [index, Infinity];
    this.seats.forEach((seat, other) => {
      const ahead = right * (seat.x - from.x) + down * (seat.y - from.y);
      const aside = Math.abs(right ? seat.y - from.y : seat.x - from.x);
      // Within 45 degrees, and not in the same row, which may be curved.
      if (ahead < 0.5 || aside > ahead + 0.5 || seat.row === from.row) return;
      if (ahead + 2 * aside < best) [found, best] = [other, ahead + 2 * aside];
    });
    return found;
  }
}

/** The selected seats. Says `change` with the seats that were added or removed. */
export class Selection extends EventTarget {
  /** @type {Set<number>} */ indexes = new Set();
  /** The seat that was picked last, by itself. @type {number | null} */ picked = null;

  /** @param {number} index */
  toggle(index) {
    const isSelected = this.indexes.has(index);
    this.#change([index], !isSelected, isSelected ? null : index);
  }

  /** @param {number[]} indexes */
  add(indexes) {
    this.#change(indexes, true, indexes.length === 1 ? indexes[0] : null);
  }

  /** Add these, or remove them if all are selected. @param {number[]} indexes */
  toggleAll(indexes) {
    this.#change(indexes, !indexes.every((index) => this.indexes.has(index)), null);
  }

  /** @param {number} index */
  only(index) {
    this.clear();
    this.#change([index], true, index);
  }

  clear() {
    this.#change([...this.indexes], false, null);
  }

  /** @param {number[]} indexes @param {boolean} isSelected @param {number | null} picked */
  #change(indexes, isSelected, picked) {
    for (const index of indexes) {
      if (isSelected) this.indexes.add(index);
      else this.indexes.delete(index);
    }
    const [single] = this.indexes.size === 1 ? this.indexes : [null];
    this.picked = picked ?? single;
    this.dispatchEvent(new CustomEvent("change", { detail: indexes }));
  }
}
