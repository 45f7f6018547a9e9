/**
 * A film: one scheduling cycle as a list of steps. What is on screen is a function of the film and the number of a
 * step alone (`picture.js`), so that forwards, backwards and a link agree.
 */
import {gettext} from "../../lib/words.js";
import {hasEnded} from "../inside/cycle.js";
import {numbered} from "./numbered.js";
import {rawSteps, isLarge} from "./steps.js";

/**
 * A step of a film. `id` is its phase and its number `n` of `of` in it; `isStill` is whether it is in presentation
 * time, where the clock stands. Further fields say which part of the answer it is about.
 *
 * @typedef {{id: string, phase: string, n: number, of: number, place: number, at: number, seq: number,
 *   isStill: boolean, [more: string]: any}} Step
 * @typedef {{kind: string, answer: any, events: any[], steps: Step[], isLarge: boolean, isOver: boolean, bands: Band[]}} Film
 * @typedef {{title: string, isReal: boolean, phases: {phase: string, steps: Step[]}[]}} Band
 */

/** The phases of the scheduling cycle, all of which share one instant up to Assume. */
const DECIDED = [
  ...["pop", "snapshot", "order", "prefilter", "filter", "postfilter", "dryrun", "ladder"],
  ...["prescore", "score", "normalize", "sum", "host"],
];
const RESERVED = ["assume", "reserve", "permit"];
const BINDING = ["waitonpermit", "prebind", "bind", "postbind"];
const AFTER = ["unreserve", "forget", "evict", "fail", "nominate", "wait", "again", "leave"];
/** Drawn although it has no step: the pod came past it, or was stopped before it. */
const HATCHED = ["filter", "postfilter", "score", "assume", "bind"];

/**
 * The film of a cycle as the server tells it, and of the events of its pod, its volumes and its victims.
 *
 * @returns {Film}
 */
export function filmOf(answer, events) {
  // Up to Select host nothing has a time of its own.
  const raw = rawSteps(answer, events).map((step) => (DECIDED.includes(step.phase) ? {...step, isStill: true} : step));
  const steps = numbered(raw);
  return {
    kind: "cycle",
    answer,
    events,
    steps,
    isLarge: isLarge(answer),
    isOver: hasEnded(answer),
    bands: bandsOf(steps),
  };
}

/** The strip: a band for each kind of time, in it the phases with their steps; a phase without any is hatched. */
function bandsOf(steps) {
  const has = (phase) => steps.some((step) => step.phase === phase);
  const rounds = has("bindqueue");
  const bands = [
    {title: gettext("scheduling cycle"), isReal: false, names: [...DECIDED, ...(rounds ? [] : RESERVED)]},
    ...(rounds ? [{title: "BindQueue", isReal: true, names: ["bindqueue", ...RESERVED]}] : []),
    {title: gettext("binding cycle"), isReal: true, names: BINDING},
    {title: gettext("afterwards"), isReal: true, names: AFTER},
  ];
  return bands
    .map(({title, isReal, names}) => ({
      title,
      isReal,
      phases: names
        .filter((phase) => has(phase) || (HATCHED.includes(phase) && names.some(has)))
        .map((phase) => ({phase, steps: steps.filter((step) => step.phase === phase)})),
    }))
    .filter(({phases}) => phases.some((phase) => phase.steps.length > 0));
}

/** The place of the step that an address names: a phase alone is its first step, an unknown one the first of all. */
export function placeOfStep({steps}, name) {
  return Math.max(
    0,
    steps.findIndex(({id}) => id === name || id === `${name}.1`),
  );
}

/** The place of the first step of the phase before or after; back goes to the begin of its own phase first. */
export function placeOfPhase({steps}, place, by) {
  const first = beginOf(steps, place);
  if (by < 0) return place > first ? first : beginOf(steps, Math.max(0, first - 1));
  const next = steps.findIndex(({phase}, each) => each > place && phase !== steps[place].phase);
  return next < 0 ? steps.length - 1 : next;
}

/** The place at which the phase of a step began. */
function beginOf(steps, place) {
  return steps.findLastIndex(({phase}, each) => each < place && phase !== steps[place].phase) + 1;
}
