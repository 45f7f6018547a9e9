import {gettext, listText, ngettext, sentences} from "../../lib/words.js";
import {podHealth} from "../health/pod.js";
import {count, duration, fixed, moment, ratio, timeText} from "../shared/format.js";
import {gatesText} from "./gates.js";
import {Histogram} from "./timeline.js";

/** The titles of the numbers of a comparison. */
export const MEASURES = {
  pods: gettext("Pods"),
  bound: "Bound",
  pending: "Pending",
  bindings: gettext("Bindings"),
  "time to bind, median": gettext("Time to bind, median"),
  "time to bind, worst": gettext("Time to bind, worst"),
  attempts: gettext("Attempts"),
  evicted: gettext("Evicted"),
  nodes: gettext("Nodes"),
  "nodes used": gettext("Nodes with pods"),
};

/** A number of either run, or "none yet". */
export function figure(value, unit) {
  if (value === null || value === undefined) return gettext("none yet");
  return unit === "ns" ? duration(value) : count(value);
}

/** The difference from the first to the second run: "+2", "−1", "0", "+5 ms"; "" if one number is missing. */
export function differenceText({difference, unit}) {
  if (difference === null || difference === undefined) return "";
  if (difference === 0) return "0";
  return `${difference > 0 ? "+" : "−"}${figure(Math.abs(difference), unit)}`;
}

/** "40.9 / 52 = 78.7 %". */
export function shareText(resource, [part, whole]) {
  if (whole === 0) return gettext("none");
  return `${ratio(resource, part, whole)} = ${percent(part, whole)} %`;
}

/** The difference of utilisation in percentage points: "+3.8 points". */
export function shareDifference({a, b}) {
  if (a[1] === 0 || b[1] === 0) return "";
  const points = Math.round((b[0] / b[1] - a[0] / a[1]) * 1000) / 10;
  if (points === 0) return "0";
  return gettext("{points} points", {points: `${points > 0 ? "+" : "−"}${fixed(Math.abs(points), 1)}`});
}

function percent(part, whole) {
  return fixed((part / whole) * 100, 1);
}

/** Rows of events side by side; two or more identical events in a row become one row. */
export function foldedRows(rows) {
  const found = [];
  for (const row of rows) {
    const last = found.at(-1);
    if (row.same && last?.alike) last.alike.push(row);
    else found.push(row.same ? {alike: [row]} : {row});
  }
  return found.flatMap((each) => (each.alike?.length === 1 ? [{row: each.alike[0]}] : [each]));
}

/** The text of several identical events. */
export function alikeText(rows) {
  const [first, last] = [rows[0].at, rows.at(-1).at];
  if (first === last)
    return ngettext(
      "{count} identical event in both runs, at {time}",
      "{count} identical events in both runs, at {time}",
      rows.length,
      {time: timeText(first)},
    );
  return ngettext(
    "{count} identical event in both runs, from {from} to {to}",
    "{count} identical events in both runs, from {from} to {to}",
    rows.length,
    {from: moment(first), to: timeText(last)},
  );
}

/**
 * The health of a pod in one run at its moment `at`, from what the spot says of the pod, of the node that it has or is
 * nominated to, of the pods that end there, and of its claims that are refused a volume.
 */
export function spotHealth(id, {pod, host, ending, claims}, at) {
  const place = pod?.node ?? pod?.nominated;
  const entities = new Map(Object.entries(claims ?? {}));
  if (host) entities.set(`node/${place}`, host);
  const nodes = {pods: new Map([[place, new Map(Object.entries(ending ?? {}))]])};
  return podHealth(id, pod ?? undefined, {entities, nodes, at});
}

/** The bars of one run on the common axis. */
export function barsOn({to, counts}) {
  const histogram = new Histogram();
  histogram.reset({to, counts, marks: []});
  return histogram.bars();
}

const RELATIONS = {
  fork: gettext("forks of this run"),
  parent: gettext("the parent run"),
  sibling: gettext("forks of the same run"),
  scenario: gettext("other runs of the scenario"),
  other: gettext("runs of other scenarios"),
};

/** The runs to compare with, in groups [title, runs], the closest related first. */
export function grouped(runs) {
  return Object.entries(RELATIONS)
    .map(([relation, title]) => [title, runs.filter((run) => run.relation === relation)])
    .filter(([, members]) => members.length > 0);
}

/** A run in one line: "#11 what if, v1.34, seed 11, fork of #7 at 30.000 s". */
export function runLine(run) {
  const {id, name, profile, seed, parent, forked_at: forked} = run;
  const isFork = parent !== null && parent !== undefined;
  const parts = [
    `#${id} ${name}`,
    profile,
    gatesText(run.feature_gates),
    run.external_scheduler ? gettext("external scheduler") : "",
    run.external_controllers?.length ? gettext("external controllers") : "",
    gettext("seed {seed}", {seed}),
    isFork ? gettext("fork of #{parent} at {time}", {parent, time: timeText(forked)}) : "",
  ];
  return listText(parts.filter(Boolean));
}

/** A sentence about runs that have not reached the moment shown, or "". */
export function shortfall({at, reached, a, b}) {
  if (at === null || at <= reached) return "";
  const late = [a, b].filter((run) => run.head_at < at && run.status !== "finished");
  return sentences(
    late.map(({id, head_at: head}) =>
      gettext("#{id} has only reached {time} and is compared at that time.", {id, time: timeText(head)}),
    ),
  );
}
