import {podHealth} from "../model/health/pod.js";
import {nodeAnswer} from "../model/nodes/node_answer.js";
import {PLACES} from "../model/pods/pod.js";
import {chainOf} from "../model/volumes/chains.js";

/** Longer numbers in names are hashes rather than ordinals. */
const WIDTH = 12;
const USUAL_COUNT = 50;
const POD_STATES = PLACES.map(([state]) => state);
const NODE_STATES = ["stuck", "clock", "held", "settled"];

/** By what the rows of each kind are sorted, the usual order first; as in kscope/runs/rows/sheet.py. */
const SORTS = {
  pods: {
    state: ({state, values}) => [rankIn(POD_STATES, state), values.created],
    name: ({name}) => [name],
    priority: ({values}) => [values.priority],
    attempts: ({values}) => [values.attempts],
  },
  nodes: {
    state: ({state}) => [rankIn(NODE_STATES, state)],
    name: ({name}) => [name],
    zone: ({values}) => values.zone,
    cpu: ({values}) => [values.cpu],
    memory: ({values}) => [values.memory],
    pods: ({values}) => [values.pods],
    volumes: ({values}) => [values.volumes],
  },
  volumes: {
    class: ({values}) => values.class,
    claim: ({values}) => values.claim,
    volume: ({values}) => values.volume,
  },
  objects: {name: ({name}) => [name]},
};
const ROWS = {pods: podRows, nodes: nodeRows, volumes: volumeRows, objects: objectRows};

/** Whether there are windows of the rows of this kind. */
export function isListed(kind) {
  return Object.hasOwn(SORTS, kind);
}

/**
 * A window of the rows of a kind, as the server answers it: {first, found, total, counts, rows: [{id, state}]}. `model` has
 * the state; *wanted* is the query of a RowWindow.
 */
export function windowOf(model, kind, wanted) {
  const all = ROWS[kind](model);
  const text = (wanted.search ?? "").trim().toLowerCase();
  const matching = text ? all.filter((row) => row.text.includes(text)) : all;
  const counts = {};
  for (const {state} of matching) counts[state] = (counts[state] ?? 0) + 1;
  const states = new Set((wanted.state ?? "").split(",").filter(Boolean));
  const found = inOrder(states.size > 0 ? matching.filter(({state}) => states.has(state)) : matching, kind, wanted);
  const count = Number(wanted.count ?? USUAL_COUNT);
  const first = placeIn(found, wanted, count);
  const rows = found.slice(first, first + count).map(({id, state}) => ({id, state}));
  return {first, found: found.length, total: all.length, counts, rows};
}

/** What a name is sorted by, so that node-2 comes before node-10. */
function natural(name) {
  return name.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(WIDTH, "0"));
}

function rankIn(states, state) {
  const rank = states.indexOf(state);
  return rank < 0 ? states.length : rank;
}

function inOrder(rows, kind, {sort, order}) {
  const by = SORTS[kind][sort] ?? Object.values(SORTS[kind])[0];
  const turn = order === "desc" ? -1 : 1;
  const keyed = rows.map((row) => [row, by(row)]);
  keyed.sort(([one, a], [other, b]) => turn * compared(a, b) || compared([one.name, one.id], [other.name, other.id]));
  return keyed.map(([row]) => row);
}

function compared(one, other) {
  for (let i = 0; i < one.length; i += 1) {
    if (one[i] < other[i]) return -1;
    if (one[i] > other[i]) return 1;
  }
  return 0;
}

/** Where the window begins: at a multiple of its length where it was not asked for by place. */
function placeIn(found, {from, around}, count) {
  const near = around
    ? Math.max(
        0,
        found.findIndex(({id}) => id === around),
      )
    : null;
  const first = near === null ? Number(from ?? 0) : Math.floor(near / count) * count;
  return first >= found.length ? Math.floor(Math.max(0, found.length - 1) / count) * count : first;
}

function podRows(model) {
  return ofKind(model, "pod/").map(([id, pod]) => {
    const key = id.slice("pod/".length);
    const values = {created: pod.created ?? 0, priority: pod.priority ?? 0, attempts: pod.attempts ?? 0};
    return {id, text: key.toLowerCase(), name: natural(key), state: podHealth(id, pod, model).place, values};
  });
}

function nodeRows(model) {
  return ofKind(model, "node/").map(([id, node]) => {
    const name = id.slice("node/".length);
    const pods = model.nodes.pods.get(name) ?? new Map();
    const values = {
      zone: emptyLast(node.zone ?? ""),
      cpu: share(node, "cpu"),
      memory: share(node, "memory"),
      pods: node.requested?.pods ?? 0,
      volumes: Object.keys(node.attachments ?? {}).length,
    };
    const state = nodeAnswer(name, node, pods, model.at).family;
    return {id, text: name.toLowerCase(), name: natural(name), state, values};
  });
}

/** How much of a resource is requested, 0 to 1; -1 where the node has none. */
function share({allocatable, requested}, resource) {
  const whole = allocatable?.[resource] ?? 0;
  return whole ? (requested?.[resource] ?? 0) / whole : -1;
}

function volumeRows(model) {
  const chains = chainsOf(model, "claim/");
  const taken = new Set(chains.map(({volumeId}) => volumeId));
  const others = chainsOf(model, "volume/").filter(({volumeId}) => !taken.has(volumeId));
  return [...chains, ...others].map((chain) => chainRow(chain, model));
}

function chainsOf(model, prefix) {
  return ofKind(model, prefix).flatMap(([id]) => chainOf(id, model.claims, model.entities) ?? []);
}

function chainRow({key: id, claimId, className, kind}, {claims, entities}) {
  const object = entities.get(id);
  const own = id.slice(id.indexOf("/") + 1);
  const claim = claimId ? own : (object.claim ?? "");
  const volume = claimId ? (object.volume ?? claims.holder(id, object) ?? "") : own;
  const words = claimId ? [own, volume, className, volume || (object.selected_node ?? "")] : [own, className, claim];
  const values = {
    class: [...emptyLast(className), claimId ? 0 : 1],
    claim: emptyLast(claim),
    volume: emptyLast(volume),
  };
  return {id, text: words.join("\n").toLowerCase(), name: natural(own), state: kind, values};
}

function objectRows({entities}) {
  return [...entities.keys()].map((id) => ({id, text: id.toLowerCase(), name: natural(id), state: "", values: {}}));
}

function ofKind({entities}, prefix) {
  return [...entities].filter(([id]) => id.startsWith(prefix));
}

function emptyLast(name) {
  return [name === "" ? 1 : 0, natural(name)];
}
