"""How long the kubelet and the attach/detach controller wait for what they ask of the world."""

import re
from collections.abc import Mapping
from typing import Final, Protocol

from kscope.sim.latency import DEFAULT_LATENCIES
from kscope.sim.units import HOUR, MICROSECOND, MILLISECOND, MINUTE, NANOSECOND, SECOND

_UNITS: Final = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PART: Final = re.compile(r"(\d+)(?:\.(\d+))?(ns|us|µs|ms|s|m|h)")
_DURATION: Final = re.compile(rf"(?:{_PART.pattern})+")


class Latencies(Protocol):
    """Draws durations, fixed or from a named seeded stream."""

    def draw(self, name: str) -> int:
        """How long the next operation called *name* takes, in ns."""
        ...


class FixedLatencies:
    """The defaults, with some of them replaced."""

    __slots__ = ("_fixed",)

    def __init__(self, fixed: Mapping[str, int] | None = None) -> None:
        self._fixed: dict[str, int] = {**DEFAULT_LATENCIES, **(fixed or {})}

    def draw(self, name: str) -> int:
        """See Latencies. Raises KeyError for a name that has no default."""
        return self._fixed[name]


def parse_duration(text: str) -> int:
    """A duration as Go writes it ("1m30s", "250ms") in ns.

    Raises ValueError when *text* is none.
    """
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration such as 10s, 1m30s or 250ms")
    total = 0
    for whole, part, unit in _PART.findall(text):
        total += int(whole + part) * _UNITS[unit] // 10 ** len(part)
    return total
