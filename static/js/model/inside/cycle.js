import {gettext} from "../../lib/words.js";

/**
 * One scheduling cycle as the server tells it (docs/inside.md), as the steps of its page. A step is an address:
 * `?cycle=6&step=score`.
 */

/** The steps in upstream's order, and the phases of the answer that each one is made of. */
const STEPS = [
  {id: "pop", title: "Pop", phases: ["pop"]},
  {id: "snapshot", title: gettext("Snapshot"), phases: ["snapshot"]},
  {id: "order", title: gettext("Node order"), phases: ["order"]},
  {id: "prefilter", title: "PreFilter", phases: ["pre_filter"]},
  {id: "filter", title: "Filter", phases: ["filter"]},
  {id: "postfilter", title: "PostFilter", phases: ["post_filter"]},
  {id: "score", title: "Score", phases: ["score"]},
  {id: "host", title: gettext("Select host"), phases: ["host"]},
  {id: "assume", title: "Assume, Reserve", phases: ["assume", "reserve"]},
  {id: "permit", title: "Permit", phases: ["permit"]},
  {id: "prebind", title: "PreBind", phases: ["pre_bind"]},
  {id: "bind", title: "Bind", phases: ["bind", "post_bind"]},
];

/** v1.11 has no extension points: before it assumes a pod, its volumes go through the BindQueue. */
const WITH_BIND_QUEUE = [
  ...STEPS.slice(0, 8),
  {id: "bindqueue", title: "BindQueue", phases: ["bind_queue", "reserve"]},
  {id: "assume", title: "Assume", phases: ["assume"]},
  {id: "bind", title: "Bind", phases: ["bind"]},
];

/** What runs beside the next cycles. */
const BINDING = ["prebind", "bind"];
/** With no plugin that has work there, the pod goes through all the same. */
const MAY_BE_EMPTY = ["bindqueue", "permit", "prebind"];
const LAST_OF_FAILURE = "postfilter";

/** Whether the cycle is over: its pod is bound, or back in the queue, or gone. */
export function hasEnded({bind, queue}) {
  const left = queue.after.some(({place, event}) => place !== "" || event !== "Done");
  return bind?.code === "Success" || queue.requeued !== null || left;
}

/** Whether the pod came back to the queue. */
export function hasFailed({bind, queue}) {
  return bind?.code !== "Success" && (queue.requeued !== null || queue.after.some(({place}) => place !== ""));
}

/** Whether volumes are bound in rounds, as in v1.11. */
export function hasBindQueue({phases}) {
  return phases.some(({name}) => name === "bind_queue");
}

/**
 * The steps of a cycle: {id, title, band, state, isFailure, at, seq, file, function, callers}. The state is "done", "idle" (passed
 * with nothing to do), "off" (not reached) or "ahead" (the cycle has not come to it). A cycle that failed
 * ends at PostFilter, or later at the step that failed.
 */
export function stepsOf(answer) {
  const phases = new Map(answer.phases.map((phase) => [phase.name, phase]));
  const all = (hasBindQueue(answer) ? WITH_BIND_QUEUE : STEPS).map((step) => joined(step, phases));
  const last = all.findLastIndex(({state}) => state === "done");
  const over = hasEnded(answer);
  const steps = all.map((step, place) => ({...step, state: stateOf(step, {place, last, over}, answer)}));
  if (!hasFailed(answer)) return steps;
  const end = Math.max(
    last,
    steps.findIndex(({id}) => id === LAST_OF_FAILURE),
  );
  return steps.slice(0, end + 1).map((step, place) => ({...step, isFailure: place === last}));
}

function joined({id, title, phases: names}, phases) {
  const own = names.map((name) => phases.get(name)).filter(Boolean);
  const {state, at, seq, file, function: name, callers} = own.find((phase) => phase.state === "done") ?? own[0];
  const band = BINDING.includes(id) ? "binding" : "scheduling";
  return {id, title, band, state, at, seq, file, function: name, callers, isFailure: false};
}

function stateOf({id, state}, {place, last, over}, {score}) {
  if (id === "score" && state === "done" && !score.is_compared) return "idle";
  if (state === "done") return "done";
  if (state === "nothing to do") return "idle";
  if (place < last && MAY_BE_EMPTY.includes(id)) return "idle";
  return over || place < last ? "off" : "ahead";
}

/** The event after which a step ended: its own, or that of the nearest step before it. */
export function seqOf(steps, place) {
  return steps.slice(0, place + 1).findLast(({seq}) => seq !== null)?.seq ?? null;
}

/** Which step of a cycle is shown: the one that is named, unless the play head is at another; else the newest up to it. */
export function placeOf(steps, named, seq) {
  const chosen = steps.findIndex(({id, state}) => id === named && state !== "ahead");
  const last = steps.findLastIndex(({state}) => state === "done");
  const isInside = seq !== null && seq < steps[last].seq;
  if (chosen >= 0 && (!isInside || seqOf(steps, chosen) === seq)) return chosen;
  if (!isInside) return last;
  return Math.max(
    0,
    steps.findLastIndex((step) => step.seq !== null && step.seq <= seq),
  );
}

/** The nearest step that can be opened in a direction, or the same place. */
export function stepFrom(steps, place, by) {
  const open = steps.flatMap(({state}, each) => (state === "ahead" ? [] : [each]));
  const at = open.indexOf(place) + by;
  return open[Math.max(0, Math.min(open.length - 1, at))] ?? place;
}

/** When a band began and ended, in ns: {began, ended}; the end is null while it runs. */
export function spanOf(answer, band) {
  const at = (name) => answer.phases.find((phase) => phase.name === name)?.at ?? null;
  const assumed = at("assume");
  if (band === "binding") return {began: assumed, ended: at("bind")};
  const ended = assumed ?? (hasEnded(answer) ? answer.steps.at(-1).at : null);
  return {began: at("pop"), ended};
}

/** What marks the step in which something was told. */
const TOLD_AT = {
  Popped: "pop",
  SnapshotTaken: "snapshot",
  NodesOrdered: "order",
  PreFilterAnswer: "prefilter",
  Filtered: "filter",
  PostFiltered: "postfilter",
  Scored: "score",
  HostChosen: "host",
  Assumed: "assume",
  VolumesAssumed: "assume",
  RoundMade: "bindqueue",
  VolumesLooked: "prebind",
  VolumesWritten: "prebind",
  Bound: "bind",
};

/** The id of the step during which the `turn`-th `kind` was told, counted from the end with -1; "" if it was not. */
export function stepOfTold(steps, kind, turn) {
  const places = steps.flatMap((step, place) => (step.kind === kind ? [place] : []));
  const place = places.at(turn);
  if (place === undefined) return "";
  const marks = steps.slice(0, place + 1).flatMap((step) => TOLD_AT[step.kind] ?? []);
  // The worker of the BindQueue writes within the round of the pod.
  return (marks.includes("bindqueue") && !marks.includes("bind") ? "bindqueue" : marks.at(-1)) ?? "";
}
