"""How long things take: fixed, or drawn from a named, seeded stream."""

from collections.abc import Mapping
from dataclasses import dataclass

from kscope.sim.rng import Streams
from kscope.sim.units import MILLISECOND, SECOND


@dataclass(frozen=True, slots=True)
class Latency:
    """A duration between *low* and *high* nanoseconds, every one equally likely."""

    low: int
    high: int

    @property
    def is_fixed(self) -> bool:
        """Whether nothing is left to chance."""
        return self.low == self.high


def fixed(duration: int) -> Latency:
    """A latency that is always *duration*."""
    return Latency(duration, duration)


# What each takes when the scenario does not say.
DEFAULTS: Mapping[str, Latency] = {
    # The control plane.
    "watch": fixed(1 * MILLISECOND),
    "schedule": fixed(2 * MILLISECOND),
    "bind": fixed(5 * MILLISECOND),
    "api_write": fixed(2 * MILLISECOND),
    # Storage.
    "provision": fixed(1 * SECOND),
    "delete_volume": fixed(1 * SECOND),
    "recycle": fixed(1 * SECOND),
    "attach": fixed(1 * SECOND),
    "detach": fixed(1 * SECOND),
    "mount_device": fixed(100 * MILLISECOND),
    "mount": fixed(100 * MILLISECOND),
    "unmount": fixed(50 * MILLISECOND),
    "unmount_device": fixed(50 * MILLISECOND),
    "expand": fixed(500 * MILLISECOND),
    # The node.
    "image_pull": fixed(500 * MILLISECOND),
    "container_start": fixed(300 * MILLISECOND),
    "stop": fixed(1 * SECOND),
    "node_status": fixed(200 * MILLISECOND),
}


class Latencies:
    """Draws durations by name, each name from its own stream."""

    __slots__ = ("_of", "_streams")

    def __init__(self, of: Mapping[str, Latency], streams: Streams) -> None:
        self._of: dict[str, Latency] = {**DEFAULTS, **of}
        self._streams = streams

    def draw(self, name: str) -> int:
        """How long the next operation called *name* takes, in ns. Raises KeyError if unknown."""
        latency = self._of[name]
        if latency.low == latency.high:
            return latency.low
        return self._streams.stream(f"latency/{name}").between(latency.low, latency.high)
