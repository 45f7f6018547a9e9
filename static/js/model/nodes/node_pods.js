import {byName} from "../shared/format.js";
import {isFinished} from "../shared/terminating.js";
import {volumesOf} from "./node_volumes.js";
import {placeOf} from "./nodes.js";

const POD_ORDER = {waits: 0, terminating: 1, starting: 2, assumed: 3, nominated: 4, running: 5, over: 6};

/**
 * The pods bound, assumed or nominated to a node: {id, pod, mark, family, words}, waiting pods first.
 */
export function podsOf(name, node, pods) {
  const awaited = awaitedBy(volumesOf(node, pods));
  const found = [...pods]
    .filter(([, pod]) => placeOf(pod) === name)
    .map(([id, pod]) => podRow(id, pod, awaited.get(id)));
  return found.sort((a, b) => POD_ORDER[a.state] - POD_ORDER[b.state] || byName(a.id, b.id));
}

function podRow(id, pod, volume) {
  const row = (state, mark, family, words) => ({id, pod, state, mark, family, words});
  if (!pod.node) {
    return pod.assumed
      ? row("assumed", "assumed", "promised", "assumed")
      : row("nominated", "nominated", "promised", "nominated");
  }
  if (isFinished(pod)) return row("over", "vbound", "held", pod.phase);
  if (pod.deleting !== undefined) return row("terminating", "victim", "stuck", "terminating");
  if (pod.phase === "Running") return row("running", "bound", "settled", "Running");
  if (volume)
    return row(
      "waits",
      volume.failed ? "backoff" : "attach",
      volume.failed ? "stuck" : "ready",
      `waits for ${volume.name}`,
    );
  return row("starting", "in-flight", "working", "starting");
}

/** The volume that each pod waits for, one that failed before others. */
function awaitedBy(rows) {
  const found = new Map();
  for (const row of rows) {
    for (const [pod] of row.waiting) {
      if (found.get(`pod/${pod}`)?.failed) continue;
      found.set(`pod/${pod}`, {name: row.name, failed: row.trouble !== null});
    }
  }
  return found;
}
