"""A scheduling attempt under way, the binding that may follow it, and the record kept of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from kscope.sim.objects.objects import Pod
from scheduling.engine import names
from scheduling.engine.columns.explanation import Explanation
from scheduling.engine.cycle.algorithm import ScheduleResult
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.queue.queued_pod import QueuedPodInfo
from volumes.engine.binding.binder import PodVolumes
from volumes.engine.binding.pod_binding import PodBinding


class SchedulingAttempt(NamedTuple):
    """One try to place one pod.

    `number` counts the pod's attempts from 1; `seq` is the event that records the result; `at` is in
    nanoseconds; `cycle` the scheduling cycle. `evidence` is the dict of docs/evidence.md, or None
    on a cluster so large that it is made on demand from the nearest checkpoint. `explanation` is
    there when the scheduler has `keep_explanations`.
    """

    pod: str
    number: int
    seq: int
    at: int
    cycle: int
    result: str
    node: str
    message: str
    evidence: dict[str, Any] | None
    explanation: Explanation | None = None


@dataclass(slots=True)
class Attempt:
    """The scheduling cycle under way: the pod, what was decided, and why.

    `cycle` is its number, `began` its beginning in nanoseconds. The evidence and the blocker are
    read off the node table when the decision is made.
    """

    queued: QueuedPodInfo
    decision: ScheduleResult
    cycle: int
    began: int
    evidence: dict[str, Any] | None = None
    blocker: dict[str, Any] | None = None


class Binding:
    """A pod between assume and the end of its binding cycle."""

    __slots__ = (
        "binder",
        "forgotten",
        "info",
        "node",
        "on_volumes_done",
        "queued",
        "volumes",
        "waiting",
    )

    def __init__(
        self,
        queued: QueuedPodInfo,
        info: PodInfo,
        node: str,
        on_volumes_done: Callable[[Binding, str | None], None],
    ) -> None:
        self.on_volumes_done = on_volumes_done
        self.queued = queued
        self.info = info
        self.node = node
        self.volumes: PodVolumes | None = None
        self.waiting: PodBinding | None = None
        self.binder = names.DEFAULT_BINDER
        self.forgotten = False

    @property
    def assumed(self) -> Pod:
        """The pod as the cache has it: on its node."""
        return self.info.pod.patched({"spec": {"nodeName": self.node}})

    def volumes_done(self, error: str | None) -> None:
        """The binder has bound the pod's volumes, or has given up."""
        self.on_volumes_done(self, error)
