/** The changes of a group in the order in which an expert would offer them, and what each has shown. */
import {gettext} from "../../lib/words.js";

const MOST_LETTERS = 60;

/** The commands that carry out a change in a fork; none where it cannot be shown. */
export function commandsOf(change) {
  return change.commands ?? [];
}

/** Whether a change places every pod of its group. */
export function placesAll({places, of}) {
  return places !== null && places === of;
}

/**
 * The changes by class, as {best, others, smaller, shared, loses}: `best` is null where none is harmless, `others`
 * do the same in another way, `smaller` place fewer. What touches others or loses something is kept apart.
 */
export function byClass(changes) {
  const harmless = changes.filter(({loses, shared}) => !loses && !shared);
  const [best = null, ...rest] = harmless;
  return {
    best,
    others: rest.filter((change) => change.places === null || placesAll(change)),
    smaller: rest.filter((change) => change.places !== null && !placesAll(change)),
    shared: changes.filter(({loses, shared}) => shared && !loses),
    loses: changes.filter(({loses}) => loses),
  };
}

/** How a change is marked: what was tried and places all, some, or was not tried. */
export function changeLook(change) {
  if (change.places === null) return {mark: "outside", family: "held", look: "untried"};
  if (placesAll(change)) return {mark: "vbound", family: "settled", look: "ok"};
  return {mark: "half", family: "promised", look: "part"};
}

/** What a trial has shown, in words. */
export function proofWords({places, of}) {
  if (places === null) return gettext("not tried: no scheduler can show what it does");
  return gettext("tried: places {places} of {of}", {places, of});
}

/** A change as an overview names it: "4 nodes like general-a1". */
export function shortChange({text}) {
  const [order] = text.split(" in the template of ");
  const words = order.replace(/^Add (?=\d)/, "");
  if (words.length <= MOST_LETTERS) return words;
  return `${words.slice(0, MOST_LETTERS).replace(/[\s,(]+\S*$/, "")} …`;
}

/** The change that an overview shows for a group, or null. */
export function firstChange({changes}) {
  return byClass(changes).best ?? changes[0] ?? null;
}

/**
 * The commands that carry out the changes that were tried together, as one list; empty where one of them cannot be
 * carried out.
 */
export function togetherCommands({groups, together}) {
  const each = together.changes.map(({group, text}) => {
    const change = groups[group].changes.find((found) => found.text === text);
    return change ? commandsOf(change) : [];
  });
  return each.every((commands) => commands.length > 0) ? each.flat() : [];
}
