"""A history: operations of clients on objects, and what watches told."""

import itertools
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal["create", "update", "patch", "delete", "get"]
OK, OPEN = "ok", "open"
ABSENT = "NotFound"
EXISTS = "AlreadyExists"
CONFLICT = "Conflict"


@dataclass(frozen=True, slots=True)
class Operation:
    """One request about one object, and its answer.

    `outcome` is "ok", "open" where nobody knows, or the reason of a refusal. `value` is what was
    written, or read; each write has a value of its own. Times are of one monotonic clock.
    """

    number: int
    kind: Kind
    name: str
    value: str = ""
    expect: int = 0
    """The version that an update names."""
    outcome: str = OPEN
    version: int = 0
    """Of the object in the answer."""
    began: float = 0.0
    ended: float = float("inf")

    @property
    def is_write(self) -> bool:
        """Whether it gives the object a value."""
        return self.kind in ("create", "update", "patch")

    def __str__(self) -> str:
        return f"{self.kind} {self.name}={self.value or '-'} ({self.outcome}, {self.version})"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of all objects: its version, and value and version of each."""

    version: int
    objects: dict[str, tuple[str, int]]
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Change:
    """An event of a watch; ADDED, MODIFIED or DELETED."""

    kind: str
    name: str
    value: str
    version: int


@dataclass(slots=True)
class Following:
    """What one client was told from a list on, by as many watches as that took."""

    began: Listing
    changes: list[Change] = field(default_factory=list[Change])
    upto: int = 0
    """The newest version that it was told of, by a change or a bookmark."""


@dataclass(slots=True)
class History:
    """What all clients of an episode did; written by many threads."""

    operations: list[Operation] = field(default_factory=list[Operation])
    listings: list[Listing] = field(default_factory=list[Listing])
    followings: list[Following] = field(default_factory=list[Following])
    final: Listing | None = None
    """When nothing was going on any more."""
    last: int = 0
    """The version of the object that was written last: who was told of it was told of all."""
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, kind: Kind, name: str, value: str = "", expect: int = 0) -> Operation:
        """An operation that is about to be sent."""
        number = next(self._numbers)
        return Operation(number, kind, name, value, expect, began=time.monotonic())

    def end(
        self, operation: Operation, outcome: str, version: int = 0, value: str = ""
    ) -> Operation:
        """Note what an operation was told; one that is open never ends."""
        ended = float("inf") if outcome == OPEN else time.monotonic()
        done = replace(
            operation,
            outcome=outcome,
            version=version,
            value=value or operation.value,
            ended=ended,
        )
        with self._lock:
            self.operations.append(done)
        return done

    def note(self, listing: Listing) -> Listing:
        """Keep a list."""
        with self._lock:
            self.listings.append(listing)
        return listing
