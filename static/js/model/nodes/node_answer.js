import {moment, parseId} from "../shared/format.js";
import {isTerminating, terminatingWords} from "../shared/terminating.js";
import {failureSentence, failureWords} from "../health/operations.js";
import {isRefused, volumesOf} from "../health/node_volumes.js";

const PRESSURE = {
  "node.kubernetes.io/memory-pressure": "is short of memory",
  "node.kubernetes.io/disk-pressure": "is short of disk",
  "node.kubernetes.io/pid-pressure": "is short of process ids",
  "node.kubernetes.io/network-unavailable": "has no network",
};

const STUCK = /** @type {const} */ ({state: "stuck", mark: "no", family: "stuck"});
const WAITING = /** @type {const} */ ({state: "waiting", mark: "ok", family: "clock"});
const WELL = /** @type {const} */ ({state: "well", mark: "ok", family: "settled", words: "Ready"});

/** How long, in ns, an unneeded volume may wait for its unmount before the page mentions it. */
const PATIENCE = 10e9;

/**
 * The one health of a node: {state, mark, family, words, sentence, figure: {value, words} or null, pod}, by its most
 * important fact. The state is as in `healthIs`, the family "settled" if nothing is stuck; `pod` is the id of the pod that the sentence is about, or null.
 *
 * @typedef {import("../health/health.js").State} State
 * @typedef {{value: string, words: string}} Figure
 * @returns {{state: State, mark: string, family: string, words: string, sentence: string, figure: Figure | null, pod: string | null}}
 */
export function nodeAnswer(name, node, pods, at) {
  const rows = volumesOf(node, pods);
  return (
    terminating(name, node, at) ??
    notReady(name, node, pods) ??
    failing(name, rows, at) ??
    refused(rows) ??
    lingering(rows, at) ??
    pressed(name, node) ??
    waiting(rows, at) ??
    cordoned(name, node) ??
    calm(rows)
  );
}

/** Whether the node needs attention: a sentence of `nodeAnswer` that is a problem. */
export function isStuck({family}) {
  return family === "stuck";
}

function terminating(name, node, at) {
  if (!isTerminating(node)) return null;
  return {
    ...STUCK,
    mark: "victim",
    words: "terminating",
    pod: null,
    figure: null,
    sentence: `${name} is being deleted. ${terminatingWords(node, {at})}`,
  };
}

function notReady(name, node, pods) {
  if (node.ready) return null;
  const there = [...pods.values()].filter(({node: place}) => place === name).length;
  return {
    ...STUCK,
    words: "NotReady",
    pod: null,
    sentence: `${name} is not Ready: its kubelet does not report, so no pod is started or stopped here.`,
    figure: {value: String(there), words: there === 1 ? "pod is bound here" : "pods are bound here"},
  };
}

function failing(name, rows, at) {
  const failed = rows.filter(({trouble}) => trouble).sort((a, b) => b.trouble.failures - a.trouble.failures)[0];
  if (!failed) return null;
  const {trouble} = failed;
  const what = failureSentence(failed.name, trouble);
  const [waits] = failed.waiting[0] ?? [];
  const [wants] = failed.desired[0] ?? [];
  const sentence = waits
    ? `${parseId(waits).key || waits} cannot start: ${what}`
    : wants
      ? `${wants} needs it: ${what}`
      : `${failed.name} stays on ${name}: ${what}`;
  return {
    state: /** @type {const} */ ("failing"),
    mark: "backoff",
    family: "stuck",
    words: failureWords(failed.name, trouble),
    pod: (waits ?? wants) ? `pod/${waits ?? wants}` : null,
    sentence: ended(sentence),
    figure: nextTry(trouble, at),
  };
}

