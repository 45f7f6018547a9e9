import {computed} from "@preact/signals";

import {KINDS} from "../model/operation_lanes.js";
import {ObjectEvents} from "./object_events.js";

/** What asks for all that was done about the volumes of a node. */
export function operationsOf(id) {
  return {changes: id, kind: KINDS.join(",")};
}

/**
 * What the server keeps of one node, followed while the run goes on: `done` is what was done about its
 * volumes, some of it told of pods, and `events` are these and all about the node itself. Both oldest
 * first, also those after the place shown.
 */
export class NodeRecord {
  constructor(session, id) {
    this.told = new ObjectEvents(session, () => id);
    this.operations = new ObjectEvents(session, () => id, {queryOf: operationsOf});
    this.done = this.operations.events;
    this.events = computed(() => merged(this.told.events.value, this.done.value));
  }

  follow() {
    this.told.start();
    this.operations.start();
  }
}

/** The events of both, each once, oldest first. */
function merged(some, others) {
  const known = new Set(some.map(({seq}) => seq));
  return [...some, ...others.filter(({seq}) => !known.has(seq))].sort((a, b) => a.seq - b.seq);
}
