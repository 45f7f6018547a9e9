import {gettext, listText, ngettext} from "../../lib/words.js";
import {byName, bytes, cpu} from "../shared/format.js";
import {isShadow} from "./evidence.js";

/**
 * The verdict of an attempt on one node: {kind, text, …} with kind chosen, fits, unfit or skipped (not
 * evaluated), or null without an attempt.
 */
export function verdictOf(evidence, name) {
  if (!evidence) return null;
  const verdict = evidence.verdicts?.[name];
  if (verdict) return {kind: "unfit", ...verdict};
  if (!wasEvaluated(evidence, name)) {
    return {kind: "skipped", text: skippedText(evidence)};
  }
  const score = evidence.scores?.[name]?.total;
  const points = score === undefined ? [] : [gettext("score {score}", {score})];
  if (evidence.node !== name) return {kind: "fits", text: listText([gettext("fits"), ...points])};
  const chosen = isShadow(evidence) ? gettext("would be chosen") : gettext("chosen");
  const more = isOnlyFeasible(evidence) ? [gettext("the only node that fits")] : points;
  return {kind: "chosen", text: listText([chosen, ...more])};
}

function skippedText(evidence) {
  const {number} = evidence;
  return isShadow(evidence)
    ? gettext("not evaluated in shadow decision {number}", {number})
    : gettext("not evaluated in attempt {number}", {number});
}

/** Whether only one node was feasible; the scheduler then skips scoring. */
export function isOnlyFeasible(evidence) {
  return evidence.feasible === 1;
}

const evaluated = new WeakMap();

function wasEvaluated(evidence, name) {
  if (!evaluated.has(evidence)) {
    const skipped = new Set(evidence.not_evaluated ?? []);
    evaluated.set(evidence, new Set((evidence.nodes ?? []).filter((node) => !skipped.has(node))));
  }
  return evaluated.get(evidence).has(name);
}

/**
 * Nodes that do not fit as [name, verdict], the closest to fitting first. The engine orders them in the same
 * way to choose a blocker (engine/scheduler/cycle/explain.py): fewest obstacles, where each short resource is
 * an obstacle; then those with a measure; then the smallest relative shortage.
 */
export function closestFirst(evidence) {
  const nodes = Object.entries(evidence?.verdicts ?? {}).map((entry) => ({entry, ...distanceOf(entry[1])}));
  nodes.sort((a, b) => a.obstacles - b.obstacles || a.gap - b.gap || byName(a.entry[0], b.entry[0]));
  return nodes.map(({entry}) => entry);
}

const NO_MEASURE = 1e300;

function distanceOf({failing, short, detail}) {
  const refusing = failing?.length ?? 1;
  if (short === undefined || short === null) return {obstacles: refusing, gap: NO_MEASURE};
  const shares = Object.values(detail ?? {})
    .filter((entry) => entry?.requested !== undefined)
    .map(({requested, short: missing = 1}) => missing / Math.max(requested, 1));
  const gap = shares.reduce((sum, share) => sum + share, 0) || short;
  return {obstacles: refusing + Math.max(shares.length - 1, 0), gap};
}

/** Feasible nodes as [name, score], the best first; among equals the chosen node first. */
export function bestFirst(evidence) {
  return Object.entries(evidence?.scores ?? {}).sort(
    ([a, left], [b, right]) =>
      right.total - left.total || Number(b === evidence.node) - Number(a === evidence.node) || byName(a, b),
  );
}

const BYTES = new Set(["memory", "ephemeral-storage"]);

const NUMBER = /(?<![\w-])\d\S*( (Ki|Mi|Gi|Ti))?( short| of \d+| [<>] \S+)?/;

const LAST_OF_FEW = /(?<=^(\S+ ){0,2})\S+$/;

/** The text of a verdict split around its decisive words: [before, strong, after]. */
export function emphasise(text) {
  const found = NUMBER.exec(text) ?? LAST_OF_FEW.exec(text);
  if (!found) return [text, "", ""];
  return [text.slice(0, found.index), found[0], text.slice(found.index + found[0].length)];
}

/** What a blocker measured, by its unit: without and with the name of a node. */
const MEASURED = {
  cpu: [() => gettext("CPU short"), (_, node) => gettext("CPU short on {node}", {node})],
  pods: [
    (many) => ngettext("pod too many", "pods too many", many),
    (many, node) => ngettext("pod too many on {node}", "pods too many on {node}", many, {node}),
  ],
  volumes: [
    (many) => ngettext("volume too many", "volumes too many", many),
    (many, node) => ngettext("volume too many on {node}", "volumes too many on {node}", many, {node}),
  ],
  skew: [() => gettext("over the allowed skew"), (_, node) => gettext("over the allowed skew on {node}", {node})],
};

/** The number of a blocker as {value, words}, or null if nothing was measured. */
export function figureOf({value, unit, node}) {
  if (typeof value !== "number") return null;
  const text = unit === "cpu" ? cpu(value) : BYTES.has(unit) ? bytes(value) : String(value);
  const [here, there] = MEASURED[unit] ?? shortOf(unit ?? "");
  return {value: text, words: node ? there(value, node) : here(value)};
}

function shortOf(unit) {
  if (unit === "") return [() => gettext("short"), (_, node) => gettext("short on {node}", {node})];
  return [() => gettext("{unit} short", {unit}), (_, node) => gettext("{unit} short on {node}", {unit, node})];
}

/** Mark and family of a verdict. */
export const VERDICT_LOOK = {
  chosen: {mark: "ok", family: "settled"},
  fits: {mark: "ok", family: "held"},
  unfit: {mark: "no", family: "stuck"},
  target: {mark: "nominated", family: "promised"},
  skipped: {mark: "expired", family: "held"},
};
