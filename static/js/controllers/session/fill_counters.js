/**
 * Learn how the counters went before the place a page was opened at.
 *
 * Asks once for each place, and only where something is missing. Returns whether anything was learned.
 */
export async function fillCounters(api, model) {
  const {at, counters} = model;
  const {base} = counters;
  if (base === 0 || counters.asked === base || counters.covers(at)) return false;
  counters.asked = base;
  return counters.learn(await api.get("counters/", {seq: base}), base);
}
