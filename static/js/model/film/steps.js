/**
 * The steps of a film, in upstream's order, from what the server tells of a cycle (docs/inside.md) and from the events
 * that followed it.
 *
 * A step is {phase, at, seq, …}: `at` is its time in ns, `seq` the event after which the board is drawn; more fields
 * say which part of the answer it is about. What follows Host is in `binding_steps.js`.
 */
import {gettext} from "../../lib/words.js";
import {MOST_ROWS} from "../inside/cycle_filter.js";
import {bindingSteps} from "./binding_steps.js";
import {failureSteps} from "./failure_steps.js";

/** In a large cluster a step of Filter is such a part of the search. */
const PARTS = 10;

/** All steps of a film, without their numbers. */
export function rawSteps(answer, events) {
  const {at} = phaseOf(answer, "pop");
  const began = {at, seq: answer.seq};
  return [
    {phase: "pop", ...began, seq: answer.seq - 1, isBefore: true},
    {phase: "pop", ...began, isBefore: false},
    ...(answer.snapshot ? [{phase: "snapshot", ...began}] : []),
    ...(answer.order ? [{phase: "order", ...began}] : []),
    ...answer.pre_filter.map((_, plugin) => ({phase: "prefilter", ...began, plugin})),
    ...filterSteps(answer).map((step) => ({...began, ...step})),
    ...preemptionSteps(answer).map((step) => ({...began, ...step})),
    ...scoreSteps(answer).map((step) => ({...began, ...step})),
    ...hostSteps(answer).map((step) => ({...began, ...step})),
    ...bindingSteps(answer, events),
    ...failureSteps(answer, events),
  ];
}

/** A phase of the answer by its name. */
export function phaseOf({phases}, name) {
  return phases.find((phase) => phase.name === name) ?? {state: gettext("not reached"), at: null, seq: null};
}

/** Whether a film of so many nodes draws strips instead of cards. */
export function isLarge({order, filter}) {
  const looked = Math.max(0, ...(filter?.searches ?? []).map(({nodes}) => nodes.length));
  return Math.max(order?.searched.order.length ?? 0, looked) > MOST_ROWS;
}

function filterSteps(answer) {
  const searches = answer.filter?.searches ?? [];
  return searches.flatMap((one, search) => {
    const size = isLarge(answer) ? Math.max(1, Math.ceil(one.nodes.length / PARTS)) : 1;
    const steps = [];
    for (let from = 0; from < one.nodes.length; from += size)
      steps.push({phase: "filter", search, from, upto: Math.min(one.nodes.length, from + size)});
    return steps;
  });
}

function preemptionSteps({post_filter: found}) {
  if (!found) return [];
  const {dry_runs: runs, outcome} = found;
  return [
    {phase: "postfilter"},
    ...runs.map((_, run) => ({phase: "dryrun", run})),
    ...outcome.rungs.map((_, rung) => ({phase: "ladder", rung})),
  ];
}

function scoreSteps({score}) {
  if (!score?.is_compared) return [];
  const each = (phase) => score.plugins.map((_, plugin) => ({phase, plugin}));
  const isNormalized = score.plugins.some(({normalizes}) => normalizes);
  return [{phase: "prescore"}, ...each("score"), ...(isNormalized ? [{phase: "normalize"}] : []), ...each("sum")];
}

function hostSteps({host}) {
  if (!host) return [];
  const draw = host.tied.length > 1 ? [{phase: "host", isDrawn: true}] : [];
  return [{phase: "host", isDrawn: false}, ...draw];
}
