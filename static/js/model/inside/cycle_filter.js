/** The searches of a cycle's Filter, node by node. */
import {listText} from "../../lib/words.js";

/** More nodes than this are shown by reason. */
export const MOST_ROWS = 60;

/** Each node of a search as {place, node, called, refusal, text, numbers}; the refusal is null for one that fits. */
export function rowsOf({nodes, refusals}) {
  return nodes.map((each, place) => ({...each, place, refusal: refusals[each.refusal] ?? null}));
}

/** How many nodes fit. */
export function fittingOf({nodes}) {
  return nodes.filter(({refusal}) => refusal < 0).length;
}

/** The refusals with how many nodes each stopped, the most first: {plugin, reasons, many, example}. */
export function groupsOf(search) {
  return search.refusals
    .map((refusal, place) => {
      const stopped = search.nodes.filter((each) => each.refusal === place);
      return {...refusal, many: stopped.length, example: stopped[0]};
    })
    .filter(({many}) => many > 0)
    .toSorted((one, other) => other.many - one.many);
}

/** Why a node was refused: [arithmetic, its result], as ["4000 − 3900 − 1000:", "cpu 900m short"]. */
export function whyOf({refusal, text, unit, numbers}) {
  const amounts = numbers?.[unit];
  const result = text || listText(refusal.reasons);
  if (amounts?.allocatable === undefined || amounts.used === undefined) return ["", result];
  return [`${amounts.allocatable} − ${amounts.used} − ${amounts.requested}:`, result];
}

/** The search that decided: that of all nodes, or else the last one. */
export function mainSearch({searches}) {
  return searches.findLast(({search}) => search === "all nodes") ?? searches.at(-1);
}
