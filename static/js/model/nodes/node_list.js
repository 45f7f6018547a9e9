import {byName} from "../shared/format.js";
import {isStuck, nodeAnswer} from "./node_answer.js";

/** The nodes that match as {name, node, answer}, those that are stuck first; `size` of them from page `page` on, or the last. */
export function listNodes(nodes, {text, stuckOnly, page = 0}, at, size) {
  const wanted = text.trim().toLowerCase();
  const rows = [];
  for (const [name, node] of nodes.byName) {
    if (!name.toLowerCase().includes(wanted)) continue;
    rows.push({name, node, answer: nodeAnswer(name, node, nodes.pods.get(name) ?? new Map(), at)});
  }
  const stuck = rows.filter(({answer}) => isStuck(answer)).length;
  const shown = stuckOnly ? rows.filter(({answer}) => isStuck(answer)) : rows;
  shown.sort((a, b) => LIST_ORDER[a.answer.family] - LIST_ORDER[b.answer.family] || byName(a.name, b.name));
  const pages = Math.max(1, Math.ceil(shown.length / size));
  const place = Math.min(page, pages - 1);
  return {rows: shown.slice(place * size, (place + 1) * size), found: shown.length, stuck, page: place, pages};
}

const LIST_ORDER = {stuck: 0, clock: 1, held: 2, settled: 3};
