import {optional} from "../../lib/dom.js";

/** The keys of the page of volumes. */
export function connectInsideKeys(inside) {
  const answer = () => inside.held.value?.answer;
  const turn = (kind, names) => names?.[0] && inside.turnTo(`${kind}/${names[0]}`);
  connectKeys({
    ArrowLeft: () => inside.move(-1),
    ArrowRight: () => inside.move(1),
    Home: () => inside.go(0),
    End: () => inside.go(inside.steps.value.length - 1),
    p: () => turn("pod", answer()?.pods),
    v: () => turn("claim", answer()?.claims),
  });
}

/** The keys of the page of a scheduling cycle: steps, the cycles before and after, and a digit for each of the first nine steps, the field What if. */
export function connectCycleKeys(cycle) {
  const digits = Array.from({length: 9}, (_, place) => [String(place + 1), () => cycle.go(place)]);
  connectKeys({
    ArrowLeft: () => cycle.move(-1),
    ArrowRight: () => cycle.move(1),
    Home: () => cycle.go(0),
    End: () => cycle.goToEnd(),
    "[": () => cycle.turn(-1),
    "]": () => cycle.turn(1),
    w: () => optional(".whatif input")?.focus(),
    ...Object.fromEntries(digits),
  });
}

/** Keys of one page; they come before those that every page of a run has. */
function connectKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.defaultPrevented) return;
    const target = /** @type {Element} */ (event.target);
    if (document.querySelector("dialog[open]") || target.closest("input, select, textarea, [contenteditable]")) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
