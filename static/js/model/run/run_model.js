import {MACHINES} from "../machines/diagrams.js";
import {Nodes, placeOf} from "../nodes/nodes.js";
import {Lanes} from "../pods/lanes.js";
import {Claims} from "../volumes/claims.js";
import {Counters} from "./counters.js";
import {RunState} from "./run_state.js";
import {BindingTally, Tally} from "./tallies.js";

/**
 * Everything that pages draw of a run at one seq: the folded state and the views derived from it.
 *
 * The views are updated from the entities that changed, so the cost of a frame does not depend on the size of
 * the cluster.
 */
export class RunModel {
  /** The tallies that are kept up to date by changes; the others count on demand. @type {Tally[]} */
  #kept = [];

  constructor() {
    this.run = new RunState();
    this.lanes = new Lanes();
    this.nodes = new Nodes();
    this.claims = new Claims();
    this.counters = new Counters();
    /** How many objects are in each state, by the key of the machine. */
    this.tallies = new Map(MACHINES.map((machine) => [machine.key, this.#tallyOf(machine)]));
    this.undos = [];
    /** Pods that changed their lane or node since this list was last emptied. */
    this.moved = [];
  }

  get entities() {
    return this.run.entities;
  }

  get seq() {
    return this.run.seq;
  }

  get at() {
    return this.run.at;
  }

  /** Take a whole state {seq, at, state, events} and derive all views again. */
  reset(snapshot) {
    this.run.reset(snapshot);
    this.lanes.clear();
    this.nodes.clear();
    this.claims.clear();
    for (const tally of this.#kept) tally.clear();
    this.undos = [];
    for (const [id, entity] of this.entities) this.#derive(id, undefined, entity);
    this.moved = [];
    this.#startCounters(snapshot.counts);
  }

  /** Take the next objects of the state that `reset` began with, and the counts that came with it. */
  extend(state, counts) {
    for (const [id, entity] of Object.entries(state)) {
      this.entities.set(id, entity);
      this.#derive(id, undefined, entity);
    }
    this.nodes.sortNames();
    this.#startCounters(counts);
  }

  /** Fold a frame. Returns whether anything was new. Raises GapError. */
  apply(frame) {
    const before = this.run.apply(frame);
    if (!before) return false;
    for (const [id, entity] of before) this.#derive(id, entity, this.entities.get(id));
    if (frame.counts) this.counters.extend(frame.counts);
    else if (frame.first === frame.last) this.#count(before);
    else this.counters.restart(this.seq, this.at, this.#queues());
    return true;
  }

  /** Go to any other event by what differs there: {seq, at, changes, events}. */
  move(change) {
    for (const [id, entity] of this.run.move(change)) this.#derive(id, entity, this.entities.get(id));
    this.undos = [];
    this.moved = [];
    this.counters.restart(this.seq, this.at, this.#queues());
  }

  /** Advance the time when nothing happened after `seq`. Returns whether it changed. */
  rest(seq, at) {
    if (seq !== this.seq || at <= this.at) return false;
    this.run.at = at;
    return true;
  }

  /** Fold one event so that it can be undone. */
  stepForward(event) {
    const past = this.run.step(event);
    past.counted = this.counters.mark();
    for (const [id, entity] of past.before) this.#derive(id, entity, this.entities.get(id));
    this.undos.push(past);
    this.#count(past.before);
  }

  /** Undo the newest `stepForward`. Returns whether there was one. */
  stepBack() {
    const past = this.undos.pop();
    if (!past) return false;
    const after = new Map();
    for (const id of past.before.keys()) after.set(id, this.entities.get(id));
    this.run.undo(past);
    for (const [id, entity] of after) this.#derive(id, entity, this.entities.get(id));
    this.counters.restore(past.counted);
    return true;
  }

  #tallyOf(machine) {
    if (machine.key === "claim" || machine.key === "volume")
      return new BindingTally(machine, this.claims, () => this.entities);
    const tally = new Tally(machine);
    this.#kept.push(tally);
    return tally;
  }

  #derive(id, before, after) {
    for (const tally of this.#kept) if (id.startsWith(tally.prefix)) tally.update(id, before, after);
    if (id.startsWith("pod/")) {
      this.lanes.update(id, before, after);
      this.nodes.updatePod(id, before, after);
      this.claims.updatePod(id, before, after);
      if (before && after && this.moved.length < 100 && isMove(before, after)) this.moved.push(id);
    } else if (id.startsWith("node/")) {
      this.nodes.updateNode(id, before, after);
    } else if (id.startsWith("claim/")) {
      this.claims.updateClaim(id, before, after);
    } else if (id.startsWith("volume/")) {
      this.claims.updateVolume(id, before, after);
    } else if (id.startsWith("class/")) {
      this.claims.updateClass();
    }
  }

  /** Count one event by the entities as they were before it. */
  #count(before) {
    let bound = 0;
    for (const [id, entity] of before) {
      if (id.startsWith("pod/") && entity && !entity.node && this.entities.get(id)?.node) bound += 1;
    }
    const sizes = this.#queues();
    if (bound > 0 || sizes.some((size, i) => size !== this.counters.mark()[i + 2]))
      this.counters.add(this.at, bound, sizes);
  }

  #startCounters(counts) {
    this.counters.restart(this.seq, this.at, this.#queues());
    if (counts) this.counters.learn(counts, this.seq);
  }

  #queues() {
    return ["active", "backoff", "unschedulable"].map((lane) => this.lanes.size(lane));
  }
}

function isMove(before, after) {
  return before.queue !== after.queue || placeOf(before) !== placeOf(after);
}
