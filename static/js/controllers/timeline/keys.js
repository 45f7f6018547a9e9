import {optional} from "../../lib/dom.js";

const ZOOM = 1.3;
const PART = 1 / 8;

/** The keys of the timeline; they come before those that every page of a run has. */
export function connectTimelineKeys(trace) {
  const actions = {
    w: () => trace.zoom(1 / ZOOM),
    "+": () => trace.zoom(1 / ZOOM),
    s: () => trace.zoom(ZOOM),
    "-": () => trace.zoom(ZOOM),
    a: () => trace.move(-PART),
    d: () => trace.move(PART),
    f: () => trace.fit(),
    "/": () => optional("#timeline-find")?.focus(),
    ".": () => optional(":focus[data-row]")?.dispatchEvent(new CustomEvent("nextevent", {bubbles: true})),
    Escape: () => trace.choose(null),
    ArrowDown: () => walk(1),
    ArrowUp: () => walk(-1),
  };
  // Before the keys of all pages: there w asks why, and . steps.
  addEventListener("keydown", (event) => press(event, actions), {capture: true});
}

function press(event, actions) {
  if (event.ctrlKey || event.metaKey || event.altKey || !optional(".tlscroll")) return;
  const target = /** @type {Element} */ (event.target);
  if (document.querySelector("dialog[open]")) return;
  if (target.closest("input, select, textarea, [contenteditable]")) {
    if (event.key === "Escape") /** @type {HTMLElement} */ (target).blur();
    return;
  }
  const action = actions[event.key];
  if (!action) return;
  // Without a row that has the keyboard, a point steps as on other pages.
  if (event.key === "." && !optional(":focus[data-row]")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  action();
}

/** From one row's label to the next. */
function walk(by) {
  const labels = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-row]")]);
  const now = labels.findIndex((label) => label === document.activeElement);
  const next = labels[now < 0 ? 0 : now + by];
  if (!next) return;
  next.focus();
  next.scrollIntoView({block: "nearest"});
}
