import {gettext} from "../../lib/words.js";

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
