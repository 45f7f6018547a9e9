import {isFinished} from "../shared/terminating.js";

const QUEUE_LOOK = {
  in_flight: ["in-flight", "working", "in flight"],
  active: ["active", "ready", "active"],
  backoff: ["backoff", "clock", "in backoff"],
  unschedulable: ["unschedulable", "stuck", "unschedulable"],
  gated: ["gated", "held", "gated"],
};

/** All states that a pod is in at the same time, as [mark, family, words]. */
export function podStates(pod) {
  if (!pod) return [["expired", "held", "does not exist at this moment"]];
  const found = [];
  if (pod.queue) found.push(QUEUE_LOOK[pod.queue]);
  if (pod.node) found.push(["bound", "settled", `bound to ${pod.node}`]);
  else if (pod.assumed) found.push(["assumed", "promised", `assumed on ${pod.assumed}`]);
  if (pod.nominated && !pod.node) found.push(["nominated", "promised", `nominated to ${pod.nominated}`]);
  if (pod.deleting !== undefined) found.push(["victim", "stuck", "terminating"]);
  if (pod.node && pod.phase) found.push(["run", "held", pod.phase]);
  return found;
}

/**
 * The state that a row about a pod shows, as [mark, family, words]: that it is terminating before all others, that
 * it has finished before where it is bound.
 */
export function mainState(pod) {
  const states = podStates(pod);
  const terminating = states.find(([mark]) => mark === "victim");
  if (terminating) return terminating;
  if (pod.node && isFinished(pod)) return ["vbound", "held", `${pod.phase} on ${pod.node}`];
  return states[0] ?? ["expired", "held", pod.phase ?? "not queued"];
}

const OWNERS = ["replicaset", "statefulset", "daemonset", "job", "replicationcontroller"];

/** The id of the workload that controls a pod, or null if the cluster has none of that name. */
export function ownerOf(id, pod, entities) {
  const [, namespace] = id.split("/");
  const ids = OWNERS.map((kind) => `${kind}/${namespace}/${pod.owner}`);
  return (pod.owner && ids.find((each) => entities.has(each))) ?? null;
}

/** The groups of the pod list, [key, words], waiting pods first. */
export const PLACES = [
  ["unschedulable", "unschedulable"],
  ["backoff", "in backoff"],
  ["active", "active"],
  ["in_flight", "in flight"],
  ["gated", "gated"],
  ["assumed", "assumed"],
  ["bound", "bound"],
  ["finished", "finished"],
  ["other", "others"],
];

/** The group of a pod, as a key of PLACES. */
function placeInList(pod) {
  if (pod.queue) return pod.queue;
  if (isFinished(pod)) return "finished";
  if (pod.node) return "bound";
  return pod.assumed ? "assumed" : "other";
}

/**
 * The matching pods as [id, pod], at most `most`: by group, oldest first. `counts` is the number of pods in
 * each group, `found` the number that match.
 */
export function listPods(entities, {text, place}, most) {
  const wanted = text.trim().toLowerCase();
  const lists = new Map(PLACES.map(([key]) => [key, []]));
  const counts = new Map(PLACES.map(([key]) => [key, 0]));
  let found = 0;
  for (const [id, pod] of entities) {
    if (!id.startsWith("pod/") || !id.includes(wanted, "pod/".length)) continue;
    const group = placeInList(pod);
    counts.set(group, counts.get(group) + 1);
    if (place && place !== group) continue;
    found += 1;
    const list = lists.get(group);
    if (list.length < most) list.push([id, pod]);
  }
  return {pods: [...lists.values()].flat().slice(0, most), counts, found};
}
