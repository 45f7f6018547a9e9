import {Answers} from "./answers.js";
import {History} from "./history.js";

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
  return new Answers({
    run: partOf(within, "run"),
    history: new History({chunks, keyframes, head: heading.head}),
    histogram: heading.histogram,
    attempts: partsOf(within, "attempts")
      .flatMap(contentOf)
      .map((values, id) => ({id, ...Object.fromEntries(ATTEMPT.map((name, i) => [name, values[i]]))})),
    evidenceOf: (id) => evidenceIn(within, id),
    whys: partOf(within, "whys"),
    lanesOf: () => partOf(within, "lanes"),
    pathsOf: () => partOf(within, "paths"),
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

/** The evidence of the attempt in a place; null for none. @param {ParentNode} within @param {number} id */
function evidenceIn(within, id) {
  const part = within.querySelector(`script[data-recorded="evidence"][data-attempt="${id}"]`);
  return part ? contentOf(part) : null;
}
