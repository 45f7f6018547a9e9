import {gettext, listText, ngettext} from "../../lib/words.js";
import {byName, timeText} from "../shared/format.js";

const OFFSET = 2 ** 31;

/** The titles of the criteria by which preemption compares candidates, in order; events call them rungs. */
export const CRITERIA = {
  "fewest PDB violations": gettext("PDB violations"),
  "lowest highest priority": gettext("Highest priority"),
  "smallest priority sum": gettext("Sum of priorities"),
  "fewest victims": gettext("Victims"),
  "latest start time": gettext("Latest start"),
};

/** The first rung where extenders took candidates away. */
const BY_EXTENDERS = "extenders";

/**
 * How preemption chose: a row {node, victims, reprieved, chosen, cells} per candidate, the last one left first.
 * A cell is {text, state} with state "in", "out" at the criterion that eliminated the candidate, or "gone" after
 * it. `left` counts the candidates left after each criterion, null if the criterion was not needed.
 */
export function candidatesOf({candidates, rungs, node}) {
  const left = new Map((rungs ?? []).map((rung) => [rung.rung, new Set(rung.left)]));
  const names = Object.keys(CRITERIA);
  const kept = left.get(BY_EXTENDERS);
  const rows = Object.entries(candidates ?? {}).map(([name, {victims, reprieved, costs}]) => {
    if (kept && !kept.has(name)) return takenOut(name, victims, reprieved ?? []);
    const out = names.findIndex((rung) => left.has(rung) && !left.get(rung).has(name));
    const cells = names.map((rung, place) => cellOf(rung, costs, place, out));
    const lasted = out < 0 ? names.length : out;
    return {node: name, victims, reprieved: reprieved ?? [], chosen: name === node, cells, lasted};
  });
  rows.sort((a, b) => Number(b.chosen) - Number(a.chosen) || b.lasted - a.lasted || byName(a.node, b.node));
  return {rows, left: names.map((rung) => left.get(rung)?.size ?? null)};
}

/** The note of the table: "5 candidates, node-b2 chosen by criterion 5". */
export function preemptionNote({candidates, rungs: all, node}) {
  const several = Object.keys(candidates ?? {}).length;
  const rungs = (all ?? []).filter(({rung}) => rung !== BY_EXTENDERS);
  const lost = several - ((all ?? []).find(({rung}) => rung === BY_EXTENDERS)?.left.length ?? several);
  return listText([
    ngettext("{count} candidate", "{count} candidates", several),
    ...(lost > 0 ? [gettext("{lost} taken out by an extender", {lost})] : []),
    ...(node ? [choiceWords(node, rungs, several - lost)] : []),
  ]);
}

function choiceWords(node, rungs, left) {
  if (left === 1) return gettext("{node} chosen", {node});
  if (rungs[0]?.rung === "no victims") return gettext("{node} needs no evictions", {node});
  const decided = rungs.findIndex((rung) => rung.left.length === 1);
  return decided < 0
    ? gettext("{node} chosen first of equal candidates", {node})
    : gettext("{node} chosen by criterion {number}", {node, number: decided + 1});
}

/** Why preemption cannot help on the other nodes: [reason, number of nodes], the most frequent first. */
export function nodesWithoutHelp({hopeless}) {
  const counts = new Map();
  for (const reasons of Object.values(hopeless ?? {})) {
    const words = listText(reasons);
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  return [...counts].sort(([a, left], [b, right]) => right - left || byName(a, b));
}

/** The row of a candidate that an extender took out before the first criterion. */
function takenOut(node, victims, reprieved) {
  const cells = Object.keys(CRITERIA).map((_, place) =>
    place === 0 ? {text: gettext("extender"), state: "out"} : {text: "·", state: "gone"},
  );
  return {node, victims, reprieved, chosen: false, cells, lasted: -1};
}

function cellOf(rung, costs, place, out) {
  if (out >= 0 && place > out) return {text: "·", state: "gone"};
  return {text: costWords(rung, costs?.[rung]), state: place === out ? "out" : "in"};
}

function costWords(rung, cost) {
  if (cost === undefined) return "";
  if (rung === "latest start time") return cost === null ? gettext("not started") : startWords(cost);
  if (rung === "smallest priority sum") return sumWords(cost);
  return String(cost);
}

/** Upstream adds 2³¹ per victim, so that many victims of low priority weigh more than one. */
function sumWords(sum) {
  const victims = Math.round(sum / OFFSET);
  const rest = sum - victims * OFFSET;
  if (victims === 0) return String(sum);
  const offsets = victims === 1 ? "2³¹" : `${victims} · 2³¹`;
  return rest === 0 ? offsets : `${offsets} ${rest < 0 ? "−" : "+"} ${Math.abs(rest)}`;
}

/** Pods of an imported cluster started before the run. */
function startWords(at) {
  return at < 0 ? gettext("before the run") : timeText(at);
}
