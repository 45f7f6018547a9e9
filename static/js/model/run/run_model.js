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
    /** What somebody reads this model by while it moves on; see `note`. @type {Set<Map<string, any>>} */
    this.noting = new Set();
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

  /** Take the next objects of the state that `reset` began with, each once, and the counts that came with it. */
  extend(entries, counts) {
    for (const [id, entity] of entries) {
      if (this.entities.has(id)) continue;
      this.entities.set(id, entity);
      this.#derive(id, undefined, entity);
    }
    this.nodes.sortNames();
    this.#startCounters(counts);
  }

  /** What objects that change from now on were before, by id, until `noting` has it no more. */
  note() {
    const noted = new Map();
    this.noting.add(noted);
    return noted;
  }

  /** Fold a frame. Returns whether anything was new. Raises GapError. */
  apply(frame) {
    const before = this.run.apply(frame);
    if (!before) return false;
    this.#follow(before);
    if (frame.counts) this.counters.extend(frame.counts);
    else if (frame.first === frame.last) this.#count(before);
    else this.counters.restart(this.seq, this.at, this.#queues());
    return true;
  }

  /** Go to any other event by what differs there: {seq, at, changes, events}. */
  move(change) {
    this.#follow(this.run.move(change));
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
    this.#follow(past.before);
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
    this.#follow(after);
    this.counters.restore(past.counted);
    return true;
  }

  /** Derive the views of the objects that changed, from what they were before. */
  #follow(before) {
    for (const [id, entity] of before) {
      for (const noted of this.noting) if (!noted.has(id)) noted.set(id, entity);
      this.#derive(id, entity, this.entities.get(id));
    }
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
