import {signal} from "@preact/signals";

import {PastCursor} from "../session/past_cursor.js";

/** A place that is farther away is loaded anew instead of event by event. */
const FAR = 400;

/** The board of a run at any event, for one viewer: neither the run nor its play head move with it. */
export class BoardAt {
  constructor(api) {
    this.cursor = new PastCursor(api);
    this.isLoaded = false;
    /** Grows with every change of the board. */
    this.tick = signal(0);
    this.done = Promise.resolve();
  }

  get model() {
    void this.tick.value;
    return this.cursor.model;
  }

  /** The event that is shown. */
  get seq() {
    return this.cursor.model.seq;
  }

  /** Show the board after event `seq`. One way after the other; a failure is the caller's. */
  reach(seq) {
    const way = this.done.catch(() => {}).then(() => this.#go(seq));
    this.done = way;
    return way;
  }

  /** Fold the next recorded event if it is due at `at` ns and before event `seq`. Returns whether it did. */
  async take(at, seq) {
    const next = await this.cursor.peek();
    if (!next || next.at > at || next.seq >= seq) return false;
    await this.cursor.forward();
    this.#changed();
    return true;
  }

  async #go(seq) {
    if (this.isLoaded && this.seq === seq) return;
    if (!this.isLoaded || Math.abs(seq - this.seq) > FAR) await this.cursor.jump({seq});
    this.isLoaded = true;
    while (this.seq < seq && (await this.cursor.forward())) if (this.seq >= seq) break;
    while (this.seq > seq) await this.cursor.back();
    this.#changed();
  }

  #changed() {
    this.cursor.model.moved = [];
    this.tick.value += 1;
  }
}
