import {capital, clauses, gettext, listText, ngettext, sentences} from "../../lib/words.js";
import {amount, byName, count} from "../shared/format.js";
import {attemptName} from "./evidence.js";
import {bestFirst, closestFirst, verdictOf} from "./verdict.js";

/** The orders in which a matrix can list its nodes. */
export const ORDERS = {closest: gettext("Closest"), zone: gettext("Zone"), name: gettext("Name")};

/**
 * The verdicts of all filters on all nodes in one attempt.
 *
 * `columns` are {name, skipped}; `rows` are {name, zone, kind, cells}, `kind` as in verdictOf, and `cells`
 * null for a node that was not evaluated. A cell is {kind, verdict} with kind "ok"; "bad", where the scheduler
 * stopped; "also", a further filter that rejects the node; or "skip", a filter that skipped the pod.
 */
export function matrixOf(evidence, zoneOf, order = "closest") {
  const skipped = new Set(evidence.skipped ?? []);
  const columns = filtersOf(evidence).map((name) => ({name, skipped: skipped.has(name)}));
  const rows = ordered(evidence, zoneOf, order).map((name) => {
    const {kind, ...verdict} = verdictOf(evidence, name);
    if (kind === "skipped") return {name, zone: zoneOf(name), kind, cells: null};
    const stop = kind === "unfit" ? stopOf(columns, verdict) : null;
    return {name, zone: zoneOf(name), kind, cells: columns.map((column) => cellOf(column, stop, verdict))};
  });
  return {columns, rows};
}

/**
 * A matrix with one column in place of those that have nothing but skips, `folded` with their names; the same matrix
 * where that would save none.
 */
export function foldSkipped({columns, rows}) {
  const isIdle = (i) => columns[i].skipped && rows.every(({cells}) => !cells || cells[i].kind === "skip");
  const idle = columns.filter((column, i) => isIdle(i)).map(({name}) => name);
  if (idle.length < 2) return {columns, rows};
  const stays = (_, i) => !isIdle(i);
  const kept = rows.map((row) => ({
    ...row,
    cells: row.cells && [...row.cells.filter(stays), {kind: "skip", verdict: null}],
  }));
  const fold = {name: ngettext("{count} skipped", "{count} skipped", idle.length), skipped: true, folded: idle};
  return {columns: [...columns.filter(stays), fold], rows: kept};
}

const LETTER = 7;
const AROUND = 24;
const NARROW = 52;
const WIDE = 176;

/** The width of column *i* of a matrix in CSS pixels: its longest word and its cells fit, but for whole sentences. */
export function widthOf({columns, rows}, i) {
  const words = columns[i].name.split(/(?=[A-Z][a-z])| /);
  const head = Math.max(...words.map(({length}) => length * LETTER + 8));
  const cells = rows.map(({cells: of}) => (of?.[i].verdict ? cellWords(of[i].verdict).length * LETTER + AROUND : 0));
  return Math.max(NARROW, head, Math.min(WIDE, Math.max(0, ...cells)));
}

