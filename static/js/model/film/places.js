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
};

/** {file, function, title} of a step; the title is that of the page Inside. */
export function phaseAt(answer, step) {
  const name = TOLD[step.phase] ?? step.phase;
  const {file = "", function: code = ""} = answer.phases.find((phase) => phase.name === name) ?? {};
  const inside = stepsOf(answer).find(({id}) => id === insideStep(step));
  return {file, function: code, title: inside?.title ?? ""};
}
