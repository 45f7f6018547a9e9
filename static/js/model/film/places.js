/** The code of upstream that runs at a step, and where Inside has the step. */
import {stepsOf} from "../inside/cycle.js";
import {insideStep} from "./words.js";

/** The phases of the answer by those of the film, where the names differ. */
const TOLD = {
  prefilter: "pre_filter",
  postfilter: "post_filter",
  dryrun: "post_filter",
  ladder: "post_filter",
  prescore: "score",
  normalize: "score",
  sum: "score",
  bindqueue: "bind_queue",
  waitonpermit: "permit",
  prebind: "pre_bind",
  postbind: "post_bind",
  unreserve: "reserve",
  forget: "assume",
  evict: "post_filter",
  fail: "pop",
  nominate: "post_filter",
  wait: "pop",
  again: "pop",
  leave: "post_filter",
};

/**
 * The code that runs at a step, from the outermost in: [{file, function}].
 *
 * @param {import("./film.js").Film} film
 */
export function stackOf({kind, answer}, step) {
  if (kind === "claim") return step.told.stack;
  const name = TOLD[step.phase] ?? step.phase;
  const {file, function: code} = answer.phases.find((phase) => phase.name === name);
  return [{file, function: code}];
}

/** The step of Inside that a step belongs to: {page, title, place}, where the place goes into its address. */
export function insideOf({kind, answer}, step) {
  if (kind === "claim")
    return {page: "inside-volumes", title: step.told.function, place: {claim: answer.entity, step: step.told.id}};
  const id = insideStep(step);
  const title = stepsOf(answer).find((each) => each.id === id)?.title ?? id;
  return {
    page: "inside-scheduler",
    title,
    place: {cycle: answer.cycle, pod: `pod/${answer.pod}`, claim: null, step: id},
  };
}
