import {mergePatch} from "../shared/fold.js";
import {CLAIM, MACHINES, VOLUME} from "./diagrams.js";
import {entityOf, objectOf} from "./objects.js";

/** The machine of that key. */
export function machineOf(key) {
  return MACHINES.find((machine) => machine.key === key);
}

/**
 * The state of an object as the pages have it, which may follow from others as well: a binding is
 * half-bound for both of its sides as soon as one of them names the other.
 */
export function stateNow(machine, id, object, {claims, entities}) {
  if (!object) return null;
  if (machine === CLAIM) {
    const state = claims.state(id, object, entities);
    return state === "waiting" || state === "provisioning" ? "pending" : state;
  }
  if (machine === VOLUME) {
    const claimId = claims.claimOf(id, entities);
    const claim = claimId && entities.get(claimId);
    const name = claim && (claim.volume ?? claims.holder(claimId, claim));
    if (name && id === `volume/${name}` && claims.state(claimId, claim, entities) === "half") return "half";
  }
  return machine.stateOf(object);
}

/** The state of a volume as one of its machine: key, title, mark and family. */
export function volumeLook(volume) {
  const key = VOLUME.stateOf(volume);
  return VOLUME.states.find((state) => state.key === key);
}

/** Whether a state or an edge exists in a Kubernetes version. `versions` lists all of them, newest first. */
export function isPossible({since, until}, version, versions) {
  const age = versions.indexOf(version);
  return !(since && age > versions.indexOf(since)) && !(until && age < versions.indexOf(until));
}

/**
 * The moves of an object, oldest first, as {seq, at, from, to, kind, message, component}; "" stands
 * for outside of the machine. `events` are its own, oldest first; those after `seq` are left out.
 */
export function movesOf(machine, id, events, seq) {
  const moves = [];
  let entity = null;
  let from = "";
  for (const event of events) {
    if (event.seq > seq) break;
    const patch = event.changes?.[entityOf(id)];
    if (patch === undefined) continue;
    entity = patch === null ? null : mergePatch(entity ?? {}, patch);
    const object = objectOf(machine, id, entity);
    const to = object ? (machine.stateOf(object, event) ?? "") : (machine.leaves?.[from] ?? "");
    if (to === from) continue;
    const {at, kind, message, component} = event;
    moves.push({seq: event.seq, at, from, to, kind, message, component});
    from = to;
  }
  return moves;
}

/**
 * How a diagram is lit by the moves of the object that is followed: how often every edge was taken,
 * which one was the last, and in which states the object has been, and is. A move that no edge
 * stands for lights none. `now` is the state it is in, by default where the last move led.
 */
export function lit(machine, moves, now = moves.at(-1)?.to ?? "") {
  const edgeOf = new Map(machine.edges.flatMap((edge) => edge.moves.map((move) => [move, edge])));
  const taken = new Map();
  const visited = new Set();
  let last = null;
  for (const {from, to} of moves) {
    last = edgeOf.get(`${from}>${to}`) ?? null;
    if (last) taken.set(last, (taken.get(last) ?? 0) + 1);
    visited.add(from).add(to);
  }
  return {taken, last, visited, here: now};
}

/** What a state is called, "" being outside of the machine. */
export function titleOf(machine, key) {
  if (key === "") return machine.outside ?? "does not exist";
  return machine.states.find((state) => state.key === key)?.title ?? key;
}
