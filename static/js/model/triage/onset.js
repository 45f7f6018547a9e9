/** When each group began, on one axis that ends at the instant of the files. */
import {listText} from "../../lib/words.js";
import {age, clock, heldText, minutesBetween} from "./words.js";

const TICKS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14_400, 43_200];
const MOST_TICKS = 4;
const MOST_ROWS = 10;
/** Labels that would stand nearer than this part of the axis would cover each other. */
const LABEL = 0.24;

/**
 * The rows, the changes that happened then, and the ticks, each with its `left` from 0 to 1; null where the files
 * name no times.
 */
export function onset({groups, instant, happened = []}) {
  const begun = groups
    .map((group, place) => ({group, place, minutes: minutesBetween(group.since, instant)}))
    .filter(({minutes}) => minutes !== null)
    .sort((one, other) => other.minutes - one.minutes);
  if (begun.length === 0) return null;
  const length = Math.max(begun[0].minutes * 1.08, 1);
  const left = (minutes) => 1 - Math.min(minutes / length, 1);
  return {
    rows: begun.slice(0, MOST_ROWS).map(({group, place, minutes}) => ({
      place,
      label: rowLabel(group),
      left: left(minutes),
      age: age(minutes),
      isHeld: group.kind === "placed-but-stuck" && group.contradicts,
    })),
    marks: marks(happened, instant, length, left),
    ticks: ticks(instant, length, left),
  };
}

function rowLabel(group) {
  return listText([heldText(group), group.short]);
}

function marks(happened, instant, length, left) {
  let end = -1;
  return happened
    .map(({at, text}) => ({at, text, minutes: minutesBetween(at, instant)}))
    .filter(({minutes}) => minutes !== null && minutes <= length)
    .map(({at, text, minutes}) => {
      const place = left(minutes);
      const turned = place > 0.6;
      const begins = turned ? place - LABEL : place;
      const fits = begins >= end;
      if (fits) end = begins + LABEL;
      return {left: place, label: fits ? shortText(text) : "", title: listText([text, clock(at, instant)]), turned};
    });
}

/** "web scaled from 12 to 21" of "deployment shop/web scaled from 12 to 21". */
function shortText(text) {
  return text.replace(/^(\w+) (?:[^\s/]+\/)?/, "");
}

function ticks(instant, length, left) {
  const step = TICKS.find((each) => length / each <= MOST_TICKS) ?? TICKS[TICKS.length - 1];
  const end = Date.parse(instant);
  const found = [{left: 1, text: instant.slice(11, 16)}];
  // Whole steps of the clock, not of the axis.
  for (let at = Math.floor(end / 60_000 / step) * step; ; at -= step) {
    const minutes = end / 60_000 - at;
    if (minutes > length) break;
    if (left(minutes) < 0.9) found.push({left: left(minutes), text: tickText(at, step)});
  }
  return found.reverse();
}

function tickText(minutes, step) {
  const iso = new Date(minutes * 60_000).toISOString();
  return step < 1440 ? iso.slice(11, 16) : iso.slice(5, 10);
}
