/** One object's states, and counts of many objects: as engine/diagnosis/trace/lane.py has them, from what it recorded. */

/** How many members of an ascending array are less than a value. @param {ArrayLike<number>} values */
export function countBelow(values, value) {
  return countWhile(values, (each) => each < value);
}

/** How many are not greater. @param {ArrayLike<number>} values */
export function countUpTo(values, value) {
  return countWhile(values, (each) => each <= value);
}

function countWhile(values, isTrue) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(values[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The states of one object. `seqs` are the events that brought another one, `codes` the places of these states among all
 * `states`, `events` its Kubernetes Events; `ats` are the times of all events by their seq.
 */
export class Lane {
  constructor([seqs, codes, events], {states, waits, runs}, ats) {
    this.seqs = seqs;
    this.codes = codes;
    this.events = events;
    this.states = states;
    this.ats = ats;
    const [waiting, running] = [waits, runs].map((names) => new Set(names.map((name) => states.indexOf(name))));
    this.isWaiting = (code) => waiting.has(code);
    this.isRunning = (code) => running.has(code);
  }

  /** The state after an event, "" before the first. */
  state(seq) {
    const i = countUpTo(this.seqs, seq) - 1;
    return i >= 0 ? this.states[this.codes[i]] : "";
  }

  /** For how long it has waited after an event, at `at`. */
  waited(seq, at) {
    let sum = 0;
    this.#spent(seq, at, (code, time) => {
      if (this.isWaiting(code)) sum += time;
    });
    return sum;
  }

  /** How long it was in each state up to an event, at `at`. */
  sums(seq, at) {
    const sums = {};
    this.#spent(seq, at, (code, time) => {
      const name = this.states[code];
      if (code && time) sums[name] = (sums[name] ?? 0) + time;
    });
    return sums;
  }

  /** The bars of a window; `edges` are the seqs with which its pixels begin, and its end. */
  bars(edges) {
    const found = [];
    let first = Math.max(countUpTo(this.seqs, edges[0]) - 1, 0);
    const last = countUpTo(this.seqs, edges.at(-1));
    while (first < last) {
      // All that begin in the pixel of the first of them, except the last, which may go on.
      const edge = edges[Math.min(countBelow(edges, this.seqs[first]), edges.length - 1)];
      const after = Math.min(Math.max(countUpTo(this.seqs, edge), first), last);
      const stop = Math.max(first + 1, after - 1);
      const bar = this.#bar(first, stop);
      if (bar.state && bar.start !== bar.end) found.push(bar);
      first = stop;
    }
    return found;
  }

  #bar(first, stop) {
    let code = 0;
    for (let i = first; i < stop; i += 1) code = Math.max(code, this.codes[i]);
    const end = stop < this.seqs.length ? this.ats[this.seqs[stop]] : null;
    const seq = this.seqs[first];
    return {state: this.states[code], start: this.ats[seq], end, seq, states: stop - first};
  }

  #spent(seq, at, take) {
    const count = countUpTo(this.seqs, seq);
    for (let i = 0; i < count; i += 1) {
      const end = i + 1 < count ? this.ats[this.seqs[i + 1]] : at;
      take(this.codes[i], end - this.ats[this.seqs[i]]);
    }
  }
}

const COUNTED = ["waiting", "running", "leaving"];

/** How many of some objects wait, run and leave, after each event that changed it. */
export class Tally {
  constructor({seqs, waiting, running, leaving}, ats) {
    this.seqs = seqs;
    this.counts = {waiting, running, leaving};
    this.ats = ats;
  }

  /** Of the states of lanes together. @param {Lane[]} lanes */
  static of(lanes, ats) {
    const moves = lanes.flatMap((lane) =>
      lane.seqs.map((seq, i) => [seq, i > 0 ? countedAs(lane, lane.codes[i - 1]) : "", countedAs(lane, lane.codes[i])]),
    );
    moves.sort(([one], [other]) => one - other);
    /** @type {Record<string, number[]>} */
    const tally = {seqs: [], waiting: [], running: [], leaving: []};
    for (const [seq, before, after] of moves) {
      if (tally.seqs.at(-1) !== seq) {
        for (const name of COUNTED) tally[name].push(tally[name].at(-1) ?? 0);
        tally.seqs.push(seq);
      }
      if (before) tally[before][tally.seqs.length - 1] -= 1;
      if (after) tally[after][tally.seqs.length - 1] += 1;
    }
    return new Tally(/** @type {any} */ (tally), ats);
  }

  /** How long all of them together have waited after an event, at `at`. */
  waited(seq, at) {
    const count = countUpTo(this.seqs, seq);
    let sum = 0;
    for (let i = 0; i < count; i += 1) {
      const end = i + 1 < count ? this.ats[this.seqs[i + 1]] : at;
      sum += this.counts.waiting[i] * (end - this.ats[this.seqs[i]]);
    }
    return sum;
  }

  /** The most that waited, ran and left within each part of a window. */
  most(edges) {
    const {seqs} = this;
    if (seqs.length === 0 || edges.at(-1) < seqs[0]) return {waiting: [], running: [], leaving: []};
    const places = edges.map((edge) => Math.max(countUpTo(seqs, edge) - 1, 0));
    const started = countBelow(edges, seqs[0]);
    const mostOf = (counts) =>
      places
        .slice(0, -1)
        .map((first, part) => (part + 1 >= started ? Math.max(...counts.slice(first, places[part + 1] + 1)) : 0));
    return Object.fromEntries(COUNTED.map((name) => [name, mostOf(this.counts[name])]));
  }
}

function countedAs(lane, code) {
  if (lane.isWaiting(code)) return "waiting";
  if (lane.isRunning(code)) return "running";
  return lane.states[code] === "terminating" ? "leaving" : "";
}
