import {RunModel} from "../../model/run/run_model.js";

/** How many events before the starting point of a step back are folded one by one. */
const BACK = 100;
const AHEAD = 200;

/**
 * A position in the recorded events of a run, with its own model.
 *
 * Jumps load the state from the server; steps fold or undo single events that are loaded.
 */
export class PastCursor {
  constructor(api) {
    this.api = api;
    this.model = new RunModel();
    this.ahead = [];
  }

  /** Jump to {seq} or {at}. */
  async jump(place, signal) {
    const state = await this.api.get("state/", place, signal);
    this.model.reset(state);
    this.ahead = [];
  }

  /** Fold the next recorded event. Returns it, or null at the end. */
  async forward() {
    if (this.ahead.length === 0) await this.#fetchAhead();
    const event = this.ahead.shift();
    if (!event) return null;
    this.model.stepForward(event);
    return event;
  }

  /** The next event without folding it, or null at the end. */
  async peek() {
    if (this.ahead.length === 0) await this.#fetchAhead();
    return this.ahead[0] ?? null;
  }

  /** Go to the event before `seq`, so that further steps back need no server. */
  async back(seq = this.model.seq) {
    if (seq <= 0) return;
    if (seq === this.model.seq && this.model.undos.length > 0) {
      const undone = this.model.run.events.find((event) => event.seq === seq);
      this.model.stepBack();
      if (undone) this.ahead.unshift(undone);
      else this.ahead = [];
      return;
    }
    const from = Math.max(0, seq - 1 - BACK);
    const [state, page] = await Promise.all([
      this.api.get("state/", {seq: from}),
      this.api.get("events/", {after: from, limit: BACK, order: "asc"}),
    ]);
    this.model.reset(state);
    this.ahead = page.items.filter((event) => event.seq > state.seq);
    while (this.ahead.length > 0 && this.ahead[0].seq < seq) this.model.stepForward(this.ahead.shift());
  }

  async #fetchAhead() {
    const page = await this.api.get("events/", {after: this.model.seq, limit: AHEAD, order: "asc"});
    this.ahead = page.items.filter((event) => event.seq > this.model.seq);
  }
}
