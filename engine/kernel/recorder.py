"""The recorder: every step of a run as a numbered event, and the digest of them all."""

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import orjson

from engine.kernel.loop import EventLoop
from engine.kernel.view import Changes, State, fold


class Event(NamedTuple):
    """One fact of a run's history. See docs/events.md.

    `seq` counts from 1 without gaps, `at` is virtual nanoseconds, `cause` the seq of the event that
    led here (None for a beginning), `data` the evidence, `changes` a merge patch on the view state.
    """

    seq: int
    at: int
    kind: str
    object: str
    component: str
    cause: int | None
    message: str
    data: dict[str, Any] | None
    changes: Changes | None

    def to_dict(self) -> dict[str, Any]:
        """The event as the JSON object that exports and the browser see."""
        return self._asdict()


class EventRow(NamedTuple):
    """An event with its evidence and changes encoded once, ready for storage and for the digest."""

    seq: int
    at: int
    kind: str
    object: str
    component: str
    cause: int | None
    message: str
    data: str | None
    changes: str | None


# As Event(…), without the detour that NamedTuple's own constructor takes.
_new: Callable[..., Any] = cast("Any", tuple).__new__

GENESIS = b"\0" * 32
# How many reasons of Kubernetes Events are kept of each object.
_MOST_NOTED = 4


def encode(value: Any) -> str | None:
    """Canonical JSON of *value* (sorted keys, no spaces), or None for nothing."""
    return None if value is None else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def chain(digest: bytes, row: EventRow) -> bytes:
    """The digest of a history of digest *digest* that is continued by *row*."""
    return hashlib.sha256(digest + orjson.dumps(tuple(row))).digest()


def event_row(event: Event) -> EventRow:
    """*event* with its JSON columns encoded."""
    return _new(EventRow, (*event[:7], encode(event.data), encode(event.changes)))


class Recorder:
    """Numbers events, keeps those not yet taken, and folds the view state and the digest."""

    __slots__ = (
        "_digest",
        "_loop",
        "_pending",
        "_view",
        "changed",
        "changed_since",
        "heard",
        "most",
        "noted",
        "seq",
        "told",
        "troubles",
    )

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self.seq = 0
        # How many events there may be: the step that records so many is the last for now.
        self.most = 1 << 62
        self._pending: list[Event] = []
        self._view: State = {}
        self._digest = GENESIS
        # Which entities of the view changed after event `changed_since`; None where nobody asks.
        self.changed: set[str] | None = None
        self.changed_since = 0
        # By object the newest Kubernetes Events to be known later: reason → message, newest last.
        self.noted: dict[str, dict[str, str]] = {}
        # By object what fails and is tried again, as pages show it; see RecordedEvents.
        self.troubles: State = {}
        # By pod what the files tell of its containers, as pages show it; see ToldTroubles.
        self.told: State = {}
        # Called for each Kubernetes Event with the object, the seq, the reason and the message.
        self.heard: Callable[[str, int, str, str], None] | None = None

    @property
    def now(self) -> int:
        """The virtual time of what is recorded now, in ns."""
        return self._loop.now

    def note(self, object: str, reason: str, message: str) -> None:
        """Keep the newest message of *reason* about *object*, until the object is deleted."""
        newest = self.noted.setdefault(object, {})
        newest.pop(reason, None)
        newest[reason] = message
        if len(newest) > _MOST_NOTED:
            del newest[next(iter(newest))]

    def record(
        self,
        kind: str,
        object: str,
        component: str,
        message: str = "",
        data: dict[str, Any] | None = None,
        changes: Changes | None = None,
    ) -> int:
        """Write down that *kind* happened to *object* now; returns the event's seq.

        What is recorded or scheduled later in the same callback has this event as its cause.
        """
        loop = self._loop
        self.seq = seq = self.seq + 1
        if seq >= self.most:
            loop.halted = True
        if changes and (self.noted or self.troubles or self.told):
            for entity, patch in changes.items():
                if patch is None:
                    self.noted.pop(entity, None)
                    self.troubles.pop(entity, None)
                    self.told.pop(entity, None)
        cause = loop.cause or None
        self._pending.append(
            _new(Event, (seq, loop.now, kind, object, component, cause, message, data, changes))
        )
        loop.cause = seq
        if self.heard is not None and data is not None and "event" in data:
            self.heard(object, seq, data.get("reason", kind), message)
        return seq

    def take(self) -> tuple[list[Event], list[EventRow]]:
        """What was recorded since the last take, plain and encoded; view and digest move on."""
        events, self._pending = self._pending, []
        rows = [event_row(event) for event in events]
        digest, view = self._digest, self._view
        for event, row in zip(events, rows, strict=True):
            digest = chain(digest, row)
            if event.changes:
                fold(view, event.changes)
                if self.changed is not None:
                    self.changed.update(event.changes)
        self._digest = digest
        return events, rows

    def note_changes(self) -> set[str] | None:
        """The entities of the view that changed since this was called last; None at the first call.

        Everything recorded must have been taken.
        """
        changed, self.changed, self.changed_since = self.changed, set(), self.seq
        return changed

    @property
    def pending(self) -> list[Event]:
        """Recorded and not yet taken."""
        return self._pending

    @property
    def view(self) -> State:
        """The view state folded over every event taken. Not to be changed by the caller."""
        return self._view

    @property
    def digest(self) -> str:
        """Hex digest over every event taken."""
        return self._digest.hex()
