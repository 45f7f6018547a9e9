import {gettext} from "../../lib/words.js";
import {count, timeText} from "../shared/format.js";

const MIB = 1024 * 1024;
const UNITS = {d: 86_400, h: 3_600, m: 60, s: 1};

/** The parts of a budget in the order in which they are shown. */
export const PARTS = ["events", "objects", "time", "memory"];

/** How much was used of a part, as people read it. */
export function usedText(part, amount) {
  if (part === "time") return `${timeText(amount)}`;
  if (part === "memory") return amount ? `${count(Math.round(amount / MIB))} MiB` : gettext("not measured yet");
  return count(amount);
}

/** The text in the field of a part: a count, a duration such as 30d, or MiB. */
export function fieldText(part, amount) {
  if (part === "memory") return String(Math.round(amount / MIB));
  return part === "time" ? durationText(amount) : String(amount);
}

function durationText(nanoseconds) {
  const seconds = nanoseconds / 1e9;
  const unit = Object.keys(UNITS).find((name) => seconds >= UNITS[name] && seconds % UNITS[name] === 0);
  return unit ? `${seconds / UNITS[unit]}${unit}` : `${seconds}s`;
}

/** The amount typed for a part, or null if the text is not an amount. */
export function parseAmount(part, text) {
  const typed = text.trim().replaceAll(",", "");
  const amount = part === "time" ? parseDuration(typed) : parseCount(typed, part === "memory" ? MIB : 1);
  return amount !== null && amount > 0 && Number.isSafeInteger(amount) ? amount : null;
}

function parseCount(text, unit) {
  return /^\d+$/.test(text) ? Number(text) * unit : null;
}

function parseDuration(text) {
  if (!/^(\d+(\.\d+)?[dhms])+$/.test(text)) return null;
  let seconds = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)([dhms])/g)) seconds += Number(amount) * UNITS[unit];
  return Math.round(seconds * 1e9);
}

/**
 * {changes, wrong}: the parts whose texts differ from *budget*, as the server takes them, and "". With a
 * text that is not an amount, `changes` is null and `wrong` names its part.
 */
export function budgetChanges(budget, texts) {
  const changes = {};
  for (const part of PARTS) {
    const amount = parseAmount(part, texts[part] ?? "");
    if (amount === null) return {wrong: part, changes: null};
    // An untouched field keeps its exact amount, even where its text is rounded.
    if ((texts[part] ?? "") !== fieldText(part, budget[part])) changes[part] = amount;
  }
  return {wrong: "", changes};
}
