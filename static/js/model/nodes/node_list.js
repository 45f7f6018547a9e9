import {byName} from "../shared/format.js";
import {isStuck, nodeAnswer} from "./node_answer.js";

/** The nodes that match as {name, node, answer}, those that are stuck first; at most `most` of them. */
export function listNodes(nodes, {text, stuckOnly}, at, most) {
  const wanted = text.trim().toLowerCase();
  const rows = [];
  for (const [name, node] of nodes.byName) {
    if (!name.toLowerCase().includes(wanted)) continue;
    rows.push({name, node, answer: nodeAnswer(name, node, nodes.pods.get(name) ?? new Map(), at)});
  }
  const stuck = rows.filter(({answer}) => isStuck(answer)).length;
  const shown = stuckOnly ? rows.filter(({answer}) => isStuck(answer)) : rows;
  shown.sort((a, b) => LIST_ORDER[a.answer.family] - LIST_ORDER[b.answer.family] || byName(a.name, b.name));
  return {rows: shown.slice(0, most), found: shown.length, stuck};
}

const LIST_ORDER = {stuck: 0, clock: 1, held: 2, settled: 3};
