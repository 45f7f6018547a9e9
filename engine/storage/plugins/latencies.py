"""How long the operations of the kubelet and the attach/detach controller take."""

from collections.abc import Mapping
from typing import Protocol

from engine.kernel.latency import DEFAULT_LATENCIES


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
