import {CARDS} from "../../model/nodes/nodes.js";

/** The eye cannot follow more moves than this in one frame. */
const MOST_MOVES = 24;
const EASE = "cubic-bezier(.2, 0, 0, 1)";

/** Let tiles move between lane and node instead of jumping. Nothing moves under reduced motion. */
export function followMotion(session) {
  session.beforeDraw = (moved) => {
    if (moved.length === 0 || moved.length > MOST_MOVES || session.model.nodes.size > CARDS) return;
    const duration = durationOf("--d-move");
    if (duration === 0) return;
    const places = moved.map((id) => [id, boxOf(id)]).filter(([, box]) => box);
    // Views are drawn in the microtask after this one.
    Promise.resolve()
      .then(() => Promise.resolve())
      .then(() => {
        for (const [id, box] of places) move(id, box, duration);
      });
  };
}

function move(id, from, duration) {
  /** @type {HTMLElement | null} */
  const tile = document.querySelector(`.tile[data-pod="${CSS.escape(id)}"]`);
  if (!tile) return;
  const to = tile.getBoundingClientRect();
  const [x, y] = [from.left - to.left, from.top - to.top];
  if (Math.abs(x) + Math.abs(y) < 4) return;
  // A ghost above everything: the tile itself would be cut off at the edge of the grid.
  const ghost = /** @type {HTMLElement} */ (tile.cloneNode(true));
  ghost.classList.add("ghost");
  ghost.removeAttribute("data-pod");
  ghost.setAttribute("aria-hidden", "true");
  ghost.tabIndex = -1;
  Object.assign(ghost.style, {left: `${to.left}px`, top: `${to.top}px`});
  document.body.append(ghost);
  tile.style.visibility = "hidden";
  const animation = ghost.animate([{transform: `translate(${x}px, ${y}px)`}, {transform: "none"}], {
    duration,
    easing: EASE,
  });
  animation.finished.finally(() => {
    ghost.remove();
    tile.style.visibility = "";
  });
}

/** Where the mark of a pod is now, or null when it is not in sight. */
function boxOf(id) {
  const element = document.querySelector(`[data-pod="${CSS.escape(id)}"]`);
  const box = element?.getBoundingClientRect();
  if (!element || !box || box.width === 0 || box.bottom <= 0 || box.top >= innerHeight) return null;
  return {left: box.left + (element.classList.contains("item") ? 14 : 0), top: box.top + 3};
}

function durationOf(token) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(token).trim();
  return text.endsWith("ms") ? parseFloat(text) : parseFloat(text) * 1000;
}
