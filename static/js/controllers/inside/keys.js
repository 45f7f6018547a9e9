/** The keys of the pages Inside; they come before those that every page of a run has. */
export function connectInsideKeys(inside) {
  const answer = () => inside.held.value?.answer;
  const turn = (kind, names) => names?.[0] && inside.turnTo(`${kind}/${names[0]}`);
  const actions = {
    ArrowLeft: () => inside.move(-1),
    ArrowRight: () => inside.move(1),
    Home: () => inside.go(0),
    End: () => inside.go(inside.steps.value.length - 1),
    p: () => turn("pod", answer()?.pods),
    v: () => turn("claim", answer()?.claims),
  };
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
