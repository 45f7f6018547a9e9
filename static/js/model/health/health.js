import {capital} from "../../lib/words.js";

/**
 * A health: {state, place, mark, family, words, detail}.
 *
 *   well     nothing is missing              failing  something failed and is tried again
 *   waiting  it goes on by itself            stuck    somebody has to do something
 *
 * `words` are the same on every page, `detail` is a longer form of them. `place` is the group of the pod list.
 *
 * @typedef {"well" | "waiting" | "failing" | "stuck"} State
 *
 * @param {State} state
 * @param {string} place
 * @param {string[]} look The mark, its family and the words.
 * @param {string} [detail]
 */
export function healthIs(state, place, [mark, family, words], detail = words) {
  return {state, place, mark, family, words, detail};
}

/** A health whose detail begins with a name, which stays as it is written. */
export function opensWithName(health) {
  return {...health, isNamed: true};
}

/** The detail of a health where a sentence begins. */
export function openingOf({detail, isNamed}) {
  return isNamed ? detail : capital(detail);
}
