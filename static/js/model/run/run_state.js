import {gettext} from "../../lib/words.js";
import {foldInto, unfold} from "../shared/fold.js";

/** How many of the newest events are kept. */
export const KEPT_EVENTS = 50;

/**
 * The view state of a run at one seq: what the server streamed, folded.
 *
 * Frames must be contiguous. A repeated frame is dropped; one that overlaps or comes after a gap is rejected, and
 * the caller resumes with `after=seq`.
 */
export class RunState {
  constructor() {
    this.entities = new Map();
    this.events = [];
    this.seq = 0;
    this.at = 0;
  }

  /** Take a whole state: {seq, at, state, events}. The state is an object, or a Map that nobody else changes. */
  reset({seq, at, state, events}) {
    this.entities = state instanceof Map ? state : new Map(Object.entries(state ?? {}));
    this.events = newestFirst(events ?? []).slice(0, KEPT_EVENTS);
    this.seq = seq;
    this.at = at;
  }

  /**
   * Fold a frame {first, last, at, changes, events}.
   *
   * Returns the changed entities as they were before, or null for a repeated frame.
   * Raises GapError when the frame does not continue this state.
   */
  apply(frame) {
    if (frame.last <= this.seq) return null;
    if (frame.first !== this.seq + 1) throw new GapError(this.seq, frame.first);
    const before = foldInto(this.entities, frame.changes);
    this.events = keepNewest(this.events, frame.events ?? []);
    this.seq = frame.last;
    this.at = frame.at;
    return before;
  }

  /**
   * Go to any other event by what differs there: {seq, at, changes, events}. Returns the changed entities as they were
   * before.
   */
  move({seq, at, changes, events}) {
    const before = foldInto(this.entities, changes);
    this.events = newestFirst(events).slice(0, KEPT_EVENTS);
    this.seq = seq;
    this.at = at;
    return before;
  }

  /** Fold one event. Returns what `undo` needs. */
  step(event) {
    const past = {seq: this.seq, at: this.at, events: this.events};
    past.before = this.apply({
      first: event.seq,
      last: event.seq,
      at: event.at,
      changes: event.changes,
      events: [event],
    });
    return past;
  }

  /** Undo the newest `step`. Returns the ids of the entities that changed. */
  undo(past) {
    unfold(this.entities, past.before);
    this.seq = past.seq;
    this.at = past.at;
    this.events = past.events;
    return past.before.keys();
  }
}

/** Frames are missing between the known state and this frame. */
export class GapError extends Error {
  constructor(seq, first) {
    super(gettext("frames are missing: the state is at seq {seq}, the frame begins with {first}", {seq, first}));
    this.name = "GapError";
  }
}

function keepNewest(events, added) {
  const newer = newestFirst(added);
  return [...newer, ...events].slice(0, KEPT_EVENTS);
}

function newestFirst(events) {
  return [...events].sort((a, b) => b.seq - a.seq);
}
