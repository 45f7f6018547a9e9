import {gettext} from "../../lib/words.js";
import {podHealth} from "../health/pod.js";

const OWNERS = ["replicaset", "statefulset", "daemonset", "job", "replicationcontroller"];

/** The id of the workload that controls a pod, or null if the cluster has none of that name. */
export function ownerOf(id, pod, entities) {
  const [, namespace] = id.split("/");
  const ids = OWNERS.map((kind) => `${kind}/${namespace}/${pod.owner}`);
  return (pod.owner && ids.find((each) => entities.has(each))) ?? null;
}

/** The groups of the pod list, [key, words]: pods that somebody or something fails first, then waiting ones. */
export const PLACES = [
  ["stuck", gettext("stuck")],
  ["failing", gettext("failing")],
  ["unschedulable", gettext("unschedulable")],
  ["backoff", gettext("in backoff")],
  ["active", gettext("active")],
  ["in_flight", gettext("in flight")],
  ["gated", gettext("gated")],
  ["unqueued", gettext("not queued")],
  ["assumed", gettext("assumed")],
  ["starting", gettext("starting")],
  ["terminating", gettext("terminating")],
  ["bound", gettext("bound")],
  ["finished", gettext("finished")],
  ["other", gettext("others")],
];

/**
 * The matching pods as [id, pod], `size` of them from page `page` on: by the place of their health, oldest first. `counts`
 * is the number of pods in each group, `found` the number that match; a page after the last is the last.
 */
export function listPods(model, {text, place, page = 0}, size) {
  const wanted = text.trim().toLowerCase();
  /** @type {Record<string, [string, any][]>} */
  const lists = Object.fromEntries(PLACES.map(([key]) => [key, []]));
  const counts = new Map(PLACES.map(([key]) => [key, 0]));
  let found = 0;
  for (const [id, pod] of model.entities) {
    if (!id.startsWith("pod/") || !id.includes(wanted, "pod/".length)) continue;
    const group = podHealth(id, pod, model).place;
    counts.set(group, (counts.get(group) ?? 0) + 1);
    if (place && place !== group) continue;
    found += 1;
    const list = lists[group];
    if (list.length < (page + 1) * size) list.push([id, pod]);
  }
  const pages = Math.max(1, Math.ceil(found / size));
  const shown = Math.min(page, pages - 1);
  const pods = Object.values(lists)
    .flat()
    .slice(shown * size, (shown + 1) * size);
  return {pods, counts, found, page: shown, pages};
}
