/** From Pop to Filter: what is lit, and how many nodes are left. */
import {gettext, listText, ngettext} from "../../lib/words.js";
import {groupsOf, rowsOf} from "../inside/cycle_filter.js";
import {mapNodes, namesOf, rested, withFar, withNodes} from "./nodes.js";

export const FILTER_PAINTERS = {
  pop: (picture) => picture,
  snapshot: paintSnapshot,
  order: paintOrder,
  prefilter: (picture) => picture,
  filter: paintFilter,
};

function paintSnapshot(picture, _, {answer: {snapshot}}) {
  const {copied, kept} = snapshot.taken;
  const lit = Object.fromEntries(copied.map(({node}) => [node, {look: "copied"}]));
  return withFar(withNodes(picture, lit), {snapshot: copied.length + kept});
}

function paintOrder(picture, _, {answer}) {
  const places = new Map(namesOf(answer).map((name, place) => [name, place]));
  return mapNodes(rested(picture), (_node, name) => ({order: places.get(name) ?? null}));
}

function paintFilter(picture, step, film) {
  const search = film.answer.filter.searches[step.search];
  const begun = step.from === 0 ? emptied(picture) : rested(picture);
  const counted = {...begun, shows: "filter", front: step, tally: tallyOf(search, step.upto)};
  const far = {asked: step.upto, fit: fittingUpTo(search, step.upto)};
  const painted = withFar(counted, search.search === "all nodes" ? far : {});
  return film.isLarge ? painted : withNodes(painted, litNode(search, step.from));
}

/** Another search begins anew. */
function emptied(picture) {
  return mapNodes(rested(picture), () => ({marks: null, why: "", full: "", fits: false, short: 0, look: ""}));
}

function litNode(search, place) {
  const row = rowsOf(search)[place];
  const {refusal, called, text, short} = row;
  const stop = refusal ? called - 1 : search.asked.length;
  const marks = search.asked.map((_, each) => (each < stop ? "ok" : each === stop ? "stop" : "never"));
  const full = refusal ? listText(refusal.reasons) : gettext("passes every filter");
  const why = refusal ? text || full : fitWords(row);
  return {[row.node]: {look: "lit", asks: true, fits: refusal === null, marks, why, full, short: short ?? 0}};
}

/** "fits, ssd-0 is here": with the volumes that the pod's claims would get there. */
function fitWords({volumes}) {
  const bind = Object.values(volumes?.bind ?? {});
  return bind.length > 0
    ? ngettext("fits, {bind} is here", "fits, {bind} are here", bind.length, {bind: listText(bind)})
    : gettext("fits");
}

/** How many nodes of the first `upto` fit. */
export function fittingUpTo({nodes}, upto) {
  return nodes.slice(0, upto).filter(({refusal}) => refusal < 0).length;
}

/** The nodes of the first `upto` by answer: reasons with how many each stopped. */
export function tallyOf(search, upto) {
  const nodes = search.nodes.slice(0, upto);
  const groups = groupsOf({...search, nodes});
  return {
    calls: nodes.reduce((sum, {called}) => sum + called, 0),
    asked: upto,
    wanted: search.nodes.length,
    reasons: Object.fromEntries(groups.map(({reasons, plugin, many}) => [listText(reasons) || plugin, many])),
  };
}
