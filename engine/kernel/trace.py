"""A trace: the steps by which a component decides, written down by the code that decides.

A run has none. An engine that was made to answer a question about its inside has one as
`EventLoop.trace`: it plays the run again up to the instant in question. A trace changes nothing, and
is in no digest and in no checkpoint. Code that writes to it has three lines:

    trace = self._loop.trace
    if trace is not None and trace.follows(entity):
        trace.add(entity, Popped(...))

A step is a frozen dataclass of plain values. Where upstream does the same is a table of `Place`s
beside the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar


@dataclass(frozen=True, slots=True)
class Place:
    """A function of upstream, from the version v1.*since* on: a path below pkg/, and its name."""

    since: int
    file: str
    function: str


Places = Mapping[str, Sequence[Place]]
"""By the name of a step, its places in upstream, the oldest version first."""

Kind = TypeVar("Kind")


def minor_of(version: str) -> int:
    """34 of "v1.34", and of "v1.34.9"."""
    return int(version.split(".")[1])


def place_of(places: Places, step: str, version: str) -> Place:
    """Where *version*, such as "v1.34", does *step*. Raises KeyError for a step that has no place."""
    minor = minor_of(version)
    found = places[step][0]
    for place in places[step]:
        if place.since <= minor:
            found = place
    return found


class Now(Protocol):
    """Gives the virtual time; the event loop is one."""

    now: int


class Recorded(Protocol):
    """Gives the number of the newest event; the recorder is one."""

    @property
    def seq(self) -> int:
        """Of the newest event."""
        ...


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """A step, the object that it is about, the nanosecond, and the newest event before it."""

    at: int
    seq: int
    entity: str
    step: object


class Trace:
    """Keeps the steps about *entities*, ids such as "pod/shop/web-0"; about all without any."""

    __slots__ = ("_clock", "_entities", "_recorder", "entries")

    def __init__(self, clock: Now, recorder: Recorded, entities: Iterable[str] = ()) -> None:
        self._clock = clock
        self._recorder = recorder
        self._entities = frozenset(entities)
        self.entries: list[TraceEntry] = []

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """A checkpoint has None in its place."""
        return type(None), ()

    def follows(self, entity: str) -> bool:
        """Whether it keeps steps about this object."""
        return not self._entities or entity in self._entities

    def add(self, entity: str, step: object) -> None:
        """Keep *step*, which happens now. Callers ask `follows` before they make it."""
        self.entries.append(TraceEntry(self._clock.now, self._recorder.seq, entity, step))

    def each(self, kind: type[Kind]) -> Iterator[tuple[TraceEntry, Kind]]:
        """The steps of this kind, in order."""
        for entry in self.entries:
            if isinstance(entry.step, kind):
                yield entry, entry.step
