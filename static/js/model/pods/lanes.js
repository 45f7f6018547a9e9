import {isUnqueued} from "../health/pod.js";
import {byName} from "../shared/format.js";

/** The lanes of pods without a node, in the order of the board; the last one has those that no scheduler queues. */
export const LANES = ["in_flight", "active", "backoff", "unschedulable", "gated", "unqueued"];

/** How many pods of a lane are drawn; the others are counted. */
export const DRAWN = 50;

// A lane keeps more pods sorted than it draws, so that pods can leave it before all must be sorted again.
const KEPT = 8 * DRAWN;

/** The pods of each lane, updated from the entities that changed. */
export class Lanes {
  /** @type {Map<string, Lane>} */
  lanes;

  constructor() {
    this.clear();
  }

  clear() {
    this.lanes = new Map(LANES.map((lane) => [lane, new Lane(ORDER[lane])]));
  }

  /** Update one pod from its old and its new attributes; either may be undefined. */
  update(id, before, after) {
    if (before) this.lanes.get(laneOf(before))?.remove(id);
    if (after) this.lanes.get(laneOf(after))?.add(id, after);
  }

  size(lane) {
    return this.lanes.get(lane)?.pods.size ?? 0;
  }

  /** The first pods of a lane, [id, pod], in the order of that lane. */
  first(lane, limit = DRAWN) {
    return this.lanes.get(lane)?.first(limit) ?? [];
  }
}

/** The lane of a pod, or null. */
function laneOf(pod) {
  return pod.queue ?? (isUnqueued(pod) ? "unqueued" : null);
}

/** One lane: all its pods, and the first of them in order. */
class Lane {
  constructor(order) {
    this.order = order;
    this.pods = new Map();
    this.front = [];
    /** Whether `front` is sorted. A lane that is filled with thousands of pods is sorted once, on demand. */
    this.known = false;
  }

  add(id, pod) {
    const whole = this.front.length === this.pods.size;
    this.pods.set(id, pod);
    if (!this.known) return;
    const entry = [id, pod];
    const at = position(this.front, entry, this.order);
    if (at === this.front.length && !whole) return;
    this.front.splice(at, 0, entry);
    if (this.front.length > KEPT) this.front.pop();
  }

  remove(id) {
    if (!this.pods.delete(id) || !this.known) return;
    const at = this.front.findIndex(([each]) => each === id);
    if (at >= 0) this.front.splice(at, 1);
  }

  first(limit) {
    if (!this.known || this.front.length < Math.min(limit, this.pods.size)) {
      this.front = smallest([...this.pods], this.order, KEPT);
      this.known = true;
    }
    return this.front.slice(0, limit);
  }
}

/** Where an entry belongs in a sorted list. */
function position(sorted, entry, order) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (order(entry, sorted[middle]) < 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

const number = (value) => value ?? 0;
const since = ([, a], [, b]) => number(a.queue_since) - number(b.queue_since);
const name = ([a], [b]) => byName(a, b);

// PrioritySort: the higher priority first, then the pod that was queued first.
const prioritySort = (a, b) => number(b[1].priority) - number(a[1].priority) || since(a, b) || name(a, b);

const byCreation = (a, b) => number(a[1].created) - number(b[1].created) || name(a, b);

const ORDER = {
  in_flight: (a, b) => since(a, b) || name(a, b),
  active: prioritySort,
  backoff: (a, b) => number(a[1].backoff_until) - number(b[1].backoff_until) || prioritySort(a, b),
  unschedulable: (a, b) => since(a, b) || name(a, b),
  gated: byCreation,
  unqueued: byCreation,
};

/** The `limit` smallest of many, in order, without sorting them all. */
function smallest(items, order, limit) {
  if (items.length <= limit * 2) return items.sort(order).slice(0, limit);
  const kept = items.slice(0, limit).sort(order);
  for (const item of items.slice(limit)) {
    if (order(item, kept[limit - 1]) >= 0) continue;
    kept.splice(position(kept, item, order), 0, item);
    kept.pop();
  }
  return kept;
}

/** The remaining part of a pod's backoff, 0…1. */
export function backoffLeft(pod, at) {
  const whole = number(pod.backoff_until) - number(pod.queue_since);
  if (whole <= 0) return 0;
  return Math.min(1, Math.max(0, (pod.backoff_until - at) / whole));
}
