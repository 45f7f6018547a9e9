import {gettext, labelled, ngettext, sentences} from "../../lib/words.js";
import {moment, parseId} from "../shared/format.js";
import {isTerminating, terminatingWords} from "../shared/terminating.js";
import {failureSentence, failureWords} from "../health/operations.js";
import {isRefused, volumesOf} from "../health/node_volumes.js";

const PRESSURE = {
  "node.kubernetes.io/memory-pressure": {
    words: gettext("is short of memory"),
    sentence: (name) => gettext("{name} is short of memory", {name}),
  },
  "node.kubernetes.io/disk-pressure": {
    words: gettext("is short of disk"),
    sentence: (name) => gettext("{name} is short of disk", {name}),
  },
  "node.kubernetes.io/pid-pressure": {
    words: gettext("is short of process ids"),
    sentence: (name) => gettext("{name} is short of process ids", {name}),
  },
  "node.kubernetes.io/network-unavailable": {
    words: gettext("has no network"),
    sentence: (name) => gettext("{name} has no network", {name}),
  },
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
    words: gettext("terminating"),
    pod: null,
    figure: null,
    sentence: sentences([gettext("{name} is being deleted.", {name}), terminatingWords(node, {at})]),
  };
}

function notReady(name, node, pods) {
  if (node.ready) return null;
  const there = [...pods.values()].filter(({node: place}) => place === name).length;
  return {
    ...STUCK,
    words: "NotReady",
    pod: null,
    sentence: gettext("{name} is not Ready: its kubelet does not report, so no pod is started or stopped here.", {
      name,
    }),
    figure: {value: String(there), words: ngettext("pod is bound here", "pods are bound here", there)},
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
    ? labelled(gettext("{pod} cannot start", {pod: parseId(waits).key || waits}), what)
    : wants
      ? labelled(gettext("{pod} needs it", {pod: wants}), what)
      : labelled(gettext("{volume} stays on {node}", {volume: failed.name, node: name}), what);
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
  if (started !== undefined) return {value: moment(at - started), words: gettext("s since the retry began")};
  return {value: moment(Math.max(0, again - at)), words: gettext("s until the next retry")};
}

function refused(rows) {
  const row = rows.find(({controller}) => isRefused(controller));
  if (!row) return null;
  const [pod, since] = row.desired[0] ?? [];
  return {
    ...STUCK,
    words: gettext("{name} is attached to another node", {name: row.name}),
    pod: pod ? `pod/${pod}` : null,
    figure: null,
    since,
    volume: row.unique,
    sentence: pod
      ? gettext(
          "{name} cannot be attached for {pod}: it is attached to another node, and only one node may have it attached.",
          {name: row.name, pod},
        )
      : gettext(
          "{name} cannot be attached for a pod: it is attached to another node, and only one node may have it attached.",
          {name: row.name},
        ),
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
    words: gettext("{name} is still in use", {name: row.name}),
    pod: null,
    sentence: gettext("No pod needs {name} any more, but the node's volumesInUse still lists it.", {name: row.name}),
    figure:
      deadline === undefined
        ? null
        : {value: moment(Math.max(0, deadline - at)), words: gettext("s until it is force-detached")},
  };
}

function pressed(name, node) {
  const taint = (node.taints ?? []).find(({key}) => PRESSURE[key]);
  if (!taint) return null;
  return {
    ...STUCK,
    words: PRESSURE[taint.key].words,
    pod: null,
    figure: null,
    sentence: labelled(
      PRESSURE[taint.key].sentence(name),
      gettext("only pods that tolerate {key} are scheduled here.", {key: taint.key}),
    ),
  };
}

function waiting(rows, at) {
  const waits = rows.flatMap((row) => row.waiting.map(([pod, since]) => ({pod, since, row})));
  if (waits.length === 0) return attaching(rows, at);
  const first = waits.sort((a, b) => a.since - b.since)[0];
  const pods = new Set(waits.map(({pod}) => pod));
  const others = pods.size - 1;
  const facts = {pod: first.pod, volume: first.row.name};
  const sentence =
    others === 0
      ? gettext("{pod} waits for {volume}.", facts)
      : ngettext(
          "{pod} waits for {volume}, and one more pod for its own.",
          "{pod} waits for {volume}, and {count} more pods for theirs.",
          others,
          facts,
        );
  return {
    ...WAITING,
    words: "Ready",
    pod: `pod/${first.pod}`,
    sentence,
    figure: {value: moment(at - first.since), words: gettext("s so far")},
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
    sentence: gettext("{name} is being attached for {pod}.", {name: row.name, pod}),
    figure: {value: moment(at - since), words: gettext("s so far")},
  };
}

function cordoned(name, node) {
  if (!node.unschedulable) return null;
  return {
    state: /** @type {const} */ ("well"),
    mark: "gated",
    family: "held",
    words: gettext("cordoned"),
    pod: null,
    figure: null,
    sentence: gettext(
      "{name} is cordoned: only pods that tolerate node.kubernetes.io/unschedulable are scheduled here.",
      {name},
    ),
  };
}

function calm(rows) {
  const again = rows.find(({sign}) => sign === "+");
  if (again) {
    return {
      ...WELL,
      pod: null,
      figure: null,
      sentence: gettext("Nothing is stuck here; {name} is mounted again for {pod}, which runs.", {
        name: again.name,
        pod: again.desired[0][0],
      }),
    };
  }
  const going = rows.filter(({sign}) => sign !== "=");
  if (going.length > 0) {
    return {
      ...WELL,
      pod: null,
      figure: null,
      sentence: ngettext(
        "Nothing is stuck here; {name} is being removed.",
        "Nothing is stuck here; {count} volumes are being removed.",
        going.length,
        going.length === 1 ? {name: going[0].name} : {},
      ),
    };
  }
  const sentence =
    rows.length === 0
      ? gettext("Nothing is stuck here; no volume is desired or attached.")
      : rows.every(({kubelet}) => kubelet)
        ? gettext("Nothing is stuck here; every volume that a pod needs is mounted for it.")
        : gettext(
            "Nothing is stuck here; every volume that a pod needs is attached, and mounted if a container mounts it.",
          );
  return {...WELL, pod: null, figure: null, sentence};
}
