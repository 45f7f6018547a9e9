import {signal} from "@preact/signals";

import {Arrival} from "../../model/run/arrival.js";
import {RunModel} from "../../model/run/run_model.js";
import {GapError} from "../../model/run/run_state.js";
import {Histogram} from "../../model/run/timeline.js";
import {fillCounters} from "./fill_counters.js";
import {FOLDING_MS} from "./pacing.js";
import {RunStream} from "./run_stream.js";

const HISTOGRAM_MS = 1500;

/**
 * The run at its newest event: follows the WebSocket and folds what it sends, once per animation frame.
 *
 * `onFold` is called after a frame in which the model changed, `onMore` after counters or the histogram
 * were loaded.
 */
export class LiveRun {
  constructor({run, api, streamUrl, notices, onFold, onMore}) {
    this.api = api;
    this.notices = notices;
    this.onFold = onFold;
    this.onMore = onMore;
    this.model = new RunModel();
    /** The state that comes in parts, until it is whole. @type {Arrival | null} */
    this.coming = null;
    this.histogram = new Histogram();
    /** The facts about the run, such as its status and its name. */
    this.run = signal(run);
    /** Whether the model has the state of the run. */
    this.ready = signal(false);
    this.connection = signal("connecting");
    this.queue = [];
    this.scheduled = false;
    this.stream = new RunStream({
      url: streamUrl,
      after: () => (this.ready.value ? this.model.seq : null),
      onMessage: (message) => this.#receive(message),
      onState: (state) => {
        this.connection.value = state;
      },
    });
  }

  /** Seq and time of the newest event that is known. */
  get head() {
    const run = this.run.value;
    if (this.model.seq >= (run.head ?? 0)) return {seq: this.model.seq, at: this.model.at};
    return {seq: run.head, at: Math.max(run.head_at ?? 0, this.model.at)};
  }

  /** Follow the run from now on. */
  follow() {
    if (!this.stream.isOpen) this.stream.open();
  }

  async loadHistogram() {
    await this.notices.guard(async () => {
      this.histogram.reset(await this.api.get("histogram/", {buckets: 120}));
      if (this.ready.value) this.histogram.add(this.model.at, 0);
      this.onMore();
    });
  }

  #receive(message) {
    this.queue.push(message);
    // A hidden page gets no animation frames; fold at once so that nothing piles up.
    if (document.hidden) this.#drain(Infinity);
    else this.#schedule();
  }

  #schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.#drain(performance.now() + FOLDING_MS);
      if (this.queue.length > 0) this.#schedule();
    });
  }

  /** Fold what came since the last animation frame, as far as the time suffices. */
  #drain(end) {
    let changed = false;
    let taken = 0;
    try {
      while (taken < this.queue.length && (taken === 0 || performance.now() < end)) {
        taken += 1;
        changed = this.#fold(this.queue[taken - 1]) || changed;
      }
    } catch (error) {
      if (!(error instanceof GapError)) throw error;
      taken = this.queue.length;
      this.stream.resume();
    } finally {
      this.queue.splice(0, taken);
    }
    if (!changed) return;
    this.onFold();
    this.#refreshHistogram();
  }

  #fold(message) {
    if (message.type === "snapshot" || message.type === "state") {
      if (message.type === "snapshot") this.coming = new Arrival();
      this.coming?.take(message);
      return this.#arrive();
    }
    if (message.type === "run") {
      this.run.value = {...this.run.value, ...message.run};
      return this.ready.value && this.model.rest(message.run.head, message.run.head_at);
    }
    if (message.type !== "frame") return false;
    this.coming = null;
    const folded = this.model.apply(message);
    if (folded) this.histogram.add(message.at, message.last - message.first + 1);
    return folded;
  }

  /** Show the state that came, if nothing of it is missing. Returns whether it is shown. */
  #arrive() {
    if (!this.coming?.isWhole) return false;
    const {model} = this.coming;
    const {run} = this.coming.first;
    this.model = model;
    this.coming = null;
    if (run) this.run.value = {...this.run.value, ...run};
    this.histogram.add(model.at, 0);
    this.#fillCounters();
    return true;
  }

  #refreshHistogram() {
    if (this.histogramTimer) return;
    this.histogramTimer = setTimeout(() => {
      this.histogramTimer = null;
      this.loadHistogram();
      this.#fillCounters();
    }, HISTOGRAM_MS);
  }

  /** Until the counters are loaded, the page says that they are not known. */
  async #fillCounters() {
    const filled = await fillCounters(this.api, this.model).catch(() => false);
    if (filled) this.onMore();
  }
}
