import {element, optional} from "../../lib/dom.js";
import {copyLink} from "../palette/palette.js";

// What Space itself presses, opens or writes into.
const OPERATED_SELECTOR = 'button, summary, input, select, textarea, [contenteditable], [role="button"]';

/**
 * Keyboard shortcuts of all pages of a run. Fields and focused buttons handle their keys themselves. The slider of the
 * transport does not: it moves by milliseconds, and would never get from one event to a later one.
 */
export function connectHotkeys(session) {
  const stepOn = () => session.playhead.past.value && session.playhead.stepEvent();
  const actions = {
    " ": () => session.playhead.togglePlay(),
    ".": () => session.playhead.stepEvent(),
    ">": () => session.playhead.stepCycle(),
    ",": () => session.playhead.stepBack(),
    ArrowLeft: () => session.playhead.stepBack(),
    ArrowRight: stepOn,
    Home: () => session.playhead.seek({seq: 0}, {isJump: true}),
    End: () => session.playhead.jumpToNewest({isJump: true}),
    w: openWhy,
    c: () => navigator.clipboard && copyLink(session),
    "?": () => element("#keys-dialog", {kind: HTMLDialogElement}).showModal(),
  };
  const ofSlider = {
    ...actions,
    ArrowDown: actions.ArrowLeft,
    ArrowUp: actions.ArrowRight,
    PageDown: () => session.playhead.leap(-1),
    PageUp: () => session.playhead.leap(1),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = /** @type {Element} */ (event.target);
    // An open dialog gets the keys.
    if (document.querySelector("dialog[open]")) return;
    if (target.matches("input[type=range]") && !target.closest("[data-own-keys]")) {
      act(ofSlider, event);
      return;
    }
    if (event.key === " ") {
      if (!target.closest(OPERATED_SELECTOR)) act(actions, event);
      return;
    }
    if (target.closest("input, select, textarea, [contenteditable], canvas")) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      moveFocus(event);
      return;
    }
    act(actions, event);
  });
  addEventListener("click", leaveTransport);
}

/** After a click with the pointer the transport keeps no focus, so that the next Space plays. */
function leaveTransport({detail, target}) {
  // A click by a key has no detail, and its focus has to stay.
  const pressed = detail > 0 && target.closest(".transport button");
  if (pressed) pressed.blur();
}

/** Do what one of the actions does for a key, if any. */
function act(actions, event) {
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

/** Ask why the selected object is as it is, unless that is answered, and go to the answer. */
function openWhy() {
  optional('[aria-keyshortcuts="w"]')?.click();
  optional("#why")?.focus();
}

/** Up and down go from one pod of the lanes to the next. */
function moveFocus(event) {
  const lanes = event.target.closest(".lanes");
  if (!lanes) return;
  const items = [...lanes.querySelectorAll("button.item")];
  const next = items[items.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
