"""How long things take: fixed, or drawn from a named, seeded stream."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.kernel.rng import Stream, Streams
from engine.kernel.units import MILLISECOND, SECOND

# How long each operation takes unless the scenario says otherwise, in nanoseconds.
DEFAULT_LATENCIES: Mapping[str, int] = {
    # The control plane.
    "watch": 1 * MILLISECOND,
    # How much later than its queue the scheduler's caches of claims and volumes get a change.
    "assume_cache": 0,
    # How long after it receives a claim the PV controller works on it.
    "claim_sync": 0,
    # By how much the PV controller's volume worker is ahead of its claim worker where both write a
    # volume's phase; above 0 it wins, and the claim waits for the next resync.
    "bind_race": 0,
    # How much later than other objects the scheduler receives nodes.
    "node_watch": 0,
    "schedule": 2 * MILLISECOND,
    "bind": 5 * MILLISECOND,
    # From receiving a node until the node controller has written its taints, and from then until
    # it has written its labels.
    "node_taint": 8 * MILLISECOND,
    "node_labels": 0,
    "api_write": 2 * MILLISECOND,
    # Storage.
    "provision": 1 * SECOND,
    "delete_volume": 1 * SECOND,
    "recycle": 1 * SECOND,
    "attach": 1 * SECOND,
    "detach": 1 * SECOND,
    "mount_device": 100 * MILLISECOND,
    "mount": 100 * MILLISECOND,
    "unmount": 50 * MILLISECOND,
    "unmount_device": 50 * MILLISECOND,
    "expand": 500 * MILLISECOND,
    # How long a driver takes to change a volume to another VolumeAttributesClass.
    "modify": 500 * MILLISECOND,
    # Devices: from a claim's allocation until its devices have their binding conditions, and how
    # long the driver on the node takes before containers start and after they have ended.
    "ready_devices": 5 * SECOND,
    "prepare_devices": 100 * MILLISECOND,
    "unprepare_devices": 50 * MILLISECOND,
    # The node.
    "image_pull": 500 * MILLISECOND,
    "container_start": 300 * MILLISECOND,
    "stop": 1 * SECOND,
    # From the kubelet's allocation of a pod's resize until its containers have the new resources.
    "container_resize": 1 * SECOND,
    # How long a pod with restartPolicy Never runs, unless it says so itself; 0 means without end.
    "run": 0,
    "node_status": 200 * MILLISECOND,
}


@dataclass(frozen=True, slots=True)
class Latency:
    """How long one kind of operation takes, in ns.

    `shape` is "fixed" (always *low*), "uniform" (low … high) or "normal" (mean *low*, deviation
    *high*, never below 0).
    """

    shape: str
    low: int
    high: int = 0

    def draw(self, stream: Stream) -> int:
        """One duration."""
        if self.shape == "uniform":
            return stream.between(self.low, self.high)
        # The sum of twelve uniform draws is as good a bell as any, and it is made of integers.
        bell = sum(stream.below(_BELL) for _ in range(12)) - 6 * _BELL
        return max(0, self.low + self.high * bell // _BELL)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"shape": self.shape, "low": self.low, "high": self.high}


_BELL = 1 << 20


class Latencies:
    """Draws durations by name, each name from its own stream."""

    __slots__ = ("_of", "_streams")

    def __init__(self, of: Mapping[str, Latency], streams: Streams) -> None:
        defaults = {name: Latency("fixed", each) for name, each in DEFAULT_LATENCIES.items()}
        self._of: dict[str, Latency] = {**defaults, **of}
        self._streams = streams

    def draw(self, name: str) -> int:
        """How long the next operation called *name* takes, in ns. Raises KeyError if unknown."""
        latency = self._of[name]
        if latency.shape == "fixed":
            return latency.low
        return latency.draw(self._streams.stream(f"latency/{name}"))
