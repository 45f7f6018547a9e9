"""What every format is written by: it is given the run's events in order, and returns bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Protocol

import orjson

from engine.kernel.recorder import EventRow
from engine.kernel.units import EPOCH, SECOND

_UNIX: Final = int(EPOCH.timestamp()) * SECOND


class ExportError(ValueError):
    """A run that a format cannot be made of; the message is a sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What an encoder knows of a run before its events.

    `ahead` is what clocks show at its beginning, in ns since EPOCH; `pod` the entity id of the one pod
    that a format is about, if it is about one.
    """

    name: str
    profile: str
    seed: int = 0
    ahead: int = 0
    pod: str = ""

    def unix(self, at: int) -> int:
        """The clock of the run at virtual time *at*, in ns since 1970."""
        return _UNIX + self.ahead + at

    def rfc3339(self, at: int) -> str:
        """The same as text, with microseconds."""
        moment = EPOCH + timedelta(microseconds=(self.ahead + at) // 1_000)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Encoder(Protocol):
    """Writes one run."""

    def begin(self) -> bytes:
        """What comes before the first event."""
        ...

    def take(self, rows: Sequence[EventRow]) -> bytes:
        """Go on with the next events."""
        ...

    def end(self) -> bytes:
        """What is left. Raises ExportError."""
        ...


def parsed(text: str | None) -> Any:
    """The evidence or the changes of an event; an empty mapping for none."""
    return orjson.loads(text) if text else {}
