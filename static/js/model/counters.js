const SECOND = 1e9;

/** How far back the counters are drawn, in ns of virtual time. */
export const WINDOW = 20 * SECOND;

// A rate needs one second more than the window. Samples are dropped in bulk, not one by one.
const KEPT = WINDOW + SECOND;
const MOST = 4000;

/** How a few counts went lately: samples of [at, bound, active, backoff, unschedulable]. */
export class Counters {
  constructor() {
    this.clear();
  }

  clear() {
    this.samples = [];
  }

  add(...sample) {
    const newest = this.samples.at(-1);
    if (newest && newest[0] === sample[0]) this.samples[this.samples.length - 1] = sample;
    else this.samples.push(sample);
    if (this.samples.length > MOST) this.#drop(sample[0] - KEPT);
  }

  /** Drop what was sampled after `at`: someone stepped back. */
  forget(at) {
    while (this.samples.length > 0 && this.samples.at(-1)[0] > at) this.samples.pop();
  }

  /** Put older samples before those at hand, for a page opened in the middle of a run. */
  prepend(samples) {
    const oldest = this.samples[0]?.[0] ?? Infinity;
    this.samples = [...samples.filter(([at]) => at < oldest), ...this.samples];
  }

  /** Whether the whole window before `at` is known. */
  covers(at) {
    return this.samples.length > 0 && this.samples[0][0] <= Math.max(0, at - KEPT);
  }

  /**
   * One count over the window before `at`, at `points` moments; null where it is not known.
   * Column 1 is the number of bound pods and gives a rate per second, 2 to 4 are lane sizes.
   */
  series(column, at, points = 48) {
    const values = [];
    for (let i = 0; i < points; i += 1) {
      const moment = at - WINDOW + (WINDOW * i) / (points - 1);
      values.push(column === 1 ? this.#rate(moment) : this.#value(column, moment));
    }
    return values;
  }

  #rate(at) {
    const now = this.#value(1, at);
    const then = this.#value(1, at - SECOND);
    return now === null || then === null ? null : Math.max(0, now - then);
  }

  /** The value of the newest sample not after a moment; nothing was bound or queued before 0. */
  #value(column, at) {
    if (at < 0) return 0;
    let low = 0;
    let high = this.samples.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.samples[middle][0] <= at) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? null : this.samples[low - 1][column];
  }

  #drop(before) {
    // One older sample stays: it holds the value at the beginning of the window.
    const from = Math.max(0, this.samples.findIndex(([at]) => at >= before) - 1);
    const recent = this.samples.slice(from);
    const dense = recent.length > MOST / 2;
    this.samples = dense ? recent.filter((_, i) => i % 2 === 0 || i === recent.length - 1) : recent;
  }
}
