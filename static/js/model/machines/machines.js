import {gettext} from "../../lib/words.js";
import {eventText} from "../shared/event_words.js";
import {mergePatch} from "../shared/fold.js";
import {CLAIM, MACHINES, VOLUME} from "./diagrams.js";
import {entityOf, objectOf} from "./objects.js";

/** The machine of that key. */
export function machineOf(key) {
  return MACHINES.find((machine) => machine.key === key);
}

/**
 * The state of an object as pages show it, which may depend on other objects: claim and volume are both
 * half-bound as soon as one of them names the other.
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
  return VOLUME.states.find((state) => state.key === key) ?? VOLUME.states[0];
}

/** Whether a state or an edge exists in a Kubernetes version, which `has` what it needs or not. */
export function isPossible({needs}, has) {
  return !needs || has.includes(needs);
}

/**
 * The moves of an object, oldest first, as {seq, at, from, to, kind, message, component}; "" means
 * outside the machine. `events` are its own, oldest first; those after `seq` are left out.
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
    const {at, kind, component} = event;
    moves.push({seq: event.seq, at, from, to, kind, message: eventText(event), component});
    from = to;
  }
  return moves;
}

/**
 * What a diagram highlights for the followed object: {taken, last, visited, here}. `taken` counts the moves
 * of each edge, `last` is the edge of the last move, `visited` are the states that the object has been in.
 * A move without an edge highlights none. `now` is the current state, by default the end of the last move.
 */
export function highlightsOf(machine, moves, now = moves.at(-1)?.to ?? "") {
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

/** The title of a state; "" means outside the machine. */
export function titleOf(machine, key) {
  if (key === "") return machine.outside ?? gettext("does not exist");
  return machine.states.find((state) => state.key === key)?.title ?? key;
}
