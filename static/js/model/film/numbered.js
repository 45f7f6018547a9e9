/**
 * Steps with their ids, as `phase.n`, and places. Where the next step is of the same instant the clock stands: that is
 * presentation time.
 *
 * @param {{phase: string, at: number, seq: number, [more: string]: any}[]} raw
 * @returns {import("./film.js").Step[]}
 */
export function numbered(raw) {
  const counts = new Map();
  for (const {phase} of raw) counts.set(phase, (counts.get(phase) ?? 0) + 1);
  const seen = new Map();
  return raw.map((step, place) => {
    const n = (seen.get(step.phase) ?? 0) + 1;
    seen.set(step.phase, n);
    const isStill = place + 1 < raw.length && raw[place + 1].at === step.at;
    return {isStill, ...step, place, n, of: counts.get(step.phase), id: `${step.phase}.${n}`};
  });
}
