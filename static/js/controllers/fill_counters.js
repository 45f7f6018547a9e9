import {BoardModel} from "../model/board_model.js";
import {WINDOW} from "../model/counters.js";

const MOST_EVENTS = 2000;
const MOST_ENTITIES = 3000;

/**
 * Learn how the counters went before the place a page was opened at, by folding that stretch again.
 *
 * Where the stretch is too long to ask for, the counters begin where the page was opened. Returns
 * whether anything was learned.
 */
export async function fillCounters(api, model) {
  const {at, seq, counters, entities} = model;
  if (entities.size > MOST_ENTITIES || counters.covers(at) || seq === 0) return false;
  const from = at - WINDOW - 1e9;
  const base = from > 0 ? await api.get("state/", {at: from}) : {seq: 0, at: 0, state: {}, events: []};
  if (seq - base.seq > MOST_EVENTS) return false;
  const past = new BoardModel();
  past.reset(base);
  for (let after = base.seq; after < seq;) {
    const page = await api.get("events/", {after, before: seq + 1, limit: 500, order: "asc"});
    const events = page.events.filter((event) => event.seq > after && event.seq <= seq);
    if (events.length === 0) break;
    for (const event of events) past.stepForward(event);
    after = events.at(-1).seq;
  }
  counters.prepend(past.counters.samples);
  return true;
}
