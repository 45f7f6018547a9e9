/**
 * Load the counters from before the event at which a page was opened.
 *
 * Requests them once per event, and only if they are missing. Returns whether any were loaded.
 */
export async function fillCounters(api, model) {
  const {at, counters} = model;
  const {base} = counters;
  if (base === 0 || counters.asked === base || counters.covers(at)) return false;
  counters.asked = base;
  return counters.learn(await api.get("counters/", {seq: base}), base);
}
