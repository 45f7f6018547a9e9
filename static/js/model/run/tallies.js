import {stateNow} from "../machines/machines.js";
import {objectsOf} from "../machines/objects.js";
import {isTerminating} from "../shared/terminating.js";

/** The number of objects in each state of a machine, updated from the entities that changed. */
export class Tally {
  /** @type {Map<string, number>} */
  counts;

  constructor(machine) {
    this.machine = machine;
    /** The prefix of the ids that it counts. */
    this.prefix = `${machine.within ?? machine.follows}/`;
    this.clear();
  }

  clear() {
    this.counts = new Map();
  }

  update(id, before, after) {
    const {within} = this.machine;
    // Most changes of a node do not affect its volumes.
    if (within && before?.volumes === after?.volumes && before?.attachments === after?.attachments) return;
    for (const [, object] of objectsOf(this.machine, id, before)) this.#add(object, -1);
    for (const [, object] of objectsOf(this.machine, id, after)) this.#add(object, 1);
  }

  #add(object, by) {
    const state = object && this.machine.stateOf(object);
    if (state) this.counts.set(state, this.count(state) + by);
  }

  count(state) {
    return this.counts.get(state) ?? 0;
  }

  /** The number of objects inside the machine. */
  get held() {
    const {states} = this.machine;
    return states.reduce((sum, {key, passing, outer}) => sum + (passing || outer ? 0 : this.count(key)), 0);
  }
}

/**
 * A Tally of claims or volumes, counted on demand: a change of one side of a binding may change the state of
 * the other.
 */
export class BindingTally {
  /** @type {Map<string, number>} */
  counts;
  /** @type {number} */
  leaving;

  constructor(machine, claims, entities) {
    this.machine = machine;
    this.claims = claims;
    /** Returns the entities of the model; a reset replaces them. */
    this.entities = entities;
    this.version = null;
  }

  count(state) {
    return this.#counted().get(state) ?? 0;
  }

  get held() {
    return [...this.#counted()].reduce((sum, [state, found]) => sum + (state ? found : 0), 0);
  }

  /** The number of objects that are terminating. */
  get terminating() {
    this.#counted();
    return this.leaving;
  }

  #counted() {
    const {machine, claims} = this;
    if (this.version === claims.bindings) return this.counts;
    const entities = this.entities();
    this.counts = new Map();
    this.leaving = 0;
    for (const id of machine.key === "claim" ? claims.ids : claims.volumeIds) {
      const object = entities.get(id);
      const state = stateNow(machine, id, object, {claims, entities});
      this.counts.set(state, (this.counts.get(state) ?? 0) + 1);
      if (isTerminating(object)) this.leaving += 1;
    }
    this.version = claims.bindings;
    return this.counts;
  }
}
