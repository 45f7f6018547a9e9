const OPERATED_SELECTOR = "button, a, summary, input, select, textarea";

/** 1 to 9 answer, the arrows turn, Space plays; focused buttons keep their own keys. */
export function connectKeys(reader) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = /** @type {Element} */ (event.target);
    if (document.querySelector("dialog[open]") || target.closest("input, select, textarea")) return;
    if (event.key === " " && target.closest(OPERATED_SELECTOR)) return;
    const act = actionOf(reader, event.key);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function actionOf(reader, key) {
  if (/^[1-9]$/u.test(key)) return () => reader.choose(Number(key) - 1);
  return {
    ArrowLeft: () => reader.back(),
    ArrowRight: () => reader.forward(),
    " ": () => reader.togglePlay(),
  }[key];
}
