/** The time axis of a run: event counts, ticks, marks, and times that users type. */

const SECOND = 1e9;
const MOST_BUCKETS = 160;
const SHORTEST = 1e6;

/** Event counts in buckets of equal width, growing to the right while the run plays. */
export class Histogram {
  /** The time up to which events are counted, in ns. @type {number} */
  to;
  /** @type {number[]} */
  counts;
  /** The width of a bucket, in ns. @type {number} */
  width;

  constructor() {
    this.reset({to: 0, counts: [], marks: []});
  }

  /** Take the server's counts from 0 to `to` ns. */
  reset({to, counts, marks}) {
    this.to = to;
    this.counts = [...counts];
    this.width = counts.length > 0 ? to / counts.length : 0;
    this.marks = marks ?? [];
  }

  /** Count events that came after `reset`. */
  add(at, count) {
    this.to = Math.max(this.to, at);
    if (this.width <= 0) return;
    while (at >= this.width * MOST_BUCKETS) this.#merge();
    const bucket = Math.floor(at / this.width);
    while (this.counts.length <= bucket) this.counts.push(0);
    this.counts[bucket] += count;
  }

  /** Bars as {x, width, height, start}: x and width as parts of the axis, height 0…1, start ns. */
  bars() {
    if (this.to <= 0 || this.width <= 0) return [];
    const highest = Math.max(1, ...this.counts);
    const bars = [];
    this.counts.forEach((count, i) => {
      const start = i * this.width;
      if (count === 0 || start > this.to) return;
      const x = start / this.to;
      const width = Math.min(1 - x, this.width / this.to) || this.width / this.to;
      // The square root keeps quiet times visible beside a burst.
      bars.push({x: Math.min(x, 1 - width), width, height: Math.sqrt(count / highest), start});
    });
    return bars;
  }

  #merge() {
    const merged = [];
    for (let i = 0; i < this.counts.length; i += 2) {
      merged.push(this.counts[i] + (this.counts[i + 1] ?? 0));
    }
    this.counts = merged;
    this.width *= 2;
  }
}

const ROUND = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200,
  14400, 43200, 86400,
];

/** Ticks of an axis from 0 to `end` ns: round moments, and the end itself as the last. */
export function ticks(end, most = 7) {
  if (end < SHORTEST) return [{at: 0, part: 0, last: false}];
  const day = 86400 * SECOND;
  const round = ROUND.find((seconds) => end / (seconds * SECOND) <= most);
  const step = round ? round * SECOND : Math.ceil(end / most / day) * day;
  const found = [];
  for (let i = 0; i * step < end - step * 0.75; i += 1) {
    found.push({at: i * step, part: (i * step) / end, last: false});
  }
  found.push({at: end, part: 1, last: true});
  return found;
}

/** Ticks of an axis from one moment to a later one: round moments, and the end itself as the last. */
export function ticksBetween(from, to, most = 8) {
  const length = to - from;
  const round = ROUND.find((seconds) => length / (seconds * SECOND) <= most);
  const step = round ? round * SECOND : Math.ceil(length / most);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at < to - step * 0.75; at += step) {
    found.push({at, part: (at - from) / length, last: false});
  }
  found.push({at: to, part: 1, last: true});
  return found;
}

/** The position of a moment on the axis, 0…1. */
export function partOf(at, end) {
  return end > 0 ? Math.min(1, Math.max(0, at / end)) : 0;
}

/** @type {[RegExp, string, string][]} */
const MARK_LOOK = [
  [/Failed|Conflict|Lost|Rejected|Error/, "tri", "stuck"],
  [/Preempt|Nominated/, "tri", "promised"],
  [/Bound/, "tri", "settled"],
];

/** Mark and family of a marked event; changes from outside are a grey diamond. */
export function markLook(kind) {
  for (const [pattern, mark, family] of MARK_LOOK) if (pattern.test(kind)) return {mark, family};
  return {mark: "dia", family: "held"};
}

const DURATION = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d*\.?\d+)s?)?$/;

/** A typed time as ns, or null: "42.35", "42,35 s", "5m30s", "1h". */
export function parseSeconds(text) {
  const typed = text.replaceAll(/\s/g, "").replace(",", ".");
  const found = typed && DURATION.exec(typed);
  if (!found) return null;
  const [hours, minutes, seconds] = found.slice(1).map((part) => Number(part ?? 0));
  return Math.round((hours * 3600 + minutes * 60 + seconds) * SECOND);
}

/** A typed moment as ns, or null: the latest that is shown as this time, which is rounded. */
export function parseMoment(text) {
  const typed = parseSeconds(text);
  const shown = typed === null ? NaN : Math.round(typed / SHORTEST) * SHORTEST;
  return shown === typed ? typed + SHORTEST / 2 : typed;
}

/** A typed seq, or null: "1284", "1,284". */
export function parseSeq(text) {
  const digits = text.trim().replaceAll(",", "");
  return /^\d+$/.test(digits) ? Number(digits) : null;
}
