/**
 * The words of pages. Each text is a whole sentence of the catalogue, with named places: gettext("Open {pod}.", {pod}).
 * The module "#words" holds the sentences of the reader's language, and none for English, in which they are written.
 */
import {isStrict, language, messages, plural} from "#words";

export {language};

const NUMBER = new Intl.NumberFormat(language);
/** A place, or words between <name> and </name>. */
const PLACE = /\{(\w+)\}|<(\w+)>(.*?)<\/\2>/g;

/**
 * A sentence in the reader's language, with its places filled. A place takes a text or a number as it is. With nodes of
 * a page among the places the result is an array for a page: {pod: html`<a …>`} fills `{pod}`, and the function
 * {link: (words) => html`<a …>${words}</a>`} is given the words between `<link>` and `</link>`.
 *
 * @overload
 * @param {string} message
 * @param {Record<string, string | number>} [places]
 * @returns {string}
 */
/**
 * @overload
 * @param {string} message
 * @param {Record<string, any>} places
 * @returns {any}
 */
/**
 * @param {string} message
 * @param {Record<string, any>} [places]
 */
export function gettext(message, places) {
  return filled(messages[message]?.[0] ?? message, places);
}

/**
 * A sentence that depends on a number, which its place {count} shows.
 *
 * @overload
 * @param {string} one
 * @param {string} many
 * @param {number} number
 * @param {Record<string, string | number>} [places]
 * @returns {string}
 */
/**
 * @overload
 * @param {string} one
 * @param {string} many
 * @param {number} number
 * @param {Record<string, any>} places
 * @returns {any}
 */
/**
 * @param {string} one
 * @param {string} many
 * @param {number} number
 * @param {Record<string, any>} [places]
 */
export function ngettext(one, many, number, places) {
  const form = Number(plural(number));
  const message = messages[one]?.[form] ?? (number === 1 ? one : many);
  const count = message.includes("{count}") || places?.count !== undefined ? {count: NUMBER.format(number)} : {};
  return filled(message, {...count, ...places});
}

/**
 * Marks a sentence for the catalogue where it stands in a table, to be filled later by `gettextOf`.
 *
 * @param {string} message
 */
export function gettextNoop(message) {
  return message;
}

/**
 * A sentence that `gettextNoop` has marked, with those of the facts that it has places for.
 *
 * @param {string} message
 * @param {Record<string, string | number>} facts
 */
export function gettextOf(message, facts) {
  const names = [...message.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  // eslint-disable-next-line words/whole -- it was a literal where it was marked
  return message && gettext(message, Object.fromEntries(names.map((name) => [name, facts[name]])));
}

/* eslint-disable words/whole -- what stands between texts is a message of its own */

/** Texts in a row: "a, b, c". @param {Iterable<string | number>} texts @returns {string} */
export function listText(texts) {
  // Translators: Stands between the members of a list.
  return [...texts].join(gettext(", "));
}

/** Nodes of a page in a row, as `listText`. @param {any[]} nodes @returns {any[]} */
export function listParts(nodes) {
  return nodes.flatMap((node, i) => (i === 0 ? [node] : [gettext(", "), node]));
}

/** Whole sentences in a row, of which some may be missing. @param {Iterable<any>} texts @returns {string} */
export function sentences(texts) {
  // Translators: Stands between two sentences.
  return [...texts].filter(Boolean).join(gettext(" "));
}

/** Texts in a row of which each could be a sentence: "a; b". @param {Iterable<any>} texts @returns {string} */
export function clauses(texts) {
  // Translators: Stands between two parts of a sentence of which each could be one.
  return [...texts].filter(Boolean).join(gettext("; "));
}

/* eslint-enable words/whole */

/** A text with the name of what it is about: "web: no node fits"; the name alone where there is no text. */
export function labelled(name, text) {
  // Translators: A name, and what is said of it.
  return text || text === 0 ? gettext("{name}: {text}", {name, text}) : name;
}

/** A text of the catalogue where a sentence begins. Not for what may begin with a name, which stays as it is. */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function filled(message, places = {}) {
  if (isStrict) check(message, places);
  if (Object.values(places).some(isOfPage)) return filledParts(message, places);
  return message.replace(PLACE, (whole, name) => String(places[name] ?? whole));
}

function isOfPage(value) {
  return typeof value === "object" || typeof value === "function";
}

function filledParts(message, places) {
  const parts = [];
  let end = 0;
  for (const found of message.matchAll(PLACE)) {
    const [whole, name, element, inner] = found;
    parts.push(
      message.slice(end, found.index),
      element ? elementOf(whole, places[element], inner, places) : places[name],
    );
    end = found.index + whole.length;
  }
  return [...parts, message.slice(end)].filter((part) => part !== "");
}

function elementOf(whole, make, inner, places) {
  return typeof make === "function" ? make(filledParts(inner, places)) : whole;
}

/** Every place of the message is given, and every one that is given is in the message. */
function check(message, places) {
  const names = new Set([...message.matchAll(/\{(\w+)\}|<(\w+)>/g)].map(([, place, element]) => place ?? element));
  for (const name of names)
    if (places[name] === undefined || places[name] === null) throw new Error(`"${message}" has no value for ${name}`);
  for (const name of Object.keys(places))
    if (!names.has(name)) throw new Error(`"${message}" has no place for ${name}`);
}
