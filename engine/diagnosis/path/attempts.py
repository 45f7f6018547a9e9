"""The attempts on one pod, and whom each evicted."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.diagnosis.path.record import Record
from engine.kernel.recorder import Event

_FAILED = ("FailedScheduling", "PodParked", "PodBackedOff", "PodForgotten", "AssumptionExpired")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: `end` is the event that decided it, None while it is under way."""

    number: int
    start: Event
    end: Event | None
    victims: tuple[str, ...] = ()

    @property
    def node(self) -> str:
        """The node that it found, "" for none."""
        if self.end is None or self.end.kind != "PodAssumed":
            return ""
        return self.end.message.removeprefix("to ").partition(",")[0]


def attempts_of(record: Record, own: Sequence[Event]) -> list[Attempt]:
    """The attempts among a pod's *own* events. A placement that was taken back counts as failed."""
    starts = [i for i, event in enumerate(own) if event.kind == "AttemptStarted"]
    found: list[Attempt] = []
    for number, (i, following) in enumerate(pairwise([*starts, len(own)]), 1):
        end = _end(own[i + 1 : following])
        found.append(Attempt(number, own[i], end, _victims(record, own[i], end)))
    return found


def _end(later: Sequence[Event]) -> Event | None:
    assumed = None
    for event in later:
        if event.kind in _FAILED:
            return event
        if event.kind == "PodAssumed":
            assumed = event
        if event.kind == "PodBound":
            break
    return assumed


def _victims(record: Record, start: Event, end: Event | None) -> tuple[str, ...]:
    if end is None or end.kind != "FailedScheduling":
        return ()
    causes = record.causes(end.seq, after=start.seq)
    return tuple(event.object for event in causes if event.kind == "PodEvicted")
