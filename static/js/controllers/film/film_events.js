import {writesAsked} from "../../model/inside/cycle_binding.js";
import {victimsOf} from "../../model/film/failure_steps.js";

const MOST_EVENTS = 60;
const MOST_VICTIMS = 8;

/** The events that a film needs beside the cycle: those of its pod, the writes of its binding, and its victims. */
export async function readEvents(api, answer) {
  const {pod, seq} = answer;
  const own = {object: `pod/${pod}`, after: seq - 1, limit: MOST_EVENTS};
  const victims = victimsOf(answer.post_filter).slice(0, MOST_VICTIMS);
  const written = writesAsked(answer);
  const asked = [
    own,
    ...(written ? [{...written, component: `${written.component},scheduler`, limit: 500}] : []),
    ...victims.map((object) => ({object, after: seq, limit: MOST_EVENTS})),
  ];
  const pages = await Promise.all(asked.map((params) => api.get("events/", params)));
  const found = new Map(pages.flatMap(({items}) => items.map((event) => [event.seq, event])));
  return [...found.values()].toSorted((one, other) => one.seq - other.seq);
}
