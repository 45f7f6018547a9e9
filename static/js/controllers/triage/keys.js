import {optional} from "../../lib/dom.js";

/** The keys of the triage page: from cause to cause, its evidence, its first button, the search. */
export function connectTriageKeys(triage) {
  const actions = {
    j: () => triage.step(1),
    k: () => triage.step(-1),
    e: () => {
      triage.hidesEvidence.value = !triage.hidesEvidence.value;
    },
    o: () => optional(`${cardOf(triage.at.value)} .fx .btn`)?.focus(),
    "/": () => optional("#find")?.focus(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (/** @type {Element} */ (event.target).closest("input, select, textarea, [contenteditable]")) return;
    if (document.querySelector("dialog[open]")) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** A selector for the card of a group; for the first card where no group is chosen. */
function cardOf(place) {
  return `#cause-${Math.max(place, 0)}`;
}
