import {gettext} from "../../lib/words.js";
import {podHealth} from "../health/pod.js";
import {byName} from "../shared/format.js";
import {placeOf} from "./nodes.js";

const ORDER = ["failing", "stuck", gettext("starting"), "terminating", "assumed", "other", "bound", "finished"];

/** The pods bound, assumed or nominated to a node as {id, pod, health}, those that wait first. */
export function podsOf(name, pods, model) {
  const found = [...pods]
    .filter(([, pod]) => placeOf(pod) === name)
    .map(([id, pod]) => ({id, pod, health: podHealth(id, pod, model)}));
  return found.sort((a, b) => orderOf(a) - orderOf(b) || byName(a.id, b.id));
}

/** The places of the queue are those of nominated pods. */
function orderOf({health: {place}}) {
  return ORDER.includes(place) ? ORDER.indexOf(place) : ORDER.indexOf("other");
}
