/** A first look at files that were brought: what the server found, in rows and sentences. */
import {gettext, listText, ngettext, sentences} from "../../lib/words.js";
import {count, fileSize} from "../shared/format.js";

/** From so many nodes on, a zone is a strip of cells. */
const MANY_NODES = 60;
const MOST_CAUSES = 12;
/** Below this share of agreement the comparison comes first on the page, in percent. */
const ENOUGH = 90;
/** Comparisons of decisions; a contradiction is not one: there the files are right. */
const DECISIONS = {
  refusals: gettext("pods that a scheduler refused, as Events say: the model gives the same reasons"),
  placements: gettext("running pods: the model accepts the node that they are on"),
};
/** @type {[string, (number: number) => string][]} */
const COUNTED = [
  ["Node", (number) => ngettext("{count} node", "{count} nodes", number)],
  ["Pod", (number) => ngettext("{count} pod", "{count} pods", number)],
  ["PersistentVolumeClaim", (number) => ngettext("{count} claim", "{count} claims", number)],
];
const REMOVED = {
  what: gettext("Data of Secrets, values of environment variables, arguments"),
  number: gettext("all"),
  effect: gettext("removed before anything was stored"),
  may: false,
};

/** A first look with one more part of it; without the second one nothing was compared yet. */
export function joined(look, part) {
  return {trust: [], ...look, ...part};
}

/** Whether a first look has all its parts; null is one without any. */
export function isWhole(look) {
  return look !== null && "causes" in look;
}

/** "11 nodes, 78 pods, 10 claims": how much was read. */
export function sizeWords({read}) {
  const numbers = new Map(read.map(({kind, number}) => [kind, number]));
  const parts = COUNTED.filter(([kind]) => numbers.has(kind)).map(([kind, textOf]) => textOf(numbers.get(kind)));
  return parts.length > 0 ? gettext("{words}.", {words: listText(parts)}) : "";
}

/** Facts about the reading: files with their size, objects used and left aside. */
export function readingFacts({read, report}) {
  const aside = sum((report?.left_out ?? []).filter((each) => !each.is_evidence).map((each) => each.count));
  const used = sum(rowsOf(read, report).map((each) => each.number));
  const facts = [
    ngettext("{count} object used", "{count} objects used", used),
    gettext("{aside} left aside", {aside: count(aside)}),
  ];
  if (!report) return facts;
  // What was assumed is listed as a file, too, which holds nothing.
  const brought = report.files.filter((file) => file.bytes > 0);
  const size = sum(brought.map((file) => file.bytes));
  const files = ngettext("{count} file", "{count} files", brought.length);
  return [listText([files, fileSize(size)]), ...facts];
}

/**
 * The table of what was read: [{kinds, numbers, state, files}]. Kinds of whose state nothing is to be said
 * share the last row.
 */
export function readRows({read, report}) {
  const rows = rowsOf(read, report);
  const told = rows.filter(({state}) => state);
  const rest = rows.filter(({state}) => !state);
  const shown = told.map((row) => tableRow([row], report));
  return rest.length > 0 ? [...shown, tableRow(rest, report)] : shown;
}

/** The table of what was left aside: [{what, number, effect, may}]; `may` is whether an answer may be wrong for it. */
export function asideRows({report}) {
  const byNote = new Map();
  for (const each of report?.left_out ?? []) {
    if (each.is_evidence) continue;
    const key = `${each.is_neutral} ${each.note}`;
    const row = byNote.get(key) ?? {kinds: [], number: 0, effect: effectOf(each), may: !each.is_neutral};
    byNote.set(key, {...row, kinds: [...row.kinds, kindName(each)], number: row.number + each.count});
  }
  const rows = [...byNote.values()].map(({kinds, number, ...row}) => ({
    what: listText(kinds),
    number: count(number),
    ...row,
  }));
  return [...rows, REMOVED];
}