function ended(sentence) {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

function nextTry({retry_at: again, started}, at) {
  if (started !== undefined) return {value: moment(at - started), words: "s since the retry began"};
  return {value: moment(Math.max(0, again - at)), words: "s until the next retry"};
}

function refused(rows) {
  const row = rows.find(({controller}) => isRefused(controller));
  if (!row) return null;
  const [pod, since] = row.desired[0] ?? [];
  return {
    ...STUCK,
    words: `${row.name} is attached to another node`,
    pod: pod ? `pod/${pod}` : null,
    figure: null,
    since,
    volume: row.unique,
    sentence: `${row.name} cannot be attached for ${pod ?? "a pod"}: it is attached to another node, and only one node may have it attached.`,
  };
}

function lingering(rows, at) {
  const row = rows.find(
    ({desired, controller}) =>
      desired.length === 0 &&
      controller?.mounted_by_node &&
      controller.detach_requested !== undefined &&
      at - controller.detach_requested > PATIENCE,
  );
  if (!row) return null;
  const {deadline} = row.controller;
  return {
    ...STUCK,
    words: `${row.name} is still in use`,
    pod: null,
    sentence: `No pod needs ${row.name} any more, but the node's volumesInUse still lists it.`,
    figure:
      deadline === undefined
        ? null
        : {value: moment(Math.max(0, deadline - at)), words: "s until it is force-detached"},
  };
}

function pressed(name, node) {
  const taint = (node.taints ?? []).find(({key}) => PRESSURE[key]);
  if (!taint) return null;
  return {
    ...STUCK,
    words: PRESSURE[taint.key],
    pod: null,
    figure: null,
    sentence: `${name} ${PRESSURE[taint.key]}: only pods that tolerate ${taint.key} are scheduled here.`,
  };
}

function waiting(rows, at) {
  const waits = rows.flatMap((row) => row.waiting.map(([pod, since]) => ({pod, since, row})));
  if (waits.length === 0) return attaching(rows, at);
  const first = waits.sort((a, b) => a.since - b.since)[0];
  const pods = new Set(waits.map(({pod}) => pod));
  const others = pods.size - 1;
  const and =
    others === 0 ? "" : others === 1 ? ", and one more pod for its own" : `, and ${others} more pods for theirs`;
  return {
    ...WAITING,
    words: "Ready",
    pod: `pod/${first.pod}`,
    sentence: `${first.pod} waits for ${first.row.name}${and}.`,
    figure: {value: moment(at - first.since), words: "s so far"},
  };
}

/** A volume that is being attached for a pod and that the kubelet does not know yet. */
function attaching(rows, at) {
  const row = rows.find(({kubelet, desired, sign}) => !kubelet && desired.length > 0 && sign === "+");
  if (!row) return null;
  const [pod, since] = row.desired[0];
  return {
    ...WAITING,
    words: "Ready",
    pod: `pod/${pod}`,
    sentence: `${row.name} is being attached for ${pod}.`,
    figure: {value: moment(at - since), words: "s so far"},
  };
}

function cordoned(name, node) {
  if (!node.unschedulable) return null;
  return {
    state: /** @type {const} */ ("well"),
    mark: "gated",
    family: "held",
    words: "cordoned",
    pod: null,
    figure: null,
    sentence: `${name} is cordoned: only pods that tolerate node.kubernetes.io/unschedulable are scheduled here.`,
  };
}

function calm(rows) {
  const again = rows.find(({sign}) => sign === "+");
  if (again) {
    return {
      ...WELL,
      pod: null,
      figure: null,
      sentence: `Nothing is stuck here; ${again.name} is mounted again for ${again.desired[0][0]}, which runs.`,
    };
  }
  const going = rows.filter(({sign}) => sign !== "=");
  if (going.length > 0) {
    const some = going.length === 1 ? going[0].name : `${going.length} volumes`;
    return {
      ...WELL,
      pod: null,
      figure: null,
      sentence: `Nothing is stuck here; ${some} ${going.length === 1 ? "is" : "are"} being removed.`,
    };
  }
  const sentence =
    rows.length === 0
      ? "Nothing is stuck here; no volume is desired or attached."
      : `Nothing is stuck here; every volume that a pod needs is ${rows.every(({kubelet}) => kubelet) ? "mounted for it" : "attached, and mounted if a container mounts it"}.`;
  return {...WELL, pod: null, figure: null, sentence};
}
