import {computed} from "@preact/signals";

import {KINDS} from "../../model/nodes/operation_lanes.js";
import {ObjectEvents} from "../session/object_events.js";

/** The query for all operations on the volumes of a node. */
export function operationsOf(id) {
  return {changes: id, kind: KINDS.join(",")};
}

/**
 * The recorded events of one node, kept up to date: `done` are the operations on its volumes, including
 * events about pods; `events` are these and all events about the node itself. Both oldest first,
 * including those after the event shown.
 */
export class NodeRecord {
  constructor(session, id) {
    this.own = new ObjectEvents(session, () => id);
    this.operations = new ObjectEvents(session, () => id, {queryOf: operationsOf});
    this.done = this.operations.events;
    this.events = computed(() => merged(this.own.events.value, this.done.value));
  }

  follow() {
    this.own.start();
    this.operations.start();
  }
}

/** The events of both, each once, oldest first. */
export function merged(some, others) {
  const known = new Set(some.map(({seq}) => seq));
  return [...some, ...others.filter(({seq}) => !known.has(seq))].sort((a, b) => a.seq - b.seq);
}
