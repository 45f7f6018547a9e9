import {signal} from "@preact/signals";

/** What the user filters a list by, as texts by name. The address keeps them, so that a reload restores them. */
export class Filters {
  constructor(address, names) {
    this.address = address;
    this.names = names;
    this.values = signal(this.#read());
  }

  start() {
    addEventListener("popstate", () => {
      this.values.value = this.#read();
    });
  }

  /** Change some filters. */
  set(changes) {
    this.values.value = {...this.values.value, ...changes};
    this.address.write(changes);
  }

  #read() {
    return Object.fromEntries(this.names.map((name) => [name, this.address.query(name)]));
  }
}
