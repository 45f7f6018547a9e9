/**
 * A run in motion, as engine/diagnosis/story/replay.py writes it. Times are milliseconds.
 *
 * `at(time)` says who is where: {nodes, pods, attempt}. A node is {name, isThere}; a pod {name, state, lane, node, seq};
 * an attempt {pod, seq, node, cells, fit, of, scores, refused}, where `node` is null if the pod fits nowhere, and
 * `refused` is what PreFilter said before any node was looked at, or "".
 */

/** A step of a few milliseconds is shown for so long, or nobody would see it. */
const HOLD = 450;
const LANES = {
  active: "active",
  attempt: "active",
  pending: "active",
  backoff: "backoff",
  unschedulable: "unschedulable",
  gated: "gated",
  binding: "binding",
  half_bound: "binding",
  running: "running",
  terminating: "running",
  starting: "running",
  attaching: "running",
  kubelet: "running",
  mounting: "running",
  failing: "running",
};
const CELLS = {"+": true, "-": false};

export class Replay {
  constructor({end, states, nodes, pods, attempts}) {
    this.end = end;
    this.nodes = nodes.map(([name, since, until]) => ({name, since, until: until ?? Infinity}));
    this.pods = pods.map(([name, ...steps]) => ({name, steps: stepsOf(steps, states)}));
    this.attempts = attempts.map(([at, seq, pod, node, cells, scores, refused]) => ({
      at,
      seq,
      pod,
      node,
      cells,
      scores,
      refused,
    }));
  }

  at(time) {
    return {
      nodes: this.nodes.map(({name, since, until}) => ({name, isThere: since <= time && time < until})),
      pods: this.pods.map((pod) => this.#podAt(pod, time)).filter((pod) => pod !== null),
      attempt: this.#attemptAt(time),
    };
  }

  #podAt({name, steps}, time) {
    const step = shownStep(steps, time);
    const lane = step && LANES[step.state];
    return lane ? {name, state: step.state, lane, node: step.node, seq: step.seq} : null;
  }

  /** The newest attempt, for as long as nothing newer is tried. */
  #attemptAt(time) {
    const found = newest(this.attempts, time);
    if (!found) return null;
    const cells = [...found.cells].map((letter) => CELLS[letter] ?? null);
    return {
      pod: this.pods[found.pod].name,
      seq: found.seq,
      node: this.nodes[found.node]?.name ?? null,
      cells,
      fit: cells.filter((fits) => fits).length,
      of: cells.filter((fits) => fits !== null).length,
      scores: found.scores,
      refused: found.refused,
    };
  }
}

/** Four numbers for each step: state, since when, event, node. */
function stepsOf(flat, states) {
  const steps = [];
  for (let i = 0; i < flat.length; i += 4) {
    steps.push({state: states[flat[i]], at: flat[i + 1], seq: flat[i + 2], node: flat[i + 3]});
  }
  return steps;
}

/** The step of an object that is to be seen: a binding stays in sight for a while. */
function shownStep(steps, time) {
  const step = newest(steps, time);
  if (!step || LANES[step.state] !== "running") return step;
  const before = steps[steps.indexOf(step) - 1];
  return before?.state === "binding" && time - before.at < HOLD ? before : step;
}

/** The last of these, in the order of time, that began by then. */
function newest(list, time) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].at <= time) low = middle + 1;
    else high = middle;
  }
  return list[low - 1];
}