/** The title of a matrix: "attempt 3 · 0 of 11 nodes feasible · 5 Insufficient cpu, 2 …". */
export function matrixNote(evidence) {
  const reasons = new Map();
  for (const verdict of Object.values(evidence.verdicts ?? {})) {
    for (const reason of verdict.reasons ?? []) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  const most = [...reasons].sort(([a, left], [b, right]) => right - left || byName(a, b));
  const named = most.slice(0, 3).map(([reason, nodes]) => `${count(nodes)} ${reason}`);
  if (most.length > 3) named.push(ngettext("{count} other reason", "{count} other reasons", most.length - 3));
  const fits = ngettext(
    "{feasible} of {count} node feasible",
    "{feasible} of {count} nodes feasible",
    evidence.evaluated,
    {feasible: count(evidence.feasible)},
  );
  return [attemptName(evidence), fits, listText(named)].filter(Boolean).join(" · ");
}

/** The short text of a cell: "cpu −250m", "dedicated", "skew 2 > 1". */
export function cellWords({detail, text, short, unit}) {
  const lacking = shortages(detail);
  if (lacking.length > 0) {
    const [[resource, {short: missing}]] = lacking;
    const more = lacking.length > 1 ? ` +${lacking.length - 1}` : "";
    return `${resource} −${bare(resource, missing)}${more}`;
  }
  if (unit === "skew") return gettext("skew {skew} > {maxSkew}", {skew: detail.skew, maxSkew: detail.maxSkew});
  if (unit === "volumes") return gettext("{short} too many", {short});
  if (detail?.nominated) return gettext("reserved for nominated pod");
  if (detail?.claims) return text.replace(/ for .*/, "");
  return detail?.key ?? text;
}

/**
 * The numbers behind a rejection as rows {label, value, look}: a calculation for each short resource, else the
 * values that the filter compared. `look` is "total" or "short" for a result.
 */
export function numbersOf({detail}, pod) {
  const lacking = shortages(detail);
  if (lacking.length > 0) return lacking.flatMap(([resource, entry]) => sum(resource, entry, pod));
  return Object.entries(detail ?? {})
    .map(([key, value]) => ({label: spaced(key), value: plain(value), look: ""}))
    .filter(({value}) => value !== "");
}

const EFFECT = {
  Unschedulable: gettext("Preemption may help."),
  UnschedulableAndUnresolvable: gettext("Preemption cannot help."),
};

/** Upstream's reasons as a sentence, and whether preemption may help. */
export function reasonWords({reasons, code, text}) {
  const said = reasons?.length > 0 ? clauses(reasons) : text;
  return sentences([`${said.replace(/\.$/, "")}.`, EFFECT[code]]);
}

function filtersOf(evidence) {
  if (evidence.filters) return evidence.filters;
  // Evidence of an earlier release names only filters that rejected a node.
  return [...new Set(Object.values(evidence.verdicts ?? {}).flatMap(({failing}) => failing ?? []))];
}

function ordered(evidence, zoneOf, order) {
  const names = [...(evidence.nodes ?? [])];
  if (order === "name") return names.sort(byName);
  if (order === "zone") return names.sort((a, b) => byName(zoneOf(a), zoneOf(b)) || byName(a, b));
  const fitting = bestFirst(evidence).map(([name]) => name);
  const refused = closestFirst(evidence).map(([name]) => name);
  const found = new Set([...fitting, ...refused]);
  // Without scores, feasible nodes are sorted by name.
  const rest = names.filter((name) => !found.has(name)).sort(byName);
  const looked = rest.filter((name) => verdictOf(evidence, name).kind !== "skipped");
  const skipped = rest.filter((name) => verdictOf(evidence, name).kind === "skipped");
  return [...fitting, ...looked, ...refused, ...skipped];
}

/** The filter at which the scheduler stopped. A Policy's verdict may name a part of the filter. */
function stopOf(columns, {plugin, failing}) {
  return columns.some(({name}) => name === plugin) ? plugin : failing?.[0];
}

function cellOf({name, skipped}, stop, verdict) {
  if (name === stop) return {kind: "bad", verdict};
  if (skipped) return {kind: "skip", verdict: null};
  const also = verdict.also?.[name];
  if (also) return {kind: "also", verdict: also};
  // Evidence of an earlier release has only the name.
  if (verdict.failing?.includes(name)) return {kind: "also", verdict: {text: gettext("fails"), plugin: name}};
  return {kind: "ok", verdict: null};
}

function shortages(detail) {
  return Object.entries(detail ?? {}).filter(([, entry]) => entry?.short !== undefined);
}

function sum(resource, {allocatable, used, requested, short}, pod) {
  const value = (whole) => bare(resource, whole);
  return [
    {label: gettext("Allocatable {resource}", {resource}), value: value(allocatable), look: ""},
    {label: gettext("Requested by other pods"), value: `− ${value(used)}`, look: ""},
    {label: gettext("Free"), value: value(allocatable - used), look: "total"},
    {label: gettext("Requested by {pod}", {pod}), value: value(requested), look: ""},
    {label: gettext("Short by"), value: value(short), look: "total short"},
  ];
}

/** An amount without the name of its resource. */
function bare(resource, value) {
  if (resource === "cpu") return `${value}m`;
  const text = amount(resource, value);
  return text.endsWith(` ${resource}`) ? text.slice(0, -resource.length - 1) : text;
}

function plain(value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return listText(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** "held_by_attachments" → "Held by attachments"; "topologyKey" is a field of Kubernetes, and stays. */
function spaced(key) {
  return /[A-Z]/.test(key) ? key : capital(key.replaceAll("_", " "));
}
