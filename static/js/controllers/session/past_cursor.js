import {Arrival} from "../../model/run/arrival.js";
import {RunModel} from "../../model/run/run_model.js";
import {Pacing} from "./pacing.js";

/** How many events before the starting point of a step back are folded one by one. */
const BACK = 100;
const AHEAD = 200;

/**
 * A position in the recorded events of a run, with its own model.
 *
 * Jumps load from the server what differs from the state that the page holds; steps fold or undo single events that are
 * loaded. `held` is the cursor that is shown, or the model of the live run; null loads the whole state. Where little differs
 * this cursor takes the model that is shown over and moves it. Else it makes another one, over several frames, while what is
 * shown stays as it is.
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
    const known = held instanceof PastCursor ? held.model : held;
    const seq = known?.seq;
    // That model may go on meanwhile.
    const noted = known?.note() ?? new Map();
    try {
      const found = await this.#arrival(known ? {from: seq, to: place.seq, at: place.at} : place, signal).catch(
        (error) => {
          // The database may have been set back to an earlier moment, so that there is no such event any more.
          if (!known || error.status !== 404) throw error;
          return this.#arrival(place, signal);
        },
      );
      if (signal?.aborted || this.isOver) return;
      if (found.changes === null) this.#show(found.model);
      else if (held instanceof PastCursor && found.parts === 1) await this.#move(held, found, place, signal);
      else if (await this.#compose(found, known, noted, signal)) this.#show(found.model);
    } finally {
      known?.noting.delete(noted);
    }
  }

  /** What the server answers, part by part. @param {AbortSignal} [signal] */
  async #arrival(asked, signal) {
    const arrival = new Arrival();
    const pacing = new Pacing();
    await this.api.parts("state/", {...asked, parts: 1}, signal, (part) => {
      arrival.take(part);
      return pacing.rest();
    });
    return arrival;
  }

  /** Make the model of what differs from a known one, over several frames. Returns whether nobody gave it up meanwhile. */
  async #compose(found, known, noted, signal) {
    const pacing = new Pacing();
    const pieces = found.composed(known, noted);
    while (!pieces.next().done) {
      await pacing.rest();
      if (signal?.aborted || this.isOver) return false;
    }
    return true;
  }

  #show(model) {
    this.model = model;
    this.held = this;
  }

  /** Take over the model that is shown and move it. */
  async #move(held, found, place, signal) {
    const {origin, seq, at, events} = found.first;
    if (held.isOver || held.model.seq !== origin) {
      // Somebody has moved that model meanwhile.
      if (held.isOver) this.held = null;
      await this.#load(place, signal);
      return;
    }
    held.isOver = held !== this;
    this.#show(held.model);
    this.model.move({seq, at, changes: Object.fromEntries(found.changes), events});
  }
}
