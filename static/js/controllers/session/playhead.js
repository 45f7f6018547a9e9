import {batch, signal} from "@preact/signals";

import {RunModel} from "../../model/run/run_model.js";
import {fillCounters} from "./fill_counters.js";
import {PastCursor} from "./past_cursor.js";

const SCRUB_MS = 60;
const FILL_MS = 200;
const LEAPS = 10;
const SPEED = {1: 1, 10: 10, 100: 100, max: Infinity};
const REPLAYED_PER_FRAME = 400;
/** The empty model, shown until the state is loaded. */
const EMPTY = new RunModel();

/**
 * Which event of a run the page shows, and every move to another one: seek, step, scrub, replay.
 *
 * At the newest event it shows the live run. In the past, `past` holds the cursor that is shown while
 * the live run is followed unseen. A page that was opened at an event shows nothing of the run before
 * that state is loaded: `opening` is {seq, problem} until then. `onChange` is called when another state
 * is shown.
 */
export class Playhead {
  constructor({api, live, address, commands, notices, onChange}) {
    this.api = api;
    this.live = live;
    this.address = address;
    this.commands = commands;
    this.notices = notices;
    this.onChange = onChange;
    /** Grows whenever what is shown changes. */
    this.tick = signal(0);
    /** The cursor that is shown, null at the newest event. @type {import("@preact/signals").Signal<PastCursor | null>} */
    this.past = signal(null);
    this.opening = signal(address.seq === null ? null : {seq: address.seq, problem: ""});
    this.replaying = signal(false);
    /** The target of a drag or jump, until its state is loaded. @type {import("@preact/signals").Signal<{seq?: number, at?: number} | null>} */
    this.aim = signal(null);
    /** The current seek, as a promise of whether it succeeded. */
    this.arriving = null;
    /** Settles when the newest step is done. */
    this.stepped = null;
  }

  /** The model that is shown. */
  get model() {
    if (this.past.value) return this.past.value.model;
    return this.isWaiting ? EMPTY : this.live.model;
  }

  /** Whether the state that is to be shown is not loaded yet. */
  get isWaiting() {
    return !this.past.value && (this.opening.value !== null || !this.live.ready.value);
  }

  /** Which event is shown, and whether that is in the past. An effect that reads it runs again with every step. */
  get place() {
    void this.tick.value;
    const opening = this.opening.value;
    if (!this.past.value && opening) return {seq: opening.seq, past: true};
    return {seq: this.model.seq, past: this.past.value !== null};
  }

  /** Show the event that the page was opened at; if that fails, `opening` says why. */
  async open() {
    const {seq} = this.place;
    this.opening.value = {seq, problem: ""};
    const arriving = this.#arrive(new PastCursor(this.api), seq);
    this.arriving = arriving;
    await arriving;
    if (this.arriving === arriving) this.arriving = null;
  }

