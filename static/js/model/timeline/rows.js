/** The rows of a timeline in words: their labels, their names for screen readers, and what their stages came to. */
import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {eventText} from "../shared/event_words.js";
import {count, duration, moment, parseId, timeText} from "../shared/format.js";
import {stateTitle} from "./look.js";

/** The height of every row, in pixels. */
export const ROW = 22;
/** So many rows more than those in sight are asked for, above and below. */
const BEYOND = 15;

const SECTIONS = {
  path: gettext("Path"),
  pods: gettext("Pods"),
  claims: gettext("Claims"),
  operations: gettext("Volume operations"),
  nodes: gettext("Nodes"),
};

const INDENTS = {pod: 1, claim: 1, operation: 1, node: 1, kind: 1, stage: 1, event: 3};

/** The rows in sight: {first, rows}, with some beyond. */
export function rowsInSight(top, height, total) {
  const first = Math.max(0, Math.floor(top / ROW) - BEYOND);
  const last = Math.min(Math.max(total, 1), Math.ceil((top + height) / ROW) + BEYOND);
  return {first, rows: Math.min(Math.max(last - first, 1), 200)};
}

/**
 * The label of a row: {space, name, right, indent, opens}. `space` is muted before the name, `opens` whether the row
 * can be opened.
 */
export function labelOf(row, path) {
  const indent = row.in_path ? 0 : (INDENTS[row.kind] ?? 0);
  const opens = ["group", "component", "stages", "stage"].includes(row.kind);
  const label = {space: "", name: row.name, right: "", indent, opens};
  return {...label, ...(LABELS[row.kind]?.(row, path) ?? {})};
}

const LABELS = {
  section: (row, path) => ({name: sectionName(row, path), right: sectionCount(row, path)}),
  path: (_row, path) => ({name: gettext("Why it took"), right: path ? duration(path.to - path.from) : ""}),
  pod: (row) => ({...split(row.name), right: row.in_path ? "" : duration(row.waited)}),
  claim: (row) => ({...split(row.name), space: row.in_path ? `claim/${split(row.name).space}` : split(row.name).space}),
  operation: (row) => operationLabel(row),
  group: (row) => ({...split(row.name), right: count(row.count)}),
  component: (row) => ({right: count(row.count)}),
  kind: (row) => ({right: count(row.count)}),
  stages: (row) => ({
    name: ngettext("{count} attempt", "{count} attempts", row.count),
    right: row.of > 0 ? gettext("{of} failed", {of: count(row.of)}) : "",
  }),
  stage: ({stage}) => ({name: stageTitle(stage), right: moment(stage.start)}),
};

function sectionName({name}, path) {
  return name === "path" && path ? gettext("Path of {key}", {key: parseId(path.pod).key}) : (SECTIONS[name] ?? name);
}

function sectionCount({name, count: number, of}, path) {
  if (name === "path") return path ? ngettext("{count} step", "{count} steps", path.steps.length) : "";
  return number === of ? count(of) : gettext("{number} of {of}", {number: count(number), of: count(of)});
}

/** "attach/node-2/disk-1" → attach disk-1, on node-2. */
function operationLabel({key}) {
  const [kind, node, ...volume] = key.split("/");
  return {space: `${kind}/`, name: volume.join("/"), right: node};
}

function split(name) {
  const slash = name.indexOf("/");
  return slash < 0 ? {space: "", name} : {space: name.slice(0, slash + 1), name: name.slice(slash + 1)};
}

/** Whether what is read out of a row says what stands at the right of its label, with what it is. */
export function saysRight({kind, in_path: inPath}) {
  return ["path", "group", "component", "kind", "stage"].includes(kind) || (kind === "pod" && !inPath);
}

/**
 * What is read out of a row beside its name, for those who cannot see its bars: its sums. Together they are "web 3 pods,
 * waited 4.00 s together".
 */
export function spokenOf(row, path) {
  switch (row.kind) {
    case "section":
    case "stages":
      return "";
    case "path":
      return path ? listText([duration(path.to - path.from), ...path.steps.map(stepText)]) : "";
    case "group":
      return ngettext("{count} pod, waited {time} together", "{count} pods, waited {time} together", row.count, {
        time: duration(row.waited),
      });
    case "component":
    case "kind":
      return ngettext("{count} event", "{count} events", row.count);
    case "stage":
      return labelled(timeText(row.stage.start), stageText(row.stage));
    case "event":
      return labelled(gettext("at {time}", {time: timeText(row.event.at)}), eventText(row.event));
    default:
      return listText([...waitedText(row), ...sumTexts(row)]);
  }
}

function waitedText(row) {
  return row.kind === "pod" && !row.in_path ? [gettext("{time} waited", {time: duration(row.waited)})] : [];
}

function stepText({name, object, from, to}) {
  return `${name} ${parseId(object).name} ${duration(to - from)}`;
}

/** "unschedulable 10.2 s": the sums of a row, the largest first. */
function sumTexts({sums}) {
  const sorted = Object.entries(sums).sort(([, a], [, b]) => b - a);
  return sorted.map(([state, sum]) => `${stateTitle(state)} ${duration(sum)}`);
}

/** "attempt 7", "binding". */
export function stageTitle({name, number}) {
  if (name === "attempt") return String(number);
  return (
    {
      queue: gettext("queue"),
      bind: gettext("binding"),
      start: gettext("volumes and start"),
      after: gettext("afterwards"),
    }[name] ?? name
  );
}

/** How a stage ended, as a mark of the sprite and a family. */
export function stageMark({name, node, decided}) {
  if (name !== "attempt") return {mark: "active", family: "held"};
  if (node) return {mark: "ok", family: "settled"};
  return decided ? {mark: "no", family: "stuck"} : {mark: "in-flight", family: "working"};
}

/** What a stage came to, in one sentence. */
export function stageText({name, decided, message, node, victims, blocker, start, end}) {
  if (name !== "attempt") return end === null ? gettext("not over yet") : duration(end - start);
  if (node) return message;
  if (victims.length > 0)
    return gettext("no room; evicts {victims}", {victims: listText(victims.map((id) => parseId(id).name))});
  if (!decided) return gettext("under way");
  return blocker?.short ?? message;
}

/** The text beside the mark of an event. */
export function eventLine(event) {
  return `${event.seq} · ${event.component} · ${eventText(event)}`;
}

/** Whether Enter or a click selects what the row is about, as a pod. */
export function podOf(row) {
  return row.kind === "pod" ? row.key : null;
}

/** The values of an area: [length, value, …] as one value for each part. */
export function spread(runs) {
  const values = [];
  for (let i = 0; i < runs.length; i += 2) for (let n = 0; n < runs[i]; n += 1) values.push(runs[i + 1]);
  return values;
}

/** The next moment, after `at`, at which a bar or a mark of the row begins; null after the last. */
export function nextOf(row, at) {
  const starts = [
    ...(row.bars ?? []).map(({start}) => start),
    ...(row.marks ?? []).map((mark) => mark.at),
    ...(row.event ? [row.event.at] : []),
    ...(row.stage ? [row.stage.start] : []),
  ];
  const later = starts.filter((start) => start > at);
  return later.length > 0 ? Math.min(...later) : null;
}
