"""The record of a run whose events are all at hand."""

from bisect import bisect_right
from collections.abc import Sequence

from engine.kernel.recorder import Event


class HeldRecord:
    """Its events, from the first on."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    def of_object(self, entity: str) -> list[Event]:
        """See engine.diagnosis.path.record.Record."""
        return [event for event in self._events if event.object == entity]

    def of_kind(self, kind: str, message: str, *, after: int, to: int) -> list[Event]:
        """See engine.diagnosis.path.record.Record."""
        first, last = (bisect_right(self._events, seq, key=_seq) for seq in (after, to))
        return [
            event
            for event in self._events[first:last]
            if event.kind == kind and event.message.startswith(message)
        ]

    def causes(self, seq: int, *, after: int) -> list[Event]:
        """See engine.diagnosis.path.record.Record."""
        found: list[Event] = []
        wanted: int | None = seq
        while wanted is not None and wanted > after:
            event = self._events[wanted - 1]
            found.append(event)
            wanted = event.cause
        return found[::-1]


def _seq(event: Event) -> int:
    return event.seq
