import {Answers} from "./answers.js";
import {History} from "./history.js";
import {Insides} from "./insides.js";

/** What an attempt is listed with, in the order of its values in the file; the last is the place of its evidence. */
const ATTEMPT = ["pod", "number", "seq", "at", "cycle", "result", "node", "evidence"];

/** Reads what a document recorded: JSON in script elements, each read when it is needed. @param {ParentNode} within */
export function answersIn(within) {
  const heading = partOf(within, "heading");
  const chunks = partsOf(within, "events").map((part) => ({
    first: Number(part.dataset.first),
    at: Number(part.dataset.at),
    read: () => contentOf(part),
  }));
  const keyframes = partsOf(within, "keyframe").map((part) => ({
    seq: Number(part.dataset.seq),
    at: Number(part.dataset.at),
    read: () => contentOf(part),
  }));
  const history = new History({chunks, keyframes, head: heading.head});
  return new Answers({
    run: partOf(within, "run"),
    history,
    histogram: heading.histogram,
    attempts: partsOf(within, "attempts")
      .flatMap(contentOf)
      .map((values, id) => ({id, ...Object.fromEntries(ATTEMPT.map((name, i) => [name, values[i]]))})),
    evidenceOf: (id) => optionalPart(within, `[data-recorded="evidence"][data-attempt="${id}"]`),
    whys: partOf(within, "whys"),
    lanesOf: () => partOf(within, "lanes"),
    pathsOf: () => partOf(within, "paths"),
    looksOf: () => partOf(within, "looks"),
    insides: new Insides({
      history,
      cycles: heading.cycles,
      objects: heading.insides,
      cycleOf: (seq) => optionalPart(within, `[data-recorded="cycle"][data-seq="${seq}"]`),
      objectOf: (place) => optionalPart(within, `[data-recorded="inside"][data-place="${place}"]`),
    }),
  });
}

/** @param {ParentNode} within @param {string} name @returns {HTMLElement[]} */
function partsOf(within, name) {
  return [...within.querySelectorAll(`script[data-recorded="${name}"]`)].filter((part) => part instanceof HTMLElement);
}

function partOf(within, name) {
  return contentOf(partsOf(within, name)[0]);
}

function contentOf(part) {
  return JSON.parse(part.textContent);
}

/** What the part says that a selector names; null for none. @param {ParentNode} within @param {string} selector */
function optionalPart(within, selector) {
  const part = within.querySelector(`script${selector}`);
  return part ? contentOf(part) : null;
}
