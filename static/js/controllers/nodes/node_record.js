import {computed} from "@preact/signals";

import {KINDS} from "../../model/nodes/operation_lanes.js";
import {Manifest} from "../run/manifest.js";
import {ObjectEvents} from "../session/object_events.js";

/** The query for all operations on the volumes of a node. */
export function operationsOf(id) {
  return {...concerning(id), kind: KINDS.join(",")};
}

/** The query for all events that concern a node: they change what it has, such as a pod or a volume. */
function concerning(id) {
  return {changes: id};
}

/**
 * The recorded events of one node, kept up to date: `done` are the operations on its volumes, including
 * events about pods; `events` are all that concern it. Both oldest first, including those after the event shown.
 * `manifest` is the node as the API server has it at the event shown.
 */
export class NodeRecord {
  constructor(session, id) {
    this.own = new ObjectEvents(session, () => id);
    this.others = new ObjectEvents(session, () => id, {queryOf: concerning});
    this.done = computed(() => this.others.events.value.filter(({kind}) => KINDS.includes(kind)));
    this.events = computed(() => merged(this.own.events.value, this.others.events.value));
    this.manifest = new Manifest(session, id, "json");
  }

  follow() {
    this.own.start();
    this.others.start();
    this.manifest.start();
  }
}

/** The events of both, each once, oldest first. */
export function merged(some, others) {
  const known = new Set(some.map(({seq}) => seq));
  return [...some, ...others.filter(({seq}) => !known.has(seq))].sort((a, b) => a.seq - b.seq);
}
