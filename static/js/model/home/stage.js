/** Where everything stands on the living picture of the home page. Lengths are CSS pixels. */

export const STAGES = ["Queue", "Filters", "Scores", "Binding", "Running"];
export const QUEUES = ["active", "backoff", "unschedulable", "gated"];
/** Below this width the stages are two rows, each with its name. */
const NARROW = 700;
const WIDE_EDGES = [0, 0.2, 0.38, 0.54, 0.66, 1];
const ROWS = {
  first: [0, 0.42, 0.76, 1],
  second: [0, 0.26, 1],
};
const HEAD = 20;

/** The boxes of the five stages: {name, x, y, width, height, head}. */
export function stageBoxes(width, height) {
  if (width >= NARROW) {
    return STAGES.map((name, i) => ({
      name,
      x: WIDE_EDGES[i] * width,
      y: 0,
      width: (WIDE_EDGES[i + 1] - WIDE_EDGES[i]) * width,
      height,
      head: 0,
    }));
  }
  return STAGES.map((name, i) => {
    const edges = i < 3 ? ROWS.first : ROWS.second;
    const place = i < 3 ? i : i - 3;
    return {
      name,
      x: edges[place] * width,
      y: i < 3 ? 0 : height / 2,
      width: (edges[place + 1] - edges[place]) * width,
      height: height / 2,
      head: HEAD,
    };
  });
}

export function isNarrow(width) {
  return width < NARROW;
}

/**
 * The marks of all pods: {pod, x, y, size}, where x and y are the middle. Pods that have no room are left out, and
 * `more` says by lane or node how many.
 */
export function podMarks(scene, boxes, narrow) {
  const [queue, , , binding, running] = boxes;
  const marks = [];
  for (const [i, name] of QUEUES.entries()) {
    const list = scene.pods.filter((pod) => pod.lane === name);
    marks.push(...inRows(list, laneBox(queue, i, narrow), narrow ? 8 : 10));
  }
  const bound = scene.pods.filter((pod) => pod.lane === "binding");
  marks.push(...bound.slice(0, bindingRows(binding)).map((pod, i) => ({pod, ...bindingPlace(binding, i), size: 12})));
  const cells = nodeBoxes(running, scene.nodes.length, narrow);
  for (const [i, cell] of cells.entries()) {
    const list = scene.pods.filter((pod) => pod.lane === "running" && pod.node === i);
    marks.push(...inRows(leavingLast(list), nodeInside(cell, narrow), narrow ? 6 : 9));
  }
  return marks;
}

/** One lane of the queue: its name and count stand above its pods. */
export function laneBox(queue, place, narrow) {
  const top = queue.y + queue.head + (narrow ? 2 : 8);
  const height = (queue.y + queue.height - top - 4) / QUEUES.length;
  return {
    x: queue.x + (narrow ? 8 : 14),
    y: top + place * height,
    width: queue.width - (narrow ? 16 : 24),
    height,
    head: 15,
  };
}

/** How many names fit below each other in the box of bindings. */
export function bindingRows(box) {
  return Math.max(1, Math.floor((box.height - box.head - 16) / 20));
}

export function bindingPlace(box, place) {
  return {x: box.x + 18, y: box.y + box.head + 18 + place * 20};
}

/** The boxes of the nodes, in rows of three or four. */
export function nodeBoxes(box, count, narrow) {
  const columns = Math.max(1, Math.min(count, narrow ? 3 : 4));
  const rows = Math.max(1, Math.ceil(count / columns));
  const [left, top] = [box.x + 10, box.y + box.head + (narrow ? 2 : 8)];
  const width = (box.x + box.width - left - 6) / columns;
  const height = (box.y + box.height - top - (narrow ? 4 : 8)) / rows;
  return Array.from({length: count}, (_, i) => ({
    x: left + (i % columns) * width,
    y: top + Math.floor(i / columns) * height,
    width: width - 4,
    height: height - 4,
  }));
}

/** The cells of the nodes in the box of filters: {x, y, width, height}, four in a row. */
export function filterCells(box, count) {
  const columns = Math.min(4, count) || 1;
  const width = Math.min(26, (box.width - 16) / columns);
  const height = Math.min(22, (box.height - box.head - 48) / Math.max(1, Math.ceil(count / columns)));
  const left = box.x + (box.width - columns * width) / 2;
  return Array.from({length: count}, (_, i) => ({
    x: left + (i % columns) * width + 1,
    y: box.y + box.head + 44 + Math.floor(i / columns) * height + 1,
    width: width - 3,
    height: height - 3,
  }));
}

/** The bars of the scores of one attempt, the best first: {x, y, width, height, isBest}; their heights compare them. */
export function scoreBars(box, scores) {
  const sorted = [...scores].sort((a, b) => b - a).slice(0, 14);
  const least = sorted.length > 1 ? sorted.at(-1) * 0.9 : 0;
  const most = Math.max(sorted[0] - least, 1);
  const width = Math.min(10, (box.width - 16) / 14);
  const tallest = Math.min(70, box.height - box.head - 60);
  const left = box.x + (box.width - sorted.length * width) / 2;
  return sorted.map((score, i) => {
    const height = Math.max(2, ((score - least) / most) * tallest);
    const y = box.y + box.head + 46 + tallest - height;
    return {x: left + i * width + 1, y, width: Math.max(2, width - 3), height, isBest: i === 0};
  });
}

/** The pod whose mark is at that point, or null. */
export function podUnder(marks, x, y) {
  const near = marks.filter((mark) => Math.hypot(mark.x - x, mark.y - y) <= mark.size / 2 + 3);
  near.sort((a, b) => Math.hypot(a.x - x, a.y - y) - Math.hypot(b.x - x, b.y - y));
  return near[0]?.pod ?? null;
}

function nodeInside(cell, narrow) {
  return {
    x: cell.x + (narrow ? 4 : 7),
    y: cell.y,
    width: cell.width - (narrow ? 8 : 14),
    height: cell.height,
    head: narrow ? 3 : 20,
  };
}

/** Marks in rows from the left; what does not fit into the box is left out. */
function inRows(pods, box, size) {
  const step = size + 3;
  const columns = Math.max(1, Math.floor((box.width + 3) / step));
  const rows = Math.max(1, Math.floor((box.height - box.head + 2) / step));
  return pods.slice(0, columns * rows).map((pod, i) => ({
    pod,
    x: box.x + size / 2 + (i % columns) * step,
    y: box.y + box.head + size / 2 + Math.floor(i / columns) * step,
    size,
  }));
}

function leavingLast(pods) {
  const isLeaving = (pod) => Number(pod.state === "terminating");
  return [...pods].sort((a, b) => isLeaving(a) - isLeaving(b));
}
