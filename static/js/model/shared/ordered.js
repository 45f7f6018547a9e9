import {byName} from "./format.js";

/** Names in natural order. They are sorted when they are asked for first, and stay in order as one comes or goes. */
export class Ordered {
  #names = new Set();
  /** @type {string[] | null} */
  #list = null;

  get size() {
    return this.#names.size;
  }

  has(name) {
    return this.#names.has(name);
  }

  add(name) {
    if (this.#names.has(name)) return;
    this.#names.add(name);
    this.#list?.splice(this.#placeOf(name), 0, name);
  }

  delete(name) {
    if (!this.#names.delete(name)) return;
    if (!this.#list) return;
    const place = this.#placeOf(name);
    // Names that count as equal may stand in another order.
    if (this.#list[place] === name) this.#list.splice(place, 1);
    else this.#list = null;
  }

  /** All of them in order; not to be changed. */
  get list() {
    this.#list ??= [...this.#names].sort(byName);
    return this.#list;
  }

  [Symbol.iterator]() {
    return this.#names.values();
  }

  /** Where a name belongs in the list. */
  #placeOf(name) {
    const list = this.#list ?? [];
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (byName(list[middle], name) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
