import {gettext, gettextNoop, gettextOf, listText} from "../../lib/words.js";
import {count, parseId} from "../shared/format.js";

/** Above this many nodes a zone is a strip of one cell per node. */
const CARDS = 60;

/** The nodes of a board by zone, as [zone, nodes], in the order in which they come. */
export function zonesOf({nodes}) {
  const zones = new Map();
  for (const node of nodes) zones.set(node.zone, [...(zones.get(node.zone) ?? []), node]);
  return [...zones];
}

/** Whether a board has too many nodes for a card each. */
export function isStrip({nodes}) {
  return nodes.length > CARDS;
}

/** Whether both runs are the same up to the moments shown, so that one board shows both. */
export function isShared({a, b, shared}) {
  return a.id !== b.id && a.seq === b.seq && a.seq <= shared;
}

/** Why there is one board: the runs are equal, or one is a fork of the other, or what differs comes later. */
export function sharedWords({a, b, shared, divergence}) {
  if (divergence === null && a.head === b.head)
    return gettext("Equal in all {shared} events: one board shows both.", {shared: count(shared)});
  return a.parent === b.id || b.parent === a.id
    ? gettext("The shared past: the same until event {shared}.", {shared: count(shared)})
    : gettext("Both are the same until event {shared}: one board shows both.", {shared: count(shared)});
}

/** How many pods of a board have a node. */
export function placedCount({nodes}) {
  return nodes.reduce((sum, {pods}) => sum + pods.length, 0);
}

/** The next moment after `at` from which a pod has another node, or null. */
export function nextParting(partings, at) {
  return partings.find((each) => each.at > at) ?? null;
}

/** The points of a line of counts in a box of `width` by `height`, `most` being at its top. */
export function linePath(counts, {width, height, most}) {
  const step = width / Math.max(1, counts.length - 1);
  const points = counts.map(
    (n, i) => `${(i * step).toFixed(1)} ${(height - (n / Math.max(1, most)) * height).toFixed(1)}`,
  );
  return points.length > 0 ? `M${points.join("L")}` : "";
}

/** A long name with its middle left out, so that what comes last stays: hash, ordinal. */
export function cutName(name, most = 28) {
  if (name.length <= most) return name;
  const tail = Math.floor((most - 1) / 2);
  return `${name.slice(0, most - 1 - tail)}…${name.slice(-tail)}`;
}

/** The title of a pod on one board: its name, and where it is if the runs differ. */
export function tileTitle({pod, elsewhere, assumed}) {
  const {key} = parseId(pod);
  const parts = [
    key,
    assumed ? gettext("assumed, not bound yet") : "",
    elsewhere ? gettext("not on the same node in the other run") : "",
  ];
  return listText(parts.filter(Boolean));
}

/** The factors of one node in one run, as {text, changed}, the changed ones apart from what all others add up to. */
export function terms({total, terms: all}, changed) {
  const apart = all.filter(({plugin}) => changed.includes(plugin));
  const rest = total - apart.reduce((sum, {points}) => sum + points, 0);
  return {rest, apart};
}

/** What a run is given, without and with its name. @type {Record<string, [string, string]>} */
const INPUTS = {
  profile: [gettextNoop("the version"), gettextNoop("the version {name}")],
  seed: [gettextNoop("the seed"), gettextNoop("the seed {name}")],
  tie_break: [gettextNoop("how ties are broken"), gettextNoop("how ties are broken {name}")],
  external_scheduler: [gettextNoop("an external scheduler"), gettextNoop("an external scheduler {name}")],
  external_controllers: [gettextNoop("external controllers"), gettextNoop("external controllers {name}")],
  feature_gate: [gettextNoop("the feature gate"), gettextNoop("the feature gate {name}")],
  configuration: [gettextNoop("the configuration"), gettextNoop("the configuration {name}")],
  scenario: [gettextNoop("the scenario"), gettextNoop("the scenario {name}")],
  command: [gettextNoop("a command"), gettextNoop("a command {name}")],
};

/** One difference of what two runs were given, as {what, from, to}. */
export function inputWords({kind, what, a, b}) {
  const value = (each) => (each === null || each === undefined ? gettext("none") : String(each));
  const [alone, named] = INPUTS[kind];
  return {what: gettextOf(kind === what ? alone : named, {name: what}), from: value(a), to: value(b)};
}
