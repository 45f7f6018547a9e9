import {ngettext} from "../../lib/words.js";

/**
 * The rules of the page of versions: {area, plugin, values}, with one value for each version. A choice is
 * {area, plugin, versions, differences}: "" stands for every area or plugin, `versions` are the places of the
 * versions to compare, and `differences` leaves out the rules in which these are equal.
 */
export function isShown(rule, choice) {
  if (choice.area && rule.area !== choice.area) return false;
  if (choice.plugin && rule.plugin !== choice.plugin) return false;
  return !choice.differences || differs(rule, choice.versions);
}

function differs({values}, versions) {
  return new Set(versions.map((place) => values[place])).size > 1;
}

/** "64 of 170 rules". */
export function countLine(shown, all) {
  return ngettext("{shown} of {count} rule", "{shown} of {count} rules", all, {shown});
}
