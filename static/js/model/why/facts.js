import {gettext} from "../../lib/words.js";
import {parseId} from "../shared/format.js";

const LONGEST = 96;

/**
 * A field's value as it is written: text in quotes, a missing field as "not set"; a long list or object is
 * cut, and `whole` is then all of it.
 */
export function valueWords(value) {
  if (value === null || value === undefined) return {text: gettext("not set"), whole: ""};
  const whole = JSON.stringify(value);
  if (whole.length <= LONGEST) return {text: whole, whole: ""};
  return {text: `${whole.slice(0, LONGEST)}…`, whole};
}

/** A fact as {object, name, field, value, compared}; `compared` is null where nothing was compared. */
export function factParts({object, field, value, compared_with: compared}) {
  const {kind, key} = parseId(object);
  return {
    object,
    name: `${kind} ${key}`,
    field,
    value: valueWords(value),
    compared: compared === null || compared === undefined ? null : valueWords(compared),
  };
}

/** The ids of the quotas that the facts of a diagnosis name, each once. */
export function quotasIn({causes}) {
  const named = causes.flatMap(({because}) => because.map(({object}) => object));
  return [...new Set(named.filter((id) => id.startsWith("resourcequota/")))];
}
