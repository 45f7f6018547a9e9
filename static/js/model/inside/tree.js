import {gettext} from "../../lib/words.js";

/**
 * A function of the PV controller as lines: the way taken is lit, what was not taken stays readable, and a part that
 * is long and was not taken is folded.
 */

/** A part with at least so many lines below it is folded. */
const LONG = 3;

/**
 * The lines to draw of one tree: {id, depth, kind, text, isLit, isEnd, read, folded}. `read` is what was read at a
 * line, undefined if nothing is; `folded` is the number of ends that are hidden below it, 0 if none are.
 */
export function linesOf({lines}, {way, read}, opened = new Set()) {
  const lit = new Set(way);
  const drawn = [];
  let hiddenBelow = Infinity;
  for (const [place, line] of lines.entries()) {
    if (line.depth > hiddenBelow) continue;
    hiddenBelow = Infinity;
    const below = belowOf(lines, place);
    const isLong = !lit.has(line.id) && below.length >= LONG;
    const isFolded = isLong && !opened.has(line.id);
    if (isFolded) hiddenBelow = line.depth;
    drawn.push({
      ...line,
      isLit: lit.has(line.id),
      isEnd: line.kind === "end",
      isLong,
      read: lit.has(line.id) ? read[line.id] : undefined,
      folded: isFolded ? below.filter(({kind}) => kind === "end").length : 0,
    });
  }
  return drawn;
}

/** The lines that belong to the one at `place`. */
function belowOf(lines, place) {
  const end = lines.findIndex(({depth}, index) => index > place && depth <= lines[place].depth);
  return lines.slice(place + 1, end < 0 ? lines.length : end);
}

/** What was read, in words: an absent value is said to be absent, and of a uid the beginning is enough. */
export function readWords(value) {
  return value === "" ? gettext("absent") : value.replace(/\buid ([0-9a-f]{8})[0-9a-f-]+/, "uid $1…");
}
