"""The trail: two bytes of the digest after each event, by which a replay sees where it parts.

A digest over everything says that two histories differ, and not where. The chain goes on from what
came before, so that from the first difference on nearly all of the trail differs: an event at which
two histories agree by chance (one in 65,536) is found one later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.kernel.recorder import GENESIS, EventRow, chain

WIDTH = 2


class Trail:
    """Grows with a history; `digest` is the chain so far, in hex."""

    def __init__(self) -> None:
        self._chain = GENESIS
        self.bytes = bytearray()

    def take(self, rows: Iterable[EventRow]) -> None:
        """Go on with the next events."""
        for row in rows:
            self._chain = chain(self._chain, row)
            self.bytes += self._chain[:WIDTH]

    @property
    def events(self) -> int:
        """How many events it has taken."""
        return len(self.bytes) // WIDTH

    @property
    def digest(self) -> str:
        """Over all events so far."""
        return self._chain.hex()


@dataclass(frozen=True, slots=True)
class Parting:
    """The first event that a replay has otherwise, or has not, or has beyond those of the file."""

    seq: int
    mine: EventRow | None


class TrailCheck:
    """A replay beside the trail of a file; it may begin in the middle, after *seq* events."""

    def __init__(self, trail: bytes, events: int, *, seq: int = 0, digest: str = "") -> None:
        self._trail, self._events = trail, events
        self._seq, self._chain = seq, bytes.fromhex(digest) if digest else GENESIS

    def take(self, rows: Iterable[EventRow]) -> Parting | None:
        """Compare the next events; where they part first, or None."""
        for row in rows:
            self._chain = chain(self._chain, row)
            self._seq += 1
            if self._seq > self._events or not self._agrees():
                return Parting(self._seq, row)
        return None

    def finish(self, digest: str) -> Parting | None:
        """Compare what was reached with the end of the file."""
        if self._seq == self._events and self._chain.hex() == digest:
            return None
        return Parting(min(self._seq + 1, max(self._events, 1)), None)

    def _agrees(self) -> bool:
        place = (self._seq - 1) * WIDTH
        return not self._trail or self._trail[place : place + WIDTH] == self._chain[:WIDTH]
