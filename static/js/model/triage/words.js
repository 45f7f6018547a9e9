/** A triage in words: sentences in parts, times, names of nodes and workloads. */
import {capital, gettext, ngettext} from "../../lib/words.js";
import {byName, count, parseId} from "../shared/format.js";

const KINDS = {
  deployment: "Deployment",
  statefulset: "StatefulSet",
  daemonset: "DaemonSet",
  replicaset: "ReplicaSet",
  replicationcontroller: "ReplicationController",
  cronjob: "CronJob",
  persistentvolumeclaim: gettext("Claim"),
  persistentvolume: gettext("Volume"),
  resourcequota: "ResourceQuota",
  storageclass: "StorageClass",
  resourceclaim: "ResourceClaim",
  poddisruptionbudget: "PodDisruptionBudget",
  csinode: "CSINode",
  csidriver: "CSIDriver",
  validatingwebhookconfiguration: "ValidatingWebhookConfiguration",
  mutatingwebhookconfiguration: "MutatingWebhookConfiguration",
};
/** The kinds whose objects have a page, by what triage calls them, with what entity ids call them. */
const PAGES = {
  pod: "pod",
  node: "node",
  persistentvolumeclaim: "claim",
  persistentvolume: "volume",
  storageclass: "class",
  deployment: "deployment",
  statefulset: "statefulset",
  daemonset: "daemonset",
  replicaset: "replicaset",
  replicationcontroller: "replicationcontroller",
  job: "job",
  resourcequota: "resourcequota",
};

/** The first sentence of a cause, and the rest. */
export function splitCause(text) {
  const end = text.search(/[^.][.?!] (?=[A-Z0-9])/);
  if (end < 0) return [text, ""];
  return [text.slice(0, end + 2), text.slice(end + 3)];
}

/**
 * What was observed, as {source, message}: "Event FailedScheduling ×7 on 2 pods, last …: message". An observation
 * without a source is all message, and `isNothing` where the files say nothing.
 */
export function observation(text) {
  const isNothing = text === "" || /^No Event|no Event\.$/.test(text);
  const colon = text.indexOf(": ");
  const source = colon > 0 ? text.slice(0, colon) : "";
  const message = colon > 0 ? text.slice(colon + 2) : text;
  return {source: shortTimes(source), message, isNothing};
}

/** How what was observed and what the model decides compare: a sign, its class, and a sentence. */
export function verdict({observed, predicted, contradicts}) {
  if (contradicts) return {sign: "≠", look: "differ", words: gettext("They contradict. What was observed counts.")};
  if (observation(observed).isNothing || !predicted) {
    return {sign: "?", look: "open", words: gettext("Only one of both says something.")};
  }
  return {sign: "=", look: "agree", words: gettext("They agree.")};
}

/** The words of a message that the cause is about, as [before, marked, after]. */
export function marked(message, {nodes_by_reason: nodes}) {
  const closest = nodes.find((each) => each.is_closest);
  const unit = closest?.check?.unit;
  const taint = closest?.reason.match(/^taint ([^;]+)/)?.[1];
  const wanted = unit ? String.raw`\d+ Insufficient ${escaped(unit)}` : taint ? `\\{${escaped(taint)}[^}]*\\}` : "";
  const found = wanted ? message.match(new RegExp(wanted)) : null;
  if (!found) return [message, "", ""];
  return [message.slice(0, found.index), found[0], message.slice(found.index + found[0].length)];
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** "2026-11-27T14:18:00.95Z" in a text as "14:18:00 UTC". */
function shortTimes(text) {
  return text.replace(/\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)(?:\.\d+)?Z/g, "$1 UTC");
}

/** A time of day, with its date where it is not the day of `instant`; "" for no time. */
export function clock(time, instant) {
  if (!time) return "";
  const at = `${time.slice(11, 16)} UTC`;
  return time.slice(0, 10) === instant.slice(0, 10) ? at : `${time.slice(0, 10)} ${at}`;
}

/** The minutes from `since` to `instant`, or null where either is not known. */
export function minutesBetween(since, instant) {
  const length = Date.parse(instant) - Date.parse(since);
  return Number.isNaN(length) ? null : Math.max(0, length / 60_000);
}

/** A length in minutes: "40 s", "47 min", "1 h 19", "3 d 4 h". */
export function age(minutes) {
  if (minutes < 1) return gettext("{number} s", {number: Math.round(minutes * 60)});
  const whole = Math.floor(minutes);
  if (whole < 60) return gettext("{number} min", {number: whole});
  const hours = Math.floor(whole / 60);
  if (hours < 24) return gettext("{hours} h {minutes}", {hours, minutes: String(whole % 60).padStart(2, "0")});
  return gettext("{days} d {hours} h", {days: Math.floor(hours / 24), hours: hours % 24});
}