  /**
   * Show {seq} or {at}; a place at or after the newest event means the live run. After a jump the
   * browser's back button returns here.
   */
  seek(place, {isJump = false} = {}) {
    this.#begin();
    const {head} = this.live;
    const beyond = place.seq !== undefined ? place.seq >= head.seq : place.at >= head.at;
    if (beyond && this.live.ready.value) {
      this.jumpToNewest({isJump});
      return undefined;
    }
    this.aim.value = place;
    this.seeking?.abort();
    const seeking = new AbortController();
    this.seeking = seeking;
    const arriving = this.#travel(place, seeking.signal, isJump).finally(() => {
      if (this.arriving === arriving) this.arriving = null;
    });
    this.arriving = arriving;
    return arriving;
  }

  /**
   * Show event *seq*, unless it is shown and no other place is sought: that one would arrive later, and in the address of
   * this one. Resolves when it is there.
   */
  show(seq) {
    return this.past.value?.model.seq === seq && this.aim.value === null ? undefined : this.seek({seq});
  }

  /** Drag the play head: only the latest position is loaded, at most once every few milliseconds. */
  scrub(at) {
    this.aim.value = {at};
    clearTimeout(this.scrubTimer);
    this.scrubTimer = setTimeout(() => this.seek({at}), SCRUB_MS);
  }

  /** Go a tenth of the run forward with 1, back with -1; over a longer time without events forward to the next. */
  async leap(direction) {
    const {seq, at} = this.model;
    const aim = Math.max(0, at + (direction * this.live.head.at) / LEAPS);
    await this.seek({at: Math.round(aim)});
    if (this.past.value && direction > 0 && this.model.seq === seq) await this.stepEvent();
  }

  jumpToNewest({isJump = false} = {}) {
    clearTimeout(this.scrubTimer);
    this.seeking?.abort();
    this.arriving = null;
    batch(() => {
      this.replaying.value = false;
      this.aim.value = null;
      this.past.value = null;
      this.opening.value = null;
      this.onChange();
    });
    this.address.write({seq: null}, {isJump});
    this.live.follow();
  }

  /**
   * Stop the run or play it; in the past, stop or start the replay of recorded events. A run of which there is only the
   * recording is replayed from its beginning.
   */
  async togglePlay() {
    if (this.arriving && !(await this.arriving)) return;
    if (this.past.value) {
      if (this.replaying.value) this.replaying.value = false;
      else this.#replay();
      return;
    }
    if (this.live.run.value.is_recorded) {
      await this.#replayAll();
      return;
    }
    const playing = this.live.run.value.status === "playing";
    await this.commands.transport({action: playing ? "pause" : "play"});
  }

  /** One event forward: a recorded one in the past, else a new one from the engine. */
  stepEvent() {
    return this.#stepForward("event", (cursor) => cursor.forward());
  }

  stepCycle() {
    return this.#stepForward("cycle", async (cursor) => {
      const cycle = () => cursor.model.entities.get("queue")?.cycle;
      const before = cycle();
      for (let event = await cursor.forward(); event; event = await cursor.forward()) {
        if (cycle() !== before || cursor.model.seq >= this.live.model.seq) break;
      }
    });
  }

  stepBack() {
    return this.#inOrder(async () => {
      const from = this.model.seq;
      if (from <= 0) return;
      const cursor = this.past.value ?? new PastCursor(this.api, this.#held());
      await cursor.back(from);
      this.#showPast(cursor);
    });
  }

  /** Follow the run if the page was opened at the event that is the newest. */
  meetNewest() {
    if (this.hasMet) return;
    this.hasMet = true;
    const past = this.past.value;
    const rests = this.live.run.value.status !== "playing";
    if (past && rests && !this.replaying.value && past.model.seq >= this.live.model.seq) this.jumpToNewest();
  }

  /** Clear the notice of an older request; a notice of this one has to stay. */
  #begin() {
    clearTimeout(this.scrubTimer);
    this.replaying.value = false;
    this.notices.clear();
  }

  /** What the page holds of the run: a cursor, or the live model; null before it has any state. */
  #held() {
    return this.past.value ?? (this.live.ready.value ? this.live.model : null);
  }

  #showPast(cursor, isJump = false) {
    if (this.live.ready.value && cursor.model.seq >= this.live.model.seq) {
      this.jumpToNewest({isJump});
      return;
    }
    batch(() => {
      this.past.value = cursor;
      this.opening.value = null;
      this.aim.value = null;
      this.onChange();
    });
    this.address.write({seq: cursor.model.seq}, {isJump});
    clearTimeout(this.fillTimer);
    this.fillTimer = setTimeout(() => this.#fillCounters(cursor.model), FILL_MS);
  }

  async #fillCounters(model) {
    const filled = await fillCounters(this.api, model).catch(() => false);
    if (filled && this.model === model) this.onChange();
  }

  /** Load a place and show it. Returns whether it is shown: false if another place was requested meanwhile. */
  async #travel(place, aborting, isJump) {
    const cursor = new PastCursor(this.api, this.#held());
    const reached = await this.notices.guard(
      async () => {
        await cursor.jump(place, aborting);
        if (!aborting.aborted) this.#showPast(cursor, isJump);
      },
      () => this.seek(place, {isJump}),
    );
    if (aborting.aborted) return false;
    this.aim.value = null;
    return reached;
  }

  /** Load the state that the page was opened at. Returns whether it is shown. */
  async #arrive(cursor, seq) {
    try {
      await cursor.jump({seq});
    } catch (error) {
      if (this.opening.value) this.opening.value = {seq, problem: error.message};
      return false;
    }
    // The user may have moved to another event meanwhile.
    if (this.opening.value?.seq !== seq) return false;
    this.#showPast(cursor);
    return true;
  }

  #stepForward(unit, forward) {
    return this.#inOrder(async () => {
      const cursor = this.past.value;
      if (!cursor && this.live.run.value.is_recorded) return;
      if (!cursor) {
        await this.commands.transport({action: "step", unit});
        return;
      }
      await forward(cursor);
      if (this.past.value === cursor) this.#showPast(cursor);
    });
  }

  /** Take steps one after the other, after the current seek has ended. */
  #inOrder(step) {
    const {stepped, arriving} = this;
    this.#begin();
    this.stepped = (async () => {
      await stepped;
      if (arriving && !(await arriving)) return;
      await this.notices.guard(step);
    })();
    return this.stepped;
  }

  /** Replay everything that was recorded. */
  async #replayAll() {
    if (await this.seek({seq: 0}, {isJump: true})) this.#replay();
  }

  /** Play recorded events at the speed of the run until the newest is reached. */
  async #replay() {
    this.#begin();
    this.replaying.value = true;
    const cursor = this.past.value;
    if (!cursor) return;
    let clock = cursor.model.at;
    let then = performance.now();
    await this.notices.guard(async () => {
      while (this.replaying.value && this.past.value === cursor) {
        const now = await animationFrame();
        const factor = SPEED[this.live.run.value.speed] ?? 1;
        clock = factor === Infinity ? Infinity : clock + (now - then) * 1e6 * factor;
        then = now;
        if (await this.#replayUpTo(cursor, clock)) return;
      }
    });
    this.replaying.value = false;
  }

  /** Fold the recorded events that are due, and show them. Returns whether the newest is reached. */
  async #replayUpTo(cursor, clock) {
    let moved = false;
    for (let i = 0; i < REPLAYED_PER_FRAME; i += 1) {
      const next = await cursor.peek();
      if (cursor.isOver) return false;
      if (!next || next.seq > this.live.model.seq) {
        this.jumpToNewest();
        return true;
      }
      if (next.at > clock) break;
      await cursor.forward();
      moved = true;
    }
    if (moved && this.past.value === cursor) this.#showPast(cursor);
    return false;
  }
}

function animationFrame() {
  return new Promise((resolve) => {
    requestAnimationFrame(resolve);
  });
}
