const SECOND = 1e9;

/** The grid of virtual time for counts, the same as in kscope/runs/history/series.py. */
const GRID = SECOND / 10;

/** How far back the counters are drawn, in ns of virtual time. */
const WINDOW = 20 * SECOND;

// A rate needs one second more than the window.
const KEPT = WINDOW + SECOND;
const MOST = 500;

/** The end of the grid's interval that a moment is in. */
function gridEnd(at) {
  return Math.ceil(at / GRID) * GRID;
}

/**
 * The lengths of the queues and the number of pods bound, over virtual time. They depend on the history alone.
 *
 * A sample is [at, bound, active, backoff, unschedulable]: the number of pods bound in the interval that ends at
 * `at`, and the lengths of the queues at its end. Counting starts at event `base`; nothing is known about the
 * time before the first sample, `since`.
 */
export class Counters {
  constructor() {
    this.restart(0, 0, [0, 0, 0]);
  }

  /** Count from event `base` on, at moment `at`, with these lengths of the queues. */
  restart(base, at, sizes) {
    this.base = base;
    /** The event for which samples were requested from the server. */
    this.asked = null;
    this.samples = [[base === 0 ? 0 : gridEnd(at), 0, ...sizes]];
  }

  get since() {
    return this.samples[0][0];
  }

  /** Count an event: how many pods it gave a node, and the lengths of the queues after it. */
  add(at, bound, sizes) {
    this.extend([[gridEnd(at), bound, ...sizes]]);
  }

  /** Take the samples of a later range; two of one interval become one. */
  extend(samples) {
    for (const [at, bound, ...sizes] of samples) {
      const newest = this.samples.at(-1);
      if (newest[0] === at) this.samples[this.samples.length - 1] = [at, newest[1] + bound, ...sizes];
      else this.samples.push([at, bound, ...sizes]);
    }
    if (this.samples.length > MOST) this.#drop(this.samples.at(-1)[0] - KEPT);
  }

  /** Take the server's samples from before event `base`. Returns whether any were new. */
  learn({since, samples}, base) {
    if (base !== this.base || since >= this.since) return false;
    const later = this.samples;
    this.samples = samples.map((sample) => [...sample]);
    this.extend(later);
    return true;
  }

  /** What `restore` needs to take back what is counted from now on. */
  mark() {
    return this.samples.at(-1);
  }

  /** Take back what was counted after a mark. */
  restore(mark) {
    while (this.samples.length > 0 && this.samples.at(-1)[0] >= mark[0]) this.samples.pop();
    this.samples.push(mark);
  }

  /** Whether the whole window before `at` is known. */
  covers(at) {
    return this.since <= Math.max(0, gridEnd(at) - KEPT);
  }

  /**
   * One count over the window before `at`, at `points` moments of the grid; null where it is not
   * known. Column 1 is how many pods were bound within a second, 2 to 4 are lengths of queues.
   */
  series(column, at, points = 41) {
    const end = gridEnd(at);
    const values = [];
    for (let i = 0; i < points; i += 1) {
      const moment = end - WINDOW + gridEnd((WINDOW * i) / (points - 1));
      values.push(column === 1 ? this.#rate(moment) : this.#value(column, moment));
    }
    return values;
  }

  #rate(at) {
    const {since} = this;
    if (at - SECOND < since && since > 0) return null;
    let bound = 0;
    for (let i = this.#after(at) - 1; i >= 0 && this.samples[i][0] > at - SECOND; i -= 1) bound += this.samples[i][1];
    return bound;
  }

  /** The value of the newest sample not after a moment; nothing was queued before 0. */
  #value(column, at) {
    if (at < 0) return 0;
    const after = this.#after(at);
    return after === 0 ? null : this.samples[after - 1][column];
  }

  /** How many samples are not after a moment. */
  #after(at) {
    let low = 0;
    let high = this.samples.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.samples[middle][0] <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #drop(start) {
    // Keep one older sample: it holds the lengths at the beginning of the window.
    this.samples = this.samples.slice(Math.max(0, this.#after(start) - 1));
  }
}
