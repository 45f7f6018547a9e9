import {RunModel} from "../../model/run/run_model.js";
import {foldInto} from "../../model/shared/fold.js";

/** How many events before the starting point of a step back are folded one by one. */
const BACK = 100;
const AHEAD = 200;

/**
 * A position in the recorded events of a run, with its own model.
 *
 * Jumps load from the server what differs from the state that the page holds; steps fold or undo single events that are
 * loaded. `held` is the cursor that is shown, whose model this one takes over and moves, or the model of the live run, which
 * stays as it is; null loads the whole state.
 */
export class PastCursor {
  /** @param {any} api @param {PastCursor | RunModel | null} [held] */
  constructor(api, held = null) {
    this.api = api;
    this.held = held;
    this.model = new RunModel();
    this.ahead = [];
    /** Whether another cursor has taken the model over: this one is not to change it any more. */
    this.isOver = false;
  }

  /** Jump to {seq} or {at}. @param {{seq?: number, at?: number}} place @param {AbortSignal} [signal] */
  async jump(place, signal) {
    await this.#load(place, signal);
    this.ahead = [];
  }

  /** Fold the next recorded event. Returns it, or null at the end. */
  async forward() {
    if (this.ahead.length === 0) await this.#fetchAhead();
    const event = this.isOver ? null : this.ahead.shift();
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
    if (seq <= 0 || this.isOver) return;
    if (seq === this.model.seq && this.model.undos.length > 0) {
      const undone = this.model.run.events.find((event) => event.seq === seq);
      this.model.stepBack();
      if (undone) this.ahead.unshift(undone);
      else this.ahead = [];
      return;
    }
    const from = Math.max(0, seq - 1 - BACK);
    const [, page] = await Promise.all([
      this.#load({seq: from}),
      this.api.get("events/", {after: from, limit: BACK, order: "asc"}),
    ]);
    if (this.isOver) return;
    this.ahead = page.items.filter((event) => event.seq > this.model.seq);
    while (this.ahead.length > 0 && this.ahead[0].seq < seq) this.model.stepForward(this.ahead.shift());
  }

  async #fetchAhead() {
    const page = await this.api.get("events/", {after: this.model.seq, limit: AHEAD, order: "asc"});
    this.ahead = page.items.filter((event) => event.seq > this.model.seq);
  }

  /** @param {{seq?: number, at?: number}} place @param {AbortSignal} [signal] */
  async #load(place, signal) {
    const {held} = this;
    if (held === null) {
      const state = await this.api.get("state/", place, signal);
      this.model.reset(state);
      this.held = this;
      return;
    }
    const isShown = held instanceof PastCursor;
    // The live run goes on meanwhile: a step of its model is not to come in between.
    const start = isShown ? held.model : {seq: held.seq, entities: new Map(held.entities)};
    const asked = {from: start.seq, to: place.seq, at: place.at};
    const found = await this.api.get("state/", asked, signal).catch((error) => {
      // The database may have been set back to an earlier moment, so that there is no such event any more.
      if (error.status !== 404) throw error;
      return this.api.get("state/", place, signal);
    });
    if (signal?.aborted || this.isOver) return;
    const isTaken = isShown && held.isOver;
    if (found.changes && (isTaken || start.seq !== found.origin)) {
      // Somebody has moved that model meanwhile.
      if (isTaken) this.held = null;
      await this.#load(place, signal);
      return;
    }
    if (!found.changes) this.model.reset(found);
    else if (isShown) this.#takeOver(held, found);
    else {
      foldInto(start.entities, found.changes);
      this.model.reset({...found, state: start.entities});
    }
    this.held = this;
  }

  #takeOver(held, change) {
    held.isOver = held !== this;
    this.model = held.model;
    this.model.move(change);
  }
}
