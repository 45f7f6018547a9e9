import {KINDS} from "../model/operation_lanes.js";
import {ObjectEvents} from "./object_events.js";

/**
 * What the server keeps of one node, followed while the run goes on: `events` about the node itself, and
 * `done`, what was done about its volumes, of which most is told of pods. Both oldest first, also
 * those after the place shown.
 */
export class NodeRecord {
  constructor(board, id) {
    this.told = new ObjectEvents(board, () => id);
    this.operations = new ObjectEvents(board, () => id, {query: {changes: id, kind: KINDS.join(",")}});
    this.events = this.told.events;
    this.done = this.operations.events;
  }

  follow() {
    this.told.start();
    this.operations.start();
  }
}
