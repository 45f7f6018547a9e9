/** What the scheduler holds while a cycle runs, as the cycle itself tells it. */
import {gettext, listText} from "../../lib/words.js";
import {parseId, timeText} from "../shared/format.js";
import {hasBindQueue, stepOfTold} from "./cycle.js";

/**
 * The memory after the step at `place`, by what it belongs to: [[group, [{what, before, after, isChanged}]]]. The
 * rows are the same for all steps of a cycle.
 *
 * @returns {[string, {what: string, before: string, after: string, isChanged: boolean}[]][]}
 */
export function heldAfter(answer, steps, place) {
  const valueAt = (changes, upTo) => changes.findLast(([id]) => stepPlace(steps, id) <= upTo)?.[1] ?? "–";
  return groupsOf(answer).map(([group, rows]) => [
    group,
    rows.map(([what, changes]) => {
      const [before, after] = [valueAt(changes, place - 1), valueAt(changes, place)];
      return {what, before, after, isChanged: before !== after};
    }),
  ]);
}

/** "" is from before the cycle; a step that the cycle did not come to is after all others. */
function stepPlace(steps, id) {
  if (id === "") return -1;
  const place = steps.findIndex((step) => step.id === id);
  return place < 0 ? steps.length : place;
}

/** The rows as [what, [[id of the step from which it holds, value], …]]. */
function groupsOf(answer) {
  /** @type {[string, any[]][]} */
  const groups = [
    [gettext("Queue"), queueRows(answer)],
    [gettext("Snapshot of this cycle"), snapshotRows(answer)],
  ];
  if (answer.assume) groups.push([gettext("Cache, {node}", {node: answer.assume.assumed.node}), nodeRows(answer)]);
  if (answer.volumes) groups.push([gettext("Volumes and claims"), volumeRows(answer)]);
  return groups;
}

function queueRows({pod, pop, queue, steps}) {
  const from = queue.before.at(-1)?.place ?? "active";
  const waited = (place) => String(pop[place].length + (from === place ? 1 : 0));
  const row = (title, place) => [title, [["", waited(place)], ["pop", String(pop[place].length)], ...arrivals(place)]];
  const moves = queue.after.map((move, turn) => [stepOfTold(steps, "Moved", turn - queue.after.length), move]);
  const arrivals = (place) =>
    moves.flatMap(([id, move]) => (move.place === place ? [[id, String(pop[place].length + 1)]] : []));
  const others = pop.in_flight.filter((each) => each !== pod);
  const left = moves.find(([, move]) => move.place_from === "in_flight");
  return [
    row("activeQ", "active"),
    row("backoffQ", "backoff"),
    row("unschedulable", "unschedulable"),
    [
      gettext("in flight"),
      [["", names(others)], ["pop", names(pop.in_flight)], ...(left ? [[left[0], names(others)]] : [])],
    ],
    [
      "schedulingCycle",
      [
        ["", String(pop.scheduling_cycle - 1)],
        ["pop", String(pop.scheduling_cycle)],
      ],
    ],
    [
      "moveRequestCycle",
      [
        ["", String(pop.move_request_cycle)],
        ...(queue.requeued && left ? [[left[0], String(queue.requeued.move_request_cycle)]] : []),
      ],
    ],
  ];
}

function names(keys) {
  return listText(keys.map((key) => parseId(`pod/${key}`).name)) || "–";
}

function snapshotRows({snapshot, order, filter, version}) {
  const rows = [];
  if (snapshot) {
    const {before, after} = snapshot.taken;
    rows.push([
      gettext("generation"),
      [
        ["", String(before)],
        ["snapshot", String(after)],
      ],
    ]);
  }
  const next = nextStart({order, filter});
  // In v1.11 each search begins with the first node.
  if (order && version !== "v1.11") {
    const start = String(order.searched.start);
    rows.push(["nextStartNodeIndex", [["", start], ...(next === null ? [] : [["filter", String(next)]])]]);
  }
  return rows;
}

/** Where the search after this one begins; null where the answer does not say it. */
export function nextStart({order, filter}) {
  const search = filter?.searches.find((each) => each.search === "all nodes");
  if (!search || !order || search.absent > 0) return null;
  return (order.searched.start + search.nodes.length) % order.searched.order.length;
}

function nodeRows({pod, assume, steps}) {
  const {assumed, finished, forgotten} = assume;
  const {name} = parseId(`pod/${pod}`);
  const gone = forgotten ? [[stepOfTold(steps, "Forgotten", -1), "–"]] : [];
  const ends = finished ? [["bind", finished.deadline === null ? gettext("never") : timeText(finished.deadline)]] : [];
  const pods = [String(assumed.before.pods), String(assumed.after.pods)];
  return [
    [
      gettext("generation"),
      [
        ["", String(assumed.before.generation)],
        ["assume", String(assumed.after.generation)],
      ],
    ],
    [gettext("pods"), [["", pods[0]], ["assume", pods[1]], ...(forgotten ? [[gone[0][0], pods[0]]] : [])]],
    ["assumedPods", [["", "–"], ["assume", name], ...gone]],
    [gettext("assumption ends"), [["", "–"], ...ends]],
  ];
}

function volumeRows(answer) {
  const {volumes, steps} = answer;
  // In v1.11 a pod's volumes are assumed before it enters the BindQueue.
  const assumedAt = hasBindQueue(answer) ? "bindqueue" : "assume";
  const told = [
    ...volumes.assumed.map(({caches}) => [assumedAt, caches]),
    ...volumes.written.map(({written}, turn) => [
      stepOfTold(steps, "VolumesWritten", turn - volumes.written.length),
      written.map((each) => ({...each, assumed: false, latest_version: each.version, informer_version: null})),
    ]),
    ...volumes.looks.map(({caches}, turn) => [stepOfTold(steps, "VolumesLooked", turn - volumes.looks.length), caches]),
  ];
  const rows = new Map();
  for (const [id, caches] of told) {
    for (const {kind, name, assumed, latest_version: latest, informer_version: informer} of caches) {
      const title = `${kind === "claim" ? "PVC" : "PV"} ${parseId(`${kind}/${name}`).name}`;
      const changes = rows.get(title) ?? [["", versionWords(informer, false)]];
      rows.set(title, [...changes, [id, versionWords(latest, assumed)]]);
    }
  }
  return [...rows];
}

function versionWords(version, isAssumed) {
  if (version === null) return "–";
  return isAssumed ? gettext("rv {version}, assumed", {version}) : gettext("rv {version}", {version});
}
