import {mergePatch} from "../shared/fold.js";
import {RunModel} from "./run_model.js";

/** So many objects are one piece of work. */
const PIECE = 2_000;

/**
 * The state at an event as it comes, part by part: all objects of it, or what differs from the state of a model that is known.
 *
 * `model` has the whole state once nothing is missing: after the last part, or, where changes came, after `composed`.
 */
export class Arrival {
  constructor() {
    this.model = new RunModel();
    /** The first part, which says of which event it is. @type {any} */
    this.first = null;
    /** What differs, by id; null: the whole state comes. @type {Map<string, any> | null} */
    this.changes = null;
    this.parts = 0;
    this.isWhole = false;
  }

  /** Take the next part. The first one has {seq, at, events}, too. */
  take(part) {
    if (this.first === null) this.#begin(part);
    else if (this.changes === null) this.model.extend(Object.entries(part.state), this.first.counts);
    else this.#learn(part.changes);
    this.parts += 1;
    this.isWhole = !part.more;
  }

  /**
   * Make the model from `known`, a model that has the state which the changes begin with, or had it when `noted` began
   * (`RunModel.note`). Pauses between pieces of work.
   */
  *composed(known, noted) {
    const {seq, at, events} = this.first;
    this.model.reset({seq, at, events});
    let piece = [];
    for (const entry of this.#entries(known, noted)) {
      if (piece.push(entry) < PIECE) continue;
      this.model.extend(piece);
      piece = [];
      yield;
    }
    this.model.extend(piece);
  }

  #begin(part) {
    this.first = part;
    if (part.changes) {
      this.changes = new Map();
      this.#learn(part.changes);
    } else this.model.reset(part);
  }

  #learn(changes) {
    for (const [id, patch] of Object.entries(changes)) this.changes?.set(id, patch);
  }

  /** The objects of the new state, from what they were and what differs. Some come twice if the known model moves meanwhile. */
  *#entries(known, noted) {
    const changes = this.changes ?? new Map();
    for (const [id, entity] of known.entities) {
      const found = changed(noted.has(id) ? noted.get(id) : entity, changes.get(id));
      if (found) yield [id, found];
    }
    for (const ids of [noted.keys(), changes.keys()]) {
      for (const id of ids) {
        const found = this.model.entities.has(id) ? undefined : changed(noted.get(id), changes.get(id));
        if (found) yield [id, found];
      }
    }
  }
}

function changed(entity, patch) {
  return patch === undefined ? entity : (mergePatch(entity, patch) ?? undefined);
}
