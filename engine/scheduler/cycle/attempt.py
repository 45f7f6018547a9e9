"""One try to schedule a pod, as it runs and as it is recorded, and the binding that follows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.framework import names
from engine.framework.columns.explanation import Explanation
from engine.framework.framework import CycleState
from engine.framework.framework import PodVolumes as PodVolumePlan
from engine.framework.pods.pod_info import PodInfo
from engine.framework.waiting_pods import WaitingPod
from engine.objects.objects import Pod
from engine.scheduler.cycle.decision.result import ScheduleResult
from engine.scheduler.cycle.device_work import PodDevices
from engine.scheduler.cycle.extension_points import BindingPlugins
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.storage.binding.binder import PodVolumes
from engine.storage.binding.pod_binding import PodBinding


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

    def fail(self, result: str, message: str) -> None:
        """The pod has lost its node before the scheduling cycle ended."""
        decision = self.decision
        decision.result, decision.message, decision.node = result, message, None
        if self.evidence is not None:
            self.evidence |= {"result": result, "message": message, "node": None}


class Binding:
    """One pod on its way to *node*, with the *plugins* of its profile.

    `plan` says what its claims need there, None if it has no claims; `volumes` is what was assumed
    of that, None if there is nothing to bind; `devices` are those of its resource claims.
    `next_pre_bind` is the place of the PreBind plugin that is asked next. `timeouts` are those of
    the Permit plugins that answered Wait, in ns. `has_room` says whether the pod counts on its node.
    """

    __slots__ = (
        "_on_waited",
        "_state",
        "devices",
        "forgotten",
        "has_room",
        "info",
        "next_pre_bind",
        "node",
        "plan",
        "plugins",
        "queued",
        "timeouts",
        "volumes",
        "volumes_binding",
        "waiting_pod",
    )

    def __init__(
        self,
        queued: QueuedPodInfo,
        node: str,
        plugins: BindingPlugins,
        on_waited: Callable[[Binding, str, str | None], None],
        *,
        state: CycleState | None,
        plan: PodVolumePlan | None,
    ) -> None:
        """*on_waited* is called with the plugin whose wait at PreBind is over, and its error or None."""
        self.queued = queued
        self.info: PodInfo = queued.pod_info.assigned_to(node)
        self.node = node
        self.plugins = plugins
        self.plan = plan
        self.volumes: PodVolumes | None = None
        self.devices: PodDevices | None = None
        self.volumes_binding: PodBinding | None = None
        self.next_pre_bind = 0
        self.timeouts: dict[str, int] = {}
        self.waiting_pod: WaitingPod | None = None
        self.forgotten = False
        self.has_room = True
        self._state = state
        self._on_waited = on_waited

    @property
    def has_state(self) -> bool:
        """Whether the state of the scheduling cycle is kept."""
        return self._state is not None

    @property
    def state(self) -> CycleState:
        """The state of the scheduling cycle, kept for custom plugins and for pods with devices."""
        assert self._state is not None, "no plugin needs the state of this cycle"
        return self._state

    @property
    def awaits_storage_or_devices(self) -> bool:
        """Whether PreBind has volumes or devices to bind."""
        return self.volumes is not None or self.devices is not None

    @property
    def assumed(self) -> Pod:
        """The pod as the cache holds it: with its node."""
        return self.info.pod.patched({"spec": {"nodeName": self.node}})

    def volumes_done(self, error: str | None) -> None:
        """The binder has bound the pod's volumes, or has given up."""
        self._on_waited(self, names.VOLUME_BINDING, error)

    def devices_done(self, error: str | None) -> None:
        """The pod's devices are ready for its node, or will not be."""
        self._on_waited(self, names.DYNAMIC_RESOURCES, error)
