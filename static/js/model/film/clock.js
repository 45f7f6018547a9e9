/**
 * How long a step is on screen.
 *
 * In presentation time each step has one beat; nothing is claimed about how long it took. In real time it is the gap
 * to the next step divided by the speed, at least a beat and at most six seconds.
 */
export const SPEEDS = [0.01, 0.02, 0.05, 0.1];
export const USUAL_SPEED = 0.05;

const BEAT_MS = 40;
const LONGEST_MS = 6000;
const NS_PER_MS = 1e6;

/** The speed that an address asks for, else the usual one. */
export function parseSpeed(text) {
  return SPEEDS.find((speed) => String(speed) === text) ?? USUAL_SPEED;
}

/** A beat, in ms. */
export function beatMs(speed) {
  return BEAT_MS / speed;
}

/** The time from a step to the next one, in ns; 0 while the clock stands. */
export function gapNs({steps}, place) {
  const next = steps[place + 1];
  return steps[place].isStill || !next ? 0 : Math.max(0, next.at - steps[place].at);
}

/** How long a step is on screen, in ms. */
export function dwellMs(film, place, speed) {
  return Math.max(beatMs(speed), Math.min(LONGEST_MS, gapNs(film, place) / NS_PER_MS / speed));
}

/** Whether the wait after a step is shortened on screen. */
export function isShortened(film, place, speed) {
  return gapNs(film, place) / NS_PER_MS / speed > LONGEST_MS;
}

/** The time that the clock shows when `part` (0 to 1) of a step has passed, in ns. */
export function clockAt(film, place, part) {
  return film.steps[place].at + Math.round(gapNs(film, place) * part);
}

/** Seconds on screen up to a step, and of the whole film. */
export function screenSeconds(film, place, speed) {
  const all = film.steps.map((_, each) => dwellMs(film, each, speed));
  const sum = (list) => Math.round(list.reduce((total, each) => total + each, 0) / 1000);
  return {past: sum(all.slice(0, place)), whole: sum(all)};
}
