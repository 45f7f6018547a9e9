/**
 * What the film of a cycle shows at a step, beside the board at the step's event. A picture is a value: each step makes a new one
 * from the one before, and nothing else goes into it.
 *
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./film.js").Step} Step
 * @typedef {{look: string, order: number | null, marks: string[] | null, why: string, full: string, fits: boolean,
 *   asks: boolean, short: number, raw: any, sum: any, victims: string[]}} NodePicture
 * @typedef {{nodes: Record<string, NodePicture>, shows: string, far: Record<string, number | string>,
 *   tally: {calls: number, asked: number, wanted: number, reasons: Record<string, number>},
 *   ladder: {seen: number, rungs: number} | null, front: {search: number, from: number, upto: number} | null,
 *   assumed: {claim: string, volume: string}[], writes: number, victims: string[]}} Picture
 */
import {BINDING_PAINTERS} from "./paint_binding.js";
import {DECISION_PAINTERS} from "./paint_decision.js";
import {FILTER_PAINTERS} from "./paint_filter.js";
import {namesOf} from "./nodes.js";

/** @type {Record<string, (picture: any, step: any, film: any) => any>} */
const PAINTERS = {...FILTER_PAINTERS, ...DECISION_PAINTERS, ...BINDING_PAINTERS};

/** A node that no step has said anything about. @type {NodePicture} */
export const IDLE = {
  look: "",
  order: null,
  marks: null,
  why: "",
  full: "",
  fits: false,
  asks: false,
  short: 0,
  raw: null,
  sum: null,
  victims: [],
};

/**
 * The picture of a film at the step in a place.
 *
 * @param {Film} film
 * @param {number} place
 * @returns {Picture}
 */
export function pictureOf(film, place) {
  return film.steps.slice(0, place + 1).reduce((picture, step) => nextPicture(film, picture, step), firstPicture(film));
}

/** The picture after one more step. */
export function nextPicture(film, picture, step) {
  return PAINTERS[step.phase](picture, step, film);
}

/** The picture before the first step. */
export function firstPicture(film) {
  // In a large cluster only the nodes that a step names are drawn one by one.
  const names = film.isLarge ? [] : namesOf(film.answer);
  return {
    nodes: Object.fromEntries(names.map((name) => [name, IDLE])),
    shows: "board",
    far: {},
    tally: {calls: 0, asked: 0, wanted: 0, reasons: {}},
    ladder: null,
    front: null,
    assumed: [],
    writes: 0,
    victims: [],
  };
}
