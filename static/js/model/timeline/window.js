/** The window of time that a timeline shows: {start, end} in ns, within a run that ends at `end`. */

/** No window is shorter, in ns. */
export const SHORTEST = 100_000;
/** A path is shown with so much of its length before and after it. */
const MARGIN = 0.06;

/** The window of the whole run. */
export function wholeOf(end) {
  return {start: 0, end: Math.max(end, SHORTEST)};
}

/** The window that shows a path with a little around it. */
export function fitted({from, to}, end) {
  const margin = Math.max((to - from) * MARGIN, SHORTEST);
  return within({start: from - margin, end: to + margin}, end);
}

/** The window `factor` times as long; the moment `at` stays where it is. */
export function zoomed(window, factor, at, end) {
  const length = window.end - window.start;
  const wanted = Math.min(Math.max(length * factor, SHORTEST), wholeOf(end).end);
  const part = (at - window.start) / length;
  return within({start: at - wanted * part, end: at - wanted * part + wanted}, end);
}

/** The window so many ns later, or earlier. */
export function moved(window, by, end) {
  return within({start: window.start + by, end: window.end + by}, end);
}

/** The window of the same length that has the moment `at` in its middle. */
export function centred(window, at, end) {
  const half = (window.end - window.start) / 2;
  return within({start: at - half, end: at + half}, end);
}

/** The window with its start or its end dragged to the moment `at`. */
export function stretched(window, edge, at, end) {
  const last = wholeOf(end).end;
  const to = Math.min(Math.max(at, 0), last);
  if (edge === "start") return {start: Math.round(Math.min(to, window.end - SHORTEST)), end: window.end};
  return {start: window.start, end: Math.round(Math.max(to, window.start + SHORTEST))};
}

/** Where the moment `at` is in a window that is `width` pixels wide. */
export function pixelOf(at, {start, end}, width) {
  return ((at - start) / (end - start)) * width;
}

/** The moment at a pixel of it. */
export function momentAt(pixel, {start, end}, width) {
  return Math.round(start + (pixel / width) * (end - start));
}

/** Moved into the run, and shortened where the run is shorter. */
function within({start, end}, runEnd) {
  const last = wholeOf(runEnd).end;
  const length = Math.min(end - start, last);
  const begin = Math.min(Math.max(start, 0), last - length);
  return {start: Math.round(begin), end: Math.round(begin + length)};
}
