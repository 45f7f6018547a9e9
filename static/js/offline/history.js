import {foldInto} from "../model/shared/fold.js";
import {gettext} from "../lib/words.js";
import {Refusal} from "./refusal.js";

/** How many states that were folded are kept, to go on from. */
const KEPT_STATES = 8;
/** What whose sake is looked up of. */
const EVICTIONS = ["PodEvicted", "PodDisrupted", "Preempted"];

/**
 * The recorded events of a run, and its state after each.
 *
 * `chunks` are the events in order, each {first, at, read}: the seq and the time of its first event, and a function that
 * returns its events. `keyframes` are whole states, each {seq, at, read}; the first of them is where the recording begins.
 */
export class History {
  constructor({chunks, keyframes, head}) {
    this.chunks = chunks;
    this.keyframes = keyframes;
    /** The seq of the newest event. */
    this.head = head;
    this.read = new Map();
    /** States that were folded, the newest use last: {seq, at, entities}. */
    this.states = [];
  }

  /** The event after which the recording begins; 0 for a whole one. */
  get base() {
    return this.keyframes[0].seq;
  }

  /** The event of this number, or undefined. */
  event(seq) {
    if (seq <= this.base || seq > this.head) return undefined;
    const place = lastOf(this.chunks, ({first}) => first <= seq);
    return this.#events(place)[seq - this.chunks[place].first];
  }

  /** The events from one seq to another, both included. */
  *between(first, last) {
    const end = Math.min(last, this.head);
    let seq = Math.max(first, this.base + 1);
    while (seq <= end) {
      const place = lastOf(this.chunks, (chunk) => chunk.first <= seq);
      const events = this.#events(place);
      for (let i = seq - this.chunks[place].first; i < events.length && seq <= end; i += 1) {
        yield events[i];
        seq += 1;
      }
    }
  }

  /** The newest event that is not after a moment. */
  seqAt(at) {
    const place = lastOf(this.chunks, (chunk) => chunk.at <= at);
    if (place < 0) return this.base;
    const events = this.#events(place);
    return this.chunks[place].first + lastOf(events, (event) => event.at <= at);
  }

  /** The state after an event, {seq, at, entities}; before the recording begins there is none. */
  stateAt(seq) {
    const end = Math.min(seq, this.head);
    if (end < this.base) {
      throw new Refusal(gettext("This file begins after event {seq}.", {seq: this.base}), 404);
    }
    const start = this.#nearest(end);
    const entities = new Map(start.entities);
    let {at} = start;
    for (const event of this.between(start.seq + 1, end)) {
      foldInto(entities, event.changes);
      ({at} = event);
    }
    const state = {seq: end, at, entities};
    this.states = [...this.states.filter((each) => each.seq !== end), state].slice(-KEPT_STATES);
    return {...state, entities: new Map(entities)};
  }

  /** The times of all events by their seq; what comes before the recording begins is at its beginning. */
  times() {
    const times = new Array(this.head + 1).fill(this.keyframes[0].at);
    times[0] = 0;
    for (const {seq, at} of this.between(this.base + 1, this.head)) times[seq] = at;
    return times;
  }

  /** The newest events up to one, newest first. */
  newest(seq, count) {
    return [...this.between(seq - count + 1, seq)].reverse();
  }

  /** The events that a query asks for, as the server's {items, continue}: see docs/rest.md. */
  find(query) {
    const matches = matcher(query);
    const [first, last] = this.#range(query);
    const isDescending = query.order === "desc";
    const limit = Number(query.limit ?? 100);
    const items = [];
    for (let seq = isDescending ? last : first; seq >= first && seq <= last; seq += isDescending ? -1 : 1) {
      const event = this.event(seq);
      if (!matches(event)) continue;
      if (items.length === limit) return {items, continue: String(items.at(-1).seq)};
      items.push(this.#told(event));
    }
    return {items, continue: null};
  }

  #range({after, before, from, to, order, continue: place}) {
    const firsts = [this.base + 1, Number(after ?? -1) + 1];
    const lasts = [this.head, isGiven(before) ? before - 1 : this.head];
    if (isGiven(from)) firsts.push(this.seqAt(from - 1) + 1);
    if (isGiven(to)) lasts.push(this.seqAt(Number(to)));
    if (isGiven(place) && order === "desc") lasts.push(place - 1);
    if (isGiven(place) && order !== "desc") firsts.push(Number(place) + 1);
    return [Math.max(...firsts), Math.min(...lasts)];
  }

  /** An eviction by a scheduler says for whose sake it was. */
  #told(event) {
    if (event.component !== "scheduler" || !EVICTIONS.includes(event.kind)) return event;
    let cause = this.event(event.cause);
    while (cause?.component === "scheduler" && cause.kind !== "AttemptStarted") cause = this.event(cause.cause);
    return cause?.kind === "AttemptStarted" ? {...event, by: cause.object} : event;
  }

  #nearest(seq) {
    const keyframe = this.keyframes[lastOf(this.keyframes, (each) => each.seq <= seq)];
    const kept = this.states.filter((each) => each.seq <= seq && each.seq >= keyframe.seq);
    if (kept.length > 0) return kept.reduce((best, each) => (each.seq > best.seq ? each : best));
    return {seq: keyframe.seq, at: keyframe.at, entities: new Map(Object.entries(keyframe.read()))};
  }

  #events(place) {
    if (!this.read.has(place)) this.read.set(place, this.chunks[place].read());
    return this.read.get(place);
  }
}

/** The place of the last member that something is true of, where it is true of the first ones; -1 for none. */
function lastOf(members, isTrue) {
  let low = 0;
  let high = members.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(members[middle])) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function isGiven(value) {
  return value !== undefined && value !== null && value !== "";
}

/** Whether an event is one of those that a query asks for. */
function matcher({kind, object, changes, component, text, kubernetes}) {
  const [kinds, components] = [namesOf(kind), namesOf(component)];
  const isPrefix = /[/*]$/.test(object ?? "");
  const prefix = (object ?? "").replace(/\*+$/, "");
  const words = (text ?? "").toLowerCase();
  return (event) =>
    (kinds === null || kinds.has(event.kind)) &&
    (components === null || components.has(event.component)) &&
    (!object || (isPrefix ? event.object.startsWith(prefix) : event.object === object)) &&
    (!changes || Object.hasOwn(event.changes ?? {}, changes)) &&
    (!words || event.message.toLowerCase().includes(words)) &&
    (!isGiven(kubernetes) || String(kubernetes) === "0" || event.data?.event === true);
}

function namesOf(text) {
  const names = (text ?? "").split(",").filter(Boolean);
  return names.length > 0 ? new Set(names) : null;
}