/** The three ways on: {explain, play}. `explain` is null for files with steps, which do not stand still. */
export function actsOf({causes, headline, instant, report}, {as_brought: asBrought, standing, profile}) {
  const play = standing || !asBrought ? rulesWords(instant, profile) : gettext("it was played or changed already");
  const title = asBrought ? gettext("Play on") : gettext("Play");
  if (!asBrought) return {explain: null, play: {title, words: play}};
  return {explain: explainAct({causes, headline, report}), play: {title, words: play}};
}

function explainAct({causes, headline, report}) {
  if (causes.length > 0)
    return {number: count(causes.length), title: gettext("Explain what is stuck"), words: headline, isMain: true};
  const lacksNodes = report?.questions?.some(({name}) => name === "no-nodes");
  if (lacksNodes) return {number: "", title: gettext("Nothing can be said about pods"), words: headline, isMain: false};
  return {number: "", title: gettext("Nothing is stuck"), words: gettext("see what was looked at"), isMain: false};
}

function rulesWords(instant, profile) {
  if (!instant) return gettext("under the rules of {profile}", {profile});
  return gettext("from {time}, under the rules of {profile}", {time: clockTime(instant), profile});
}

/** The causes that are shown, the largest first, and how many more there are: {shown, more}. */
export function causeRows({causes}) {
  const shown = causes.slice(0, MOST_CAUSES);
  return {shown, more: causes.length - shown.length};
}

/** How the model compares with the files: [{same, of, words, isLow}]. */
export function trustRows({trust}) {
  return trust.map(({subject, same, of, all}) => {
    if (subject === "contradictions") {
      const words = ngettext(
        "cause contradicts the model; there the observation counts",
        "causes contradict the model; there the observation counts",
        of,
      );
      return {same: count(same), of: count(of), words, isLow: false};
    }
    const facts = {all: count(all), of: count(of)};
    const rest = all > of && gettext("(of {all}, {of} were looked at)", facts);
    return {same: count(same), of: count(of), words: sentences([DECISIONS[subject], rest]), isLow: isLow({same, of})};
  });
}

/** Whether the model decides otherwise than the files say in so many cases that this comes first. */
export function isDoubtful({trust}) {
  return trust.some((each) => each.subject in DECISIONS && isLow(each));
}

/** The zones as they are drawn: {zones: [{zone, nodes}], isLarge, waiting}. */
export function pictureOf({picture: {zones, waiting}}) {
  return {zones, waiting, isLarge: sum(zones.map(({nodes}) => nodes.length)) > MANY_NODES};
}

/** The look of a node's frame: "dead", "cordoned" or "". */
export function nodeLook({state, note}) {
  if (state === "unknown" || state === "not ready") return "dead";
  return note.split(", ").includes("cordoned") ? "cordoned" : "";
}

/** "02:31:08 UTC" of an RFC 3339 time in UTC. */
export function clockTime(instant) {
  return `${instant.slice(11, 19)} UTC`;
}

/** What was read, without the kinds that are left aside. */
function rowsOf(read, report) {
  const aside = new Set((report?.left_out ?? []).filter((each) => !each.is_evidence).map((each) => each.kind));
  return read.filter(({kind}) => !aside.has(kind));
}

function tableRow(rows, report) {
  const kinds = rows.map(({kind}) => kind);
  const files = (report?.files ?? []).filter((file) => kinds.some((kind) => file.kinds[kind] || file.aside[kind]));
  return {
    kinds: kinds.join(" · "),
    numbers: rows.map(({number}) => count(number)).join(" · "),
    state: rows[0].state,
    files: files.map((file) => file.name),
  };
}

function kindName({kind, group}) {
  return group.includes(".") && !group.endsWith(".k8s.io") ? gettext("{kind} of {group}", {kind, group}) : kind;
}

function effectOf({is_neutral: isNeutral, note}) {
  return isNeutral ? gettext("none: {note}", {note}) : note;
}

function isLow({same, of}) {
  return same * 100 < of * ENOUGH;
}

function sum(numbers) {
  return numbers.reduce((total, each) => total + each, 0);
}
