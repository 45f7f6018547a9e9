import {stateNow} from "../machines/machines.js";
import {objectsOf} from "../machines/objects.js";
import {isTerminating} from "../volumes/terminating.js";

/** How many objects are in each state of a machine, kept up to date from what changed. */
export class Tally {
  constructor(machine) {
    this.machine = machine;
    /** How the ids begin of the objects that it counts. */
    this.prefix = `${machine.within ?? machine.follows}/`;
    this.clear();
  }

  clear() {
    this.counts = new Map();
  }

  update(id, before, after) {
    const {within} = this.machine;
    // Most changes of a node are none of its volumes.
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

  /** How many are inside of the machine, on their way through it. */
  get held() {
    const {states} = this.machine;
    return states.reduce((sum, {key, passing, outer}) => sum + (passing || outer ? 0 : this.count(key)), 0);
  }
}

/**
 * As Tally, for the two sides of bindings: counted on demand, because a change of one side may
 * change the state of the other.
 */
export class BindingTally {
  constructor(machine, claims, entities) {
    this.machine = machine;
    this.claims = claims;
    /** Gives the entities of the model, which are others after every reset. */
    this.entities = entities;
    this.version = null;
  }

  count(state) {
    return this.#counted().get(state) ?? 0;
  }

  get held() {
    return [...this.#counted().entries()].reduce((sum, [state, found]) => sum + (state ? found : 0), 0);
  }

  /** How many were deleted and are still there. */
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
