"""The places of the scheduling queue, and the moves between them."""

from __future__ import annotations

from typing import Protocol

from engine.framework import names
from engine.framework.framework import Code
from engine.framework.rules.queue import QueueRules
from engine.kernel.trace import Trace
from engine.scheduler.queue.active import ActiveQueue, InFlight, QueueSort
from engine.scheduler.queue.backoff import BackoffPolicy, BackoffQueue
from engine.scheduler.queue.heap import ChangeCount
from engine.scheduler.queue.queued_pod import Place, QueuedPodInfo
from engine.scheduler.queue.requeueing import Requeueing, Strategy
from engine.scheduler.queue.trace_steps import Moved
from engine.scheduler.queue.unschedulable import UnschedulablePods


class Clock(Protocol):
    """Gives the virtual time; the event loop is one."""

    @property
    def now(self) -> int:
        """Virtual time in nanoseconds."""
        ...

    @property
    def trace(self) -> Trace | None:
        """The trace of what happens; None in a run."""
        ...


class QueueListener(Protocol):
    """Is called for every move of a pod, after it happened."""

    def queue_moved(
        self, info: QueuedPodInfo, place_from: Place, event_name: str, *, flushed: bool
    ) -> None:
        """The pod went from *place_from* ("" is outside) to `info.place`, where it is now.

        *flushed* says that the periodic flush moved it, not an event of the cluster.
        """
        ...


class QueuePlaces:
    """activeQ, backoffQ, the unschedulable pods and those in flight.

    Every move asks the PreEnqueue gates where the version does, and informs the listener.
    """

    __slots__ = (
        "_clock",
        "_listener",
        "_requeueing",
        "_rules",
        "active",
        "backoff",
        "in_flight",
        "is_flushing",
        "preempting",
        "unschedulable",
        "waits",
    )

    def __init__(
        self,
        rules: QueueRules,
        clock: Clock,
        requeueing: Requeueing,
        sort: QueueSort,
        policy: BackoffPolicy,
        listener: QueueListener | None,
    ) -> None:
        self._rules = rules
        self._clock = clock
        self._requeueing = requeueing
        self._listener = listener
        self.active = ActiveQueue(sort)
        # Changes whenever a flush may be due at another time than before.
        self.waits = ChangeCount()
        self.backoff = BackoffQueue(rules, policy, sort, self.waits)
        self.unschedulable = UnschedulablePods(self.waits)
        self.in_flight = InFlight()
        # Uids of the pods whose last victim is yet to be evicted. They are not tried meanwhile.
        self.preempting: dict[str, None] = {}
        # Whether the flush of the unschedulable pods makes the moves.
        self.is_flushing = False

    def get(self, key: str) -> QueuedPodInfo | None:
        """The waiting pod with this namespace/name; a pod in flight is not waiting."""
        entry = self.active.live.get(key)
        if entry is not None:
            return entry[3]
        return self.backoff.get(key) or self.unschedulable.pods.get(key)

    def requeue(self, info: QueuedPodInfo, strategy: Strategy, event: str) -> None:
        """Move the pod as *strategy* says. Upstream: requeuePodWithQueueingStrategy()."""
        if strategy is Strategy.SKIP:
            self.move_to_unschedulable(info, event)
        elif strategy is Strategy.AFTER_BACKOFF and self.backoff.is_backing_off(
            info, self._clock.now
        ):
            self.move_to_backoff(info, event)
        else:
            self.move_to_active(info, event)

    def move_to_active(
        self, info: QueuedPodInfo, event: str, *, from_backoff: bool = False
    ) -> None:
        """Put the pod into activeQ, unless a gate is closed."""
        # v1.34 asked the gates when the pod entered backoffQ, which is enough if its backoff ended.
        if not from_backoff and not self.passes_gates(info):
            if info.key not in self.backoff and info.key not in self.active:
                self.move_to_unschedulable(info, event)
            return
        if info.initial_attempt_timestamp is None:
            info.initial_attempt_timestamp = self._clock.now
        self._leave(info)
        self.active.put(info)
        self.arrive(info, "active", event)

    def move_to_backoff(self, info: QueuedPodInfo, event: str) -> None:
        """Put the pod into backoffQ; in v1.34 unless a gate is closed."""
        if self._rules.pops_from_backoff and not self.passes_gates(info):
            self.move_to_unschedulable(info, event)
            return
        self._leave(info)
        self.backoff.put(info)
        self.arrive(info, "backoff", event)

    def move_to_unschedulable(self, info: QueuedPodInfo, event: str) -> None:
        """Put the pod among the unschedulable, or the gated ones."""
        place: Place = "gated" if info.gated else "unschedulable"
        self.unschedulable.put(info)
        if info.place != place:
            self.arrive(info, place, event)

    def is_held(self, info: QueuedPodInfo) -> bool:
        """Whether the pod has to wait until its last victim is evicted."""
        return (
            info.gating_plugin == names.DEFAULT_PREEMPTION and info.pod_info.uid in self.preempting
        )

    def passes_gates(self, info: QueuedPodInfo) -> bool:
        """Ask the PreEnqueue plugins, the one that closed the gate last time first."""
        plugins = self._requeueing.profile_of(info).pre_enqueue
        if self.preempting and info.pod_info.uid in self.preempting:
            # Upstream: DefaultPreemption PreEnqueue(), IsPodRunningPreemption() (v1.36).
            info.gating_plugin = names.DEFAULT_PREEMPTION
            info.unschedulable_plugins[names.DEFAULT_PREEMPTION] = None
            return False
        if not plugins:
            return True
        last = info.gating_plugin
        if last:
            # A stable sort: the one that closed the gate goes first, the others keep their order.
            plugins = sorted(plugins, key=lambda plugin: plugin.name != last)
        for plugin in plugins:
            if plugin.pre_enqueue(info.pod_info).code is not Code.SUCCESS:
                info.gating_plugin = plugin.name
                info.unschedulable_plugins[plugin.name] = None
                return False
        info.gating_plugin = ""
        return True

    def arrive(self, info: QueuedPodInfo, place: Place, event: str) -> None:
        """Record that *event* moved the pod to *place*, and inform the listener."""
        came_from = info.place
        info.place = place
        info.since = self._clock.now
        trace = self._clock.trace
        if trace is not None and trace.follows(info.pod.id):
            trace.add(info.pod.id, Moved(event, came_from, place, self.is_flushing))
        if self._listener is not None:
            self._listener.queue_moved(info, came_from, event, flushed=self.is_flushing)

    def _leave(self, info: QueuedPodInfo) -> None:
        place = info.place
        if place == "":
            return
        if place in ("unschedulable", "gated"):
            self.unschedulable.remove(info.key)
        elif place == "backoff":
            self.backoff.remove(info.key)
