import {gettext, labelled, ngettext} from "../../lib/words.js";
import {awaitedOn} from "../health/operations.js";
import {mergePatch} from "../shared/fold.js";
import {duration} from "../shared/format.js";
import {isFinished} from "../shared/terminating.js";

/**
 * The lanes of a pod's life from top to bottom. `when` returns the label of the slice while the pod is in the
 * lane, "" for no label, or null while it is not; `awaited` is the volume that it waits for (see awaitedOn). A `rare` lane is hidden while it is empty.
 */
const LANES = [
  {
    key: "gated",
    title: gettext("Gated"),
    mark: "gated",
    family: "held",
    look: "wait",
    rare: true,
    when: inQueue("gated"),
  },
  {key: "active", title: gettext("Active"), mark: "active", family: "ready", look: "", when: inQueue("active")},
  {
    key: "in_flight",
    title: gettext("In flight"),
    mark: "in-flight",
    family: "working",
    look: "",
    when: inQueue("in_flight"),
  },
  {key: "backoff", title: gettext("Backoff"), mark: "backoff", family: "clock", look: "wait", when: backingOff},
  {
    key: "unschedulable",
    title: gettext("Unschedulable"),
    mark: "unschedulable",
    family: "stuck",
    look: "open",
    when: unschedulable,
  },
  {
    key: "nominated",
    title: gettext("Nominated"),
    mark: "nominated",
    family: "promised",
    look: "ghost",
    when: (pod) => (pod.node ? null : (pod.nominated ?? null)),
  },
  {
    key: "binding",
    title: gettext("Binding"),
    mark: "assumed",
    family: "promised",
    look: "",
    when: (pod) => (pod.node ? null : (pod.assumed ?? null)),
  },
  {
    key: "starting",
    title: gettext("Starting"),
    mark: "bound",
    family: "settled",
    look: "wait",
    when: (pod) => (isStarting(pod) ? pod.node : null),
  },
  {
    key: "attaching",
    title: gettext("Attaching"),
    mark: "attach",
    family: "ready",
    look: "wait",
    rare: true,
    when: awaits("attach"),
  },
  {
    key: "mounting",
    title: gettext("Mounting"),
    mark: "mount",
    family: "working",
    look: "wait",
    rare: true,
    when: awaits("mount"),
  },
  {
    key: "running",
    title: "Running",
    mark: "run",
    family: "settled",
    look: "",
    when: (pod) => (pod.phase === "Running" && pod.deleting === undefined ? (pod.node ?? "") : null),
  },
  {
    key: "ending",
    title: "Terminating",
    mark: "victim",
    family: "stuck",
    look: "open",
    rare: true,
    when: (pod) => (pod.deleting === undefined ? null : ""),
  },
  {
    key: "ended",
    title: gettext("Ended"),
    mark: "vbound",
    family: "held",
    look: "wait",
    rare: true,
    when: (pod) => (isFinished(pod) ? pod.phase : null),
  },
];

/**
 * The life of a pod: lanes with slices {from, to, label, failed}, `to` null if a slice is not over at the event
 * shown. `events` are the pod's own and those of operations on its node's volumes, oldest first; events after `seq`
 * are ignored. `from` is the time of the
 * first one, or null.
 */
export function lifeOf(id, events, seq) {
  const open = new Map();
  const lanes = LANES.map((lane) => ({...lane, slices: /** @type {any[]} */ ([])}));
  const nodes = new Map();
  let pod = {};
  let from = null;
  for (const {seq: eventSeq, at, changes} of events) {
    if (eventSeq > seq) break;
    const patch = changes?.[id];
    if (!foldNodes(nodes, changes) && patch === undefined) continue;
    if (patch !== undefined) {
      from ??= at;
      pod = patch === null ? null : mergePatch(pod ?? {}, patch);
    }
    if (from === null) continue;
    const awaited = pod && awaitedOn(nodes.get(`node/${pod.node}`)).get(id.slice("pod/".length));
    for (const {key, when, slices} of lanes) {
      const label = pod && when(pod, awaited);
      const slice = open.get(key);
      if (slice && slice.label === label) continue;
      if (slice) {
        slice.to = at;
        slice.failed ||= key === "binding" && !pod?.node;
        open.delete(key);
      }
      if (label === null) continue;
      open.set(key, {from: at, to: null, label, failed: isVolumeLane(key) && Boolean(awaited.trouble)});
      slices.push(open.get(key));
    }
  }
  return {from, lanes: lanes.filter(({rare, slices: drawn}) => !rare || drawn.length > 0)};
}

/** The time spent in a lane up to a moment: "3.00 s (2×)", or "not reached". */
export function spent({slices}, at) {
  if (slices.length === 0) return gettext("not reached");
  const whole = slices.reduce((sum, {from, to}) => sum + Math.max(0, (to ?? at) - from), 0);
  return `${duration(whole)} (${slices.length}×)`;
}

/**
 * The axis of time to draw: to the moment shown; for a pod that has been running for long only until a little
 * after it started, so that its scheduling stays visible. A pod that ran from the start is drawn to the
 * moment shown.
 */
export function axisOf({from, lanes}, at) {
  const ran = lanes.find(({key}) => key === "running")?.slices[0]?.from;
  const ended = lanes.find(({key}) => key === "ending")?.slices.length;
  const soon = ran === undefined || ran === from || ended ? at : ran + Math.max((ran - from) / 4, 1e6);
  return {from, to: Math.max(Math.min(at, soon), from + 1e6)};
}

/** The position of a slice on an axis, as parts of it; null if it lies outside. */
export function placeOn({from, to}, slice, at) {
  const begin = Math.max(slice.from, from);
  const end = Math.min(slice.to ?? at, to);
  if (begin > to || end < from) return null;
  return {left: (begin - from) / (to - from), width: Math.max(0, (end - begin) / (to - from))};
}

/** Fold what events change of the volumes of nodes. Returns whether there was anything. */
function foldNodes(nodes, changes) {
  let found = false;
  for (const [id, patch] of Object.entries(changes ?? {})) {
    if (!id.startsWith("node/")) continue;
    found = true;
    // null deletes a part, and a missing part stays.
    const {volumes = {}, attachments = {}} = patch ?? {volumes: null, attachments: null};
    nodes.set(id, mergePatch(nodes.get(id) ?? {}, {volumes, attachments}));
  }
  return found;
}

function isVolumeLane(key) {
  return key === "attaching" || key === "mounting";
}

/** Attaching or mounting a volume, within the time in which the pod is starting. */
function awaits(step) {
  return (pod, awaited) => {
    if (!isStarting(pod) || awaited?.step !== step) return null;
    const {name, trouble} = awaited;
    if (!trouble) return name;
    return labelled(name, ngettext("{count} failure", "{count} failures", trouble.failures));
  };
}

function inQueue(place) {
  return ({queue}) => (queue === place ? "" : null);
}

function backingOff({queue, queue_since: since, backoff_until: until}) {
  if (queue !== "backoff") return null;
  return until === undefined || since === undefined ? "" : gettext("up to {until}", {until: duration(until - since)});
}

function unschedulable({queue, attempts}) {
  return queue === "unschedulable" ? gettext("since attempt {attempts}", {attempts: attempts ?? 0}) : null;
}

function isStarting(pod) {
  return Boolean(pod.node) && pod.deleting === undefined && pod.phase !== "Running" && !isFinished(pod);
}