/** A few nodes by name, many by how many they are and what their names begin with: "6 general". */
export function nodesTitle({nodes, count: number}) {
  if (number === 1) return nodes[0];
  const sorted = [...nodes].sort(byName);
  const [first, last] = [sorted[0], sorted.at(-1)];
  let same = 0;
  while (same < first.length && first[same] === last[same]) same += 1;
  const prefix = first.slice(0, Math.max(0, first.slice(0, same).search(/[-._][^-._]*$/)));
  return prefix.length > 1 ? `${count(number)} ${prefix}` : ngettext("{count} node", "{count} nodes", number);
}

/** A workload as {kind, namespace, name, id}; `id` is that of its page, "" where it has none. */
export function workloadParts(entity) {
  const {kind, namespace, name} = parseId(entity);
  const several = kind === "pod" && name.endsWith("*");
  return {kind: several ? gettext("Pods") : kindName(kind), namespace, name, id: several ? "" : pageId(entity)};
}

/** The id of the page of an object that triage names "kind/key" or "kind key"; "" where it has none. */
export function pageId(entity) {
  const [kind, ...key] = entity.replace(" ", "/").split("/");
  return PAGES[kind] && key.length > 0 && !entity.includes(",") && !entity.includes("(")
    ? `${PAGES[kind]}/${key.join("/")}`
    : "";
}

/** "Deployment shop/web" of "deployment/shop/web". */
export function objectName(entity) {
  const {kind, key} = parseId(entity.replace(" ", "/"));
  return `${kindName(kind)} ${key}`;
}

/** "Deployment" of "deployment". */
export function kindName(kind) {
  return KINDS[kind] ?? capital(kind);
}

/** How many pods of workloads a group of this kind holds: "3 wait". `waiting` is the number as it is shown. */
export function heldWith(kind, number, waiting) {
  return VERBS[kind].alone(number, {waiting});
}

/** The same with how many pods a workload has: "3 of 21 wait". `shown` is {waiting, all}. */
export function heldOf(kind, number, shown) {
  return VERBS[kind].of(number, shown);
}

/** @type {Record<string, {alone: (number: number, shown: any) => any, of: (number: number, shown: any) => any}>} */
const VERBS = {
  pending: {
    alone: (number, shown) => ngettext("{waiting} waits", "{waiting} wait", number, shown),
    of: (number, shown) => ngettext("{waiting} of {all} waits", "{waiting} of {all} wait", number, shown),
  },
  "placed-but-stuck": {
    alone: (number, shown) => ngettext("{waiting} does not run", "{waiting} do not run", number, shown),
    of: (number, shown) => ngettext("{waiting} of {all} does not run", "{waiting} of {all} do not run", number, shown),
  },
  "workload-refused": {
    alone: (number, shown) => ngettext("{waiting} was never made", "{waiting} were never made", number, shown),
    of: (number, shown) =>
      ngettext("{waiting} of {all} was never made", "{waiting} of {all} were never made", number, shown),
  },
  claim: {
    alone: (number, shown) => ngettext("{waiting} waits", "{waiting} wait", number, shown),
    of: (number, shown) => ngettext("{waiting} of {all} waits", "{waiting} of {all} wait", number, shown),
  },
  node: {
    alone: (number, shown) => ngettext("{waiting} cannot go on", "{waiting} cannot go on", number, shown),
    of: (number, shown) =>
      ngettext("{waiting} of {all} cannot go on", "{waiting} of {all} cannot go on", number, shown),
  },
  terminating: {
    alone: (number, shown) => ngettext("{waiting} cannot end", "{waiting} cannot end", number, shown),
    of: (number, shown) => ngettext("{waiting} of {all} cannot end", "{waiting} of {all} cannot end", number, shown),
  },
};

/** @type {[string, (number: number) => string, (number: number) => string][]} */
const HELD = [
  ["pods", (number) => ngettext("{count} pod", "{count} pods", number), (number) => ngettext("pod", "pods", number)],
  [
    "claims",
    (number) => ngettext("{count} claim", "{count} claims", number),
    (number) => ngettext("claim", "claims", number),
  ],
  [
    "nodes",
    (number) => ngettext("{count} node", "{count} nodes", number),
    (number) => ngettext("node", "nodes", number),
  ],
  [
    "namespaces",
    (number) => ngettext("{count} namespace", "{count} namespaces", number),
    (number) => ngettext("namespace", "namespaces", number),
  ],
  [
    "objects",
    (number) => ngettext("{count} object", "{count} objects", number),
    (number) => ngettext("object", "objects", number),
  ],
];

/** The largest number of what a group holds, and what it is: {number: 20, what: "pods"}. */
export function heldWords(group) {
  const [number, , what] = held(group);
  return {number, what: what(number)};
}

/** The same as one text: "20 pods". */
export function heldText(group) {
  const [number, text] = held(group);
  return text(number);
}

/** @returns {[number, (number: number) => string, (number: number) => string]} */
function held(group) {
  const sizes = HELD.map(([of, text, what]) => {
    const size = group[of].length + (of === "pods" ? group.pods_missing : 0);
    return /** @type {[number, typeof text, typeof what]} */ ([size, text, what]);
  });
  return sizes.find(([size]) => size > 0) ?? sizes[sizes.length - 1];
}
