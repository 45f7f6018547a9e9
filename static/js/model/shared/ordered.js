import {byName} from "./format.js";

/** So many names are put into a list one by one; more of them are sorted into it together. */
const FEW = 16;

/** Names in natural order. They are sorted when they are asked for, and stay in order as some come or go. */
export class Ordered {
  #names = new Set();
  #list = [];
  /** Those that are not in the list yet. */
  #added = new Set();

  get size() {
    return this.#names.size;
  }

  has(name) {
    return this.#names.has(name);
  }

  add(name) {
    if (this.#names.has(name)) return;
    this.#names.add(name);
    this.#added.add(name);
  }

  delete(name) {
    if (!this.#names.delete(name) || this.#added.delete(name)) return;
    const place = this.#placeOf(name);
    // Names that count as equal may stand in another order.
    this.#list.splice(this.#list[place] === name ? place : this.#list.indexOf(name), 1);
  }

  /** All of them in order; not to be changed. */
  get list() {
    if (this.#added.size > FEW) this.#list = [...this.#list, ...this.#added].sort(byName);
    else for (const name of this.#added) this.#list.splice(this.#placeOf(name), 0, name);
    this.#added.clear();
    return this.#list;
  }

  [Symbol.iterator]() {
    return this.#names.values();
  }

  /** Where a name belongs in the list. */
  #placeOf(name) {
    const list = this.#list;
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (byName(list[middle], name) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
