import {byName, moment} from "../shared/format.js";

const OFFSET = 2 ** 31;

/** What stands above the columns of a ladder, in the order of the rungs. */
export const RUNGS = {
  "fewest PDB violations": "PDB violations",
  "lowest highest priority": "Highest priority",
  "smallest priority sum": "Sum of priorities",
  "fewest victims": "Victims",
  "latest start time": "Latest start",
};

/**
 * How preemption chose: a row {node, victims, reprieved, chosen, cells} per candidate, who stays longest
 * first. A cell is {text, state} with state "in", "out" on the rung that ruled the candidate out, or
 * "gone" after it. `left` counts who is left after each rung, null where no rung was needed.
 */
export function ladderOf({candidates, rungs, node}) {
  const left = new Map((rungs ?? []).map((rung) => [rung.rung, new Set(rung.left)]));
  const names = Object.keys(RUNGS);
  const rows = Object.entries(candidates ?? {}).map(([name, {victims, reprieved, costs}]) => {
    const out = names.findIndex((rung) => left.has(rung) && !left.get(rung).has(name));
    const cells = names.map((rung, place) => cellOf(rung, costs, place, out));
    const lasted = out < 0 ? names.length : out;
    return {node: name, victims, reprieved: reprieved ?? [], chosen: name === node, cells, lasted};
  });
  rows.sort((a, b) => b.chosen - a.chosen || b.lasted - a.lasted || byName(a.node, b.node));
  return {rows, left: names.map((rung) => left.get(rung)?.size ?? null)};
}

/** The title of a ladder: "5 candidates, node-b2 chosen at rung 5". */
export function ladderNote({candidates, rungs, node}) {
  const several = Object.keys(candidates ?? {}).length;
  const found = `${several} ${several === 1 ? "candidate" : "candidates"}`;
  if (!node) return found;
  if (several === 1) return `${found}, ${node} chosen`;
  const decided = (rungs ?? []).findIndex(({left}) => left.length === 1);
  if (rungs?.[0]?.rung === "no victims") return `${found}, ${node} needs no evictions`;
  return decided < 0
    ? `${found}, ${node} chosen first of equal candidates`
    : `${found}, ${node} chosen by criterion ${decided + 1}`;
}

/** Why evictions do not help on the other nodes: [reason, number of nodes], the most frequent first. */
export function unhelpedNodes({hopeless}) {
  const counts = new Map();
  for (const reasons of Object.values(hopeless ?? {})) {
    const words = reasons.join(", ");
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  return [...counts].sort(([a, left], [b, right]) => right - left || byName(a, b));
}

function cellOf(rung, costs, place, out) {
  if (out >= 0 && place > out) return {text: "·", state: "gone"};
  return {text: costWords(rung, costs?.[rung]), state: place === out ? "out" : "in"};
}

function costWords(rung, cost) {
  if (cost === undefined) return "";
  if (rung === "latest start time") return cost === null ? "not started" : startWords(cost);
  if (rung === "smallest priority sum") return sumWords(cost);
  return String(cost);
}

/** Upstream adds 2³¹ for every victim, so that many of low priority weigh more than one. */
function sumWords(sum) {
  const victims = Math.round(sum / OFFSET);
  const rest = sum - victims * OFFSET;
  if (victims === 0) return String(sum);
  const offsets = victims === 1 ? "2³¹" : `${victims} · 2³¹`;
  return rest === 0 ? offsets : `${offsets} ${rest < 0 ? "−" : "+"} ${Math.abs(rest)}`;
}

/** Times of a cluster that was brought lie before the run. */
function startWords(at) {
  return at < 0 ? "before the run" : `${moment(at)} s`;
}
