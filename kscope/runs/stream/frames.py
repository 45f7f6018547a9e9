"""Frames: the events of a range and the state after it, encoded once for all readers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from engine.kernel.view import Attributes, Changes, NotComposable, State, compose, diff
from kscope.runs.history.series import Sample, Samples, Tally, extend
from kscope.runs.selectors import NEWEST

# A value takes roughly this many times the length of its JSON text in memory.
IN_MEMORY = 5


# An event as the database has it: export.COLUMNS, data and changes as JSON text.
Row = tuple[Any, ...]
Rows = list[Row]
Before = dict[str, Attributes | None]


@dataclass(slots=True)
class Frame:
    """A contiguous range of events as one message; `full` is made when a client wants all events.

    `events` are the newest of the range: all of them, unless it was joined from several frames.
    `before` is what the hub knew of the changed entities when the range began, `counts` are the
    samples of the range (see history/series.py), where the state before it was known.
    """

    first: int
    last: int
    at: int
    changes: Changes
    events: list[bytes]
    before: Before = field(default_factory=dict)
    counts: list[Sample] | None = None
    size: int = 0
    _newest: str | None = None
    _full: str | None = None

    def weigh(self) -> None:
        """Set `size`: roughly the bytes of its events, its changes, and as much again for `before`."""
        self.size = sum(map(len, self.events)) + 2 * IN_MEMORY * len(orjson.dumps(self.changes))

    def forget_texts(self) -> None:
        """Drop the encoded messages to save memory; `text` encodes them again when needed."""
        self._newest = self._full = None

    def text(self, *, full: bool) -> str:
        """The message, encoded once."""
        if full:
            if self._full is None:
                self._full = self._encode(self.events)
            return self._full
        if self._newest is None:
            self._newest = self._encode(self.events[-NEWEST:])
        return self._newest

    def _encode(self, events: list[bytes]) -> str:
        message = {
            "type": "frame",
            "first": self.first,
            "last": self.last,
            "at": self.at,
            "changes": self.changes,
            "events": [orjson.Fragment(event) for event in events],
            "omitted": self.last - self.first + 1 - len(events),
        }
        if self.counts is not None:
            message["counts"] = self.counts
        return orjson.dumps(message).decode()


def frame_folded(rows: Rows, state: State, tally: Tally | None = None) -> Frame:
    """The rows of events as one frame, after folding them into *state*, of which *tally* keeps count.

    One merge patch leads from the state before the events to the state after them, even if their own
    patches do not compose into one.
    """
    before: Before = {}
    samples = Samples(tally or Tally(state))
    for _, at, *_, text in rows:
        changes: Changes = orjson.loads(text) if text else {}
        for entity in changes:
            if entity not in before:
                before[entity] = state.get(entity)
        samples.fold(at, changes)
    events = [_encoded(row) for row in rows]
    changed = _difference(before, state)
    first, *_ = rows[0]
    last, at, *_ = rows[-1]
    return Frame(first, last, at, changed, events, before, samples.taken)


def frames_joined(frames: Sequence[Frame], state: State) -> Frame:
    """Frames that follow each other up to *state* as one, with the newest events."""
    before: Before = {}
    events: list[bytes] = []
    counts: list[Sample] = []
    for frame in frames:
        extend(counts, frame.counts or ())
    for frame in reversed(frames):
        before.update(frame.before)
        if len(events) < NEWEST:
            events = frame.events[-NEWEST:] + events
    first, last = frames[0], frames[-1]
    changes = _difference(before, state)
    return Frame(first.first, last.last, last.at, changes, events[-NEWEST:], before, counts)


def _difference(before: Before, state: State) -> Changes:
    """The patch that brings the entities of *before* to what they are in *state*."""
    changes: Changes = {}
    for entity, old in before.items():
        new = state.get(entity)
        if new is None or old is None:
            if new is not old:
                changes[entity] = new
        elif patch := diff(old, new):
            changes[entity] = patch
    return changes


def frames_composed(rows: Rows) -> list[Frame]:
    """Rows of events as frames, without knowing the state that they follow.

    One frame, or more where their changes cannot be composed into one.
    """
    frames: list[Frame] = []
    for row in rows:
        seq, at, *_, text = row
        changes: Changes = orjson.loads(text) if text else {}
        try:
            if not frames:
                raise NotComposable
            _add(frames[-1].changes, changes)
        except NotComposable:
            frames.append(Frame(seq, seq, at, changes, [_encoded(row)]))
        else:
            frame = frames[-1]
            frame.last, frame.at = seq, at
            frame.events.append(_encoded(row))
    return frames


def _add(known: Changes, later: Changes) -> None:
    """Compose *later* into *known*. Raises NotComposable, and then *known* stays as it was."""
    joint = {
        entity: compose(known[entity], patch) if entity in known else patch
        for entity, patch in later.items()
    }
    known.update(joint)


def _encoded(row: Row) -> bytes:
    seq, at, kind, obj, component, cause, message, data, changes = row
    return orjson.dumps(
        {
            "seq": seq,
            "at": at,
            "kind": kind,
            "object": obj,
            "component": component,
            "cause": cause,
            "message": message,
            "data": orjson.Fragment(data) if data else None,
            "changes": orjson.Fragment(changes) if changes else None,
        }
    )
