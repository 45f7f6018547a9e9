/** The keys of the triage page: from cause to cause, its evidence, its first button, the search. */
export function connectTriageKeys(triage) {
  const actions = {
    j: () => triage.step(1),
    k: () => triage.step(-1),
    e: () => {
      triage.hidesEvidence.value = !triage.hidesEvidence.value;
    },
    o: () => cardOf(triage.at.value)?.querySelector(".fx .btn")?.focus(),
    "/": () => document.querySelector("#find")?.focus(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    if (document.querySelector("dialog[open]")) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** The card of a group; of the first where none is chosen. */
function cardOf(place) {
  return document.querySelector(`#cause-${Math.max(place, 0)}`);
}
