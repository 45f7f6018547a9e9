import {SPEEDS} from "../../model/film/clock.js";

/** The keys of a film. */
export function connectFilmKeys(player, {openInside, copyLink}) {
  const plain = {
    ArrowLeft: () => player.move(-1),
    ArrowRight: () => player.move(1),
    PageUp: () => player.movePhase(-1),
    PageDown: () => player.movePhase(1),
    Home: () => player.go(0),
    End: () => player.goToEnd(),
    b: () => player.play(-1),
    i: openInside,
    c: copyLink,
    "[": () => player.turnTo(-1),
    "]": () => player.turnTo(1),
    ...Object.fromEntries(SPEEDS.map((speed, place) => [String(place + 1), () => player.setSpeed(speed)])),
  };
  const withShift = {ArrowLeft: plain.PageUp, ArrowRight: plain.PageDown};
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = /** @type {Element} */ (event.target);
    if (document.querySelector("dialog[open]") || target.closest("input, select, textarea, [contenteditable]")) return;
    if (event.key === " " && target.closest("button, a, summary, [tabindex='0'][role='region']")) return;
    const actions = event.key === " " ? {" ": () => player.play(1)} : event.shiftKey ? withShift : plain;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
