"""The scheduling queue: where a pod waits, and what moves it on.

```
             add                    pop                     bound
   (new) ──────────▶ active ──────────────▶ in flight ─────────────▶ (gone)
     │                ▲   ▲                    │    │
     │ gate closed    │   │ backoff over       │    │ failed, and something moved meanwhile
     ▼                │   │                    │    ▼
   gated ─────────────┤   └────────────────────│── backoff
          gate opened │                        │    ▲
                      │    cluster event       ▼    │ cluster event, still punished
                      └─────────────────── unschedulable
```

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (v1.34), internal/queue/ (v1.16, v1.20).
One difference on purpose: pop never blocks.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kscope.sim.objects.pod_resources import RESOURCE_RULES
from scheduling.engine.framework.framework import Code
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.queue.active import ActiveQueue, InFlight, PrioritySort, QueueSort
from scheduling.engine.queue.backoff import BackoffQueue, PodBackoffMap, backoff_policy
from scheduling.engine.queue.events import (
    ACTIVATION,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ASSIGNED_POD_UPDATE,
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    NODE_UNKNOWN_CHANGE,
    POP_FROM_BACKOFF_Q,
    SCHEDULE_ATTEMPT_FAILURE,
    TIMEOUT,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_DELETE,
    UNSCHEDULED_POD_UPDATE,
    ClusterEvent,
    classic_node_change,
    moves_classic_queue,
    node_scheduling_properties_change,
    pod_scheduling_properties_change,
)
from scheduling.engine.queue.heap import ChangeCount
from scheduling.engine.queue.hints import QueueingHints
from scheduling.engine.queue.nominator import NominationListener, Nominator
from scheduling.engine.queue.queued_pod import Place, QueuedPodInfo
from scheduling.engine.queue.rules import QueueRules
from scheduling.engine.queue.unschedulable import UnschedulablePods

if TYPE_CHECKING:
    from kscope.sim.objects.objects import Node, Pod
    from scheduling.engine.framework.framework import PreEnqueuePlugin

# What moves a pod without a name of its own upstream.
POP = "Pop"
DONE = "Done"


class Clock(Protocol):
    """Whoever knows the virtual time, such as the event loop."""

    @property
    def now(self) -> int:
        """Virtual time in nanoseconds."""
        ...


class QueueListener(Protocol):
    """Hears of every move of a pod, after it happened."""

    def queue_moved(
        self, info: QueuedPodInfo, place_from: Place, event_name: str, *, flushed: bool
    ) -> None:
        """The pod went from *place_from* ("" is outside) to `info.place`, where it is now.

        *flushed* says that no event of the cluster moved it, only the periodic flush.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueProfile:
    """What the plugins of one profile have to say about its pods in the queue."""

    pre_enqueue: tuple[PreEnqueuePlugin, ...] = ()
    hints: QueueingHints = field(default_factory=QueueingHints)


class _Strategy(enum.Enum):
    """Where an event sends a pod. Upstream: queueingStrategy."""

    SKIP = enum.auto()
    AFTER_BACKOFF = enum.auto()
    IMMEDIATELY = enum.auto()


class SchedulingQueue:
    """The three-level queue of one scheduler.

    `profiles` go by schedulerName; a pod that names none of them gets the first. `started_at` is
    the phase of the periodic flushes.
    """

    __slots__ = (
        "_active",
        "_backoff",
        "_backoff_policy",
        "_clock",
        "_default_profile",
        "_flushing",
        "_in_flight",
        "_interest",
        "_listener",
        "_only_profile",
        "_profiles",
        "_resource_rules",
        "_rules",
        "_started_at",
        "_unschedulable",
        "move_request_cycle",
        "nominator",
        "scheduling_cycle",
        "waits",
    )

    def __init__(
        self,
        rules: QueueRules,
        clock: Clock,
        *,
        profiles: Mapping[str, QueueProfile] | None = None,
        sort: QueueSort | None = None,
        listener: QueueListener | None = None,
        nominations: NominationListener | None = None,
        started_at: int = 0,
    ) -> None:
        order = sort or PrioritySort()
        self._rules = rules
        self._resource_rules = RESOURCE_RULES[rules.version]
        self._clock = clock
        self._listener = listener
        self._started_at = started_at
        self._profiles: dict[str, QueueProfile] = dict(profiles or {"": QueueProfile()})
        self._default_profile = next(iter(self._profiles.values()))
        # Whether any profile's plugins listen to the event.
        self._interest: dict[ClusterEvent, bool] = {}
        self._only_profile = self._default_profile if len(self._profiles) == 1 else None
        self._backoff_policy = backoff_policy(rules)
        self._active = ActiveQueue(order)
        # Changes whenever a flush may be due at another time than before. Only to be looked at.
        self.waits = ChangeCount()
        self._backoff = BackoffQueue(rules, self._backoff_policy, order, self.waits)
        self._unschedulable = UnschedulablePods(self.waits)
        self._in_flight = InFlight()
        self._flushing = False
        self.nominator = Nominator(nominations)
        # The number of pods popped so far, and the value it had at the last move of pods:
        # a pod tried in that cycle or before may have missed what made them move.
        self.scheduling_cycle = 0
        self.move_request_cycle = -1

    # -- in and out ------------------------------------------------------------------------------

    def add(self, pod: Pod | PodInfo) -> QueuedPodInfo:
        """A new pod to schedule goes to activeQ, or waits at a gate."""
        info = self._new_info(pod)
        present = self.get(info.key)
        if present is not None:
            # Upstream logs an error and takes it out of where it was.
            info.place = present.place
        self._move_to_active(info, self._name(UNSCHEDULED_POD_ADD))
        if not self._rules.hints or info.place == "active":
            self.nominator.add(info.pod_info)
        return info

    def add_if_not_present(self, pod: Pod | PodInfo) -> None:
        """Add the pod unless it is waiting somewhere. Upstream: AddIfNotPresent() (v1.16)."""
        key = pod.key
        if self.get(key) is None:
            self.add(pod)

    def add_unschedulable_if_not_present(
        self, info: QueuedPodInfo, pod_scheduling_cycle: int, *, began: int | None = None
    ) -> str | None:
        """A popped pod could not be scheduled and comes back.

        It backs off if something moved since its cycle began (v1.34: something that its rejecting
        plugins find worth a new attempt), or else waits among the unschedulable. Who rejected it
        stands in `info.unschedulable_plugins` and `info.pending_plugins`.

        It has been waiting since now, or in v1.20 since its attempt *began*: an attempt takes less
        upstream than the ticker of the flush drifts, so that a pod released at a tick is tried
        again at one that is its backoff later. In v1.34 the flush's windows see to that.

        Returns upstream's error text when the pod is waiting already, else None.
        """
        present = self.get(info.key)
        if present is not None:
            self._in_flight.done(info.pod_info.uid)
            return self._rules.present_errors[present.place].format(pod=info.key)
        now = self._clock.now
        if began is not None and self._rules.backoff == "attempts":
            now = began
        info.timestamp = now
        self._backoff_policy.failed(info, now)
        if info.place != "in_flight":
            info.place = ""
        strategy = self._strategy_after_attempt(info) if self._rules.hints else None
        self._in_flight.done(info.pod_info.uid)
        if strategy is not None:
            self._requeue(info, strategy, SCHEDULE_ATTEMPT_FAILURE)
            return None
        if self.move_request_cycle >= pod_scheduling_cycle:
            self._move_to_backoff(info, SCHEDULE_ATTEMPT_FAILURE)
        else:
            self._move_to_unschedulable(info, SCHEDULE_ATTEMPT_FAILURE)
        self.nominator.add(info.pod_info)
        return None

    @property
    def ready(self) -> bool:
        """Would pop() give a pod?"""
        return bool(self._active.live) or (
            self._rules.pops_from_backoff and self._backoff.has_early()
        )

    def pop(self) -> QueuedPodInfo | None:
        """Take the first pod of activeQ to try it; None when there is nothing to try.

        v1.34: with activeQ empty, the pod whose backoff ends first is taken before its time.
        """
        info, event = self._active.pop(), POP
        if info is None:
            if not self._rules.pops_from_backoff:
                return None
            info, event = self._backoff.pop_early(), POP_FROM_BACKOFF_Q
            if info is None:
                return None
        info.attempts += 1
        info.backoff_expiration = None
        self.scheduling_cycle += 1
        self._in_flight.start(info)
        info.unschedulable_plugins = {}
        info.pending_plugins = {}
        info.gating_plugin = ""
        self._arrive(info, "in_flight", event)
        return info

    def done(self, uid: str) -> None:
        """The attempt of the popped pod is over and it does not come back. Harmless twice."""
        info = self._in_flight.done(uid)
        if info is not None and info.place == "in_flight":
            self._arrive(info, "", DONE)

    def update(self, old: Pod | None, new: Pod) -> None:
        """A pod without a node changed."""
        if self._rules.hints:
            events = pod_scheduling_properties_change(new, old)
            if new.uid in self._in_flight:
                # It comes back by itself, with these events to consider.
                for event in events:
                    self._in_flight.add_event(event, old, new)
                return
        else:
            events = []
        if old is not None and self._update_ready(old, new):
            return
        info = self._unschedulable.get(new.key)
        if info is not None:
            info.update(new)
            self.nominator.update(old, info.pod_info)
            self._update_unschedulable(info, old, new, events)
            return
        info = self._new_info(new)
        event = self._name(UNSCHEDULED_POD_UPDATE)
        self._move_to_active(info, event)
        if not self._rules.hints or info.place == "active":
            self.nominator.add(info.pod_info)

    @property
    def may_hold_assumed(self) -> bool:
        """Whether an update during its own attempt brings a pod back: until in-flight was kept."""
        return not self._rules.hints

    def delete(self, pod: Pod) -> None:
        """The pod is gone, or is no longer this scheduler's concern."""
        self.nominator.delete(pod.uid)
        key = pod.key
        info = self._active.remove(key)
        if info is None:
            # v1.16: only a pod in activeQ leaves its backoff record behind.
            self._backoff_policy.clear(key)
            info = self._backoff.remove(key) or self._unschedulable.remove(key)
        if info is not None:
            self._arrive(info, "", self._name(UNSCHEDULED_POD_DELETE))

    # -- moves on cluster events -----------------------------------------------------------------

    def move_all_to_active_or_backoff(
        self,
        event: ClusterEvent,
        old: Any = None,
        new: Any = None,
        *,
        but: str = "",
        at_most: int | None = None,
    ) -> None:
        """Something changed in the cluster: whoever may be helped by it is tried again.

        *old* and *new* are the object before and after, None when there is none. What the version
        has no event handler for moves nobody. The pod with the key *but* stays where it is.
        """
        if self._rules.hints and not self._unschedulable.pods and not self._in_flight.pods:
            # Nobody waits for it, and nobody is tried who might have missed it.
            if self._of_interest(event):
                self.move_request_cycle = self.scheduling_cycle
        elif self._rules.hints or moves_classic_queue(event, new):
            infos = self._unschedulable.infos()
            if but:
                infos = [info for info in infos if info.key != but]
            if at_most is not None:
                # Upstream: getLEPriorityPreCheck().
                infos = [info for info in infos if info.pod_info.priority <= at_most]
            self._move(infos, event, old, new)

    def node_updated(self, old: Node, new: Node) -> None:
        """A node changed: what this amounts to depends on the version. Upstream: updateNode…()."""
        if self._rules.hints:
            for event in node_scheduling_properties_change(new, old):
                self.move_all_to_active_or_backoff(event, old, new)
        elif len(self._unschedulable) == 0:
            # Not even compared: only a pod in flight can be concerned.
            self._move([], NODE_UNKNOWN_CHANGE, old, new)
        elif (change := classic_node_change(new, old)) is not None:
            self.move_all_to_active_or_backoff(change, old, new)

    def activate(self, pods: Iterable[Pod]) -> None:
        """A plugin wants these pods tried now. Upstream: Activate()."""
        for pod in pods:
            info = self._unschedulable.get(pod.key) or self._backoff.remove(pod.key)
            if info is not None:
                self._move_to_active(info, FORCE_ACTIVATE)
            else:
                if pod.uid in self._in_flight:
                    self._in_flight.add_event(ACTIVATION, None, pod)
                self.move_request_cycle = self.scheduling_cycle

    def assigned_pod_added(self, pod: Pod) -> None:
        """A pod got a node."""
        if self._rules.hints:
            self.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, pod)
        else:
            self._move(self._with_matching_affinity_term(pod), ASSIGNED_POD_ADD, None, pod)

    def assigned_pod_updated(self, old: Pod, new: Pod) -> None:
        """A pod with a node changed."""
        if self._rules.hints:
            for event in pod_scheduling_properties_change(new, old):
                self.move_all_to_active_or_backoff(event, old, new)
        else:
            self._move(self._with_matching_affinity_term(new), ASSIGNED_POD_UPDATE, old, new)

    def assigned_pod_deleted(self, pod: Pod) -> None:
        """A pod with a node is gone."""
        self.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod, None)

    def flush_backoff_completed(self) -> None:
        """Each second: pods whose backoff is over go to activeQ."""
        for info in self._backoff.pop_expired(self._clock.now):
            self._move_to_active(info, BACKOFF_COMPLETE, from_backoff=True)

    def flush_unschedulable_leftover(self) -> None:
        """Each 30 s: pods that have been unschedulable too long are tried again, come what may."""
        horizon = self._clock.now - self._rules.leftover_age
        left_over = [info for info in self._unschedulable.infos() if info.timestamp < horizon]
        if left_over:
            self._flushing = True
            self._move(left_over, TIMEOUT, None, None)
            self._flushing = False

    def next_backoff_expiry(self) -> int | None:
        """The tick at which flush_backoff_completed() next has something to do; None for never."""
        over_at = self._backoff.next_over_at()
        if over_at is None:
            return None
        at = max(over_at, self._clock.now)
        if self._rules.backoff_window:
            # The flush is aligned with the windows. Upstream: waitUntilAlignedWithOrderingWindow().
            return at + -at % self._rules.backoff_flush_period
        return self._tick(at, self._rules.backoff_flush_period)

    def next_leftover_due(self) -> int | None:
        """The tick at which flush_unschedulable_leftover() next moves a pod; None for never."""
        oldest = self._unschedulable.oldest()
        if oldest is None:
            return None
        due = oldest.timestamp + self._rules.leftover_age + 1
        return self._tick(max(due, self._clock.now), self._rules.leftover_flush_period)

    # -- looking ---------------------------------------------------------------------------------

    @property
    def rules(self) -> QueueRules:
        """The rules in force."""
        return self._rules

    def get(self, key: str) -> QueuedPodInfo | None:
        """The waiting pod with this namespace/name; a pod in flight is not waiting."""
        entry = self._active.live.get(key)
        if entry is not None:
            return entry[3]
        return self._backoff.get(key) or self._unschedulable.pods.get(key)

    def in_flight(self, key: str) -> QueuedPodInfo | None:
        """The pod being tried with this namespace/name."""
        return self._in_flight.by_key(key)

    def place_of(self, key: str) -> Place:
        """Where the pod is, "" when it is nowhere in the queue."""
        info = self.get(key) or self._in_flight.by_key(key)
        return "" if info is None else info.place

    def counts(self) -> dict[Place, int]:
        """How many pods are in each place."""
        gated = self._unschedulable.gated_count
        return {
            "gated": gated,
            "active": len(self._active),
            "backoff": len(self._backoff),
            "unschedulable": len(self._unschedulable) - gated,
            "in_flight": len(self._in_flight),
        }

    def active_pods(self) -> list[tuple[QueuedPodInfo, tuple[int, ...]]]:
        """activeQ in the order it would be popped, with the sort keys."""
        return [(info, sort_key) for sort_key, _, _, info in self._active.ordered()]

    def backoff_pods(self) -> list[tuple[QueuedPodInfo, tuple[int, ...]]]:
        """backoffQ, first to expire first, with the sort keys."""
        return [(info, sort_key) for sort_key, _, _, info in self._backoff.ordered()]

    def unschedulable_pods(self) -> list[tuple[QueuedPodInfo, tuple[int, ...]]]:
        """The unschedulable pods, longest wait first; the key is their timestamp."""
        return self._by_timestamp("unschedulable")

    def gated_pods(self) -> list[tuple[QueuedPodInfo, tuple[int, ...]]]:
        """The pods held back by a PreEnqueue plugin, longest wait first."""
        return self._by_timestamp("gated")

    def in_flight_pods(self) -> list[QueuedPodInfo]:
        """The pods being tried, in the order they were popped."""
        return self._in_flight.infos()

    def backoff_until(self, info: QueuedPodInfo) -> int | None:
        """When the pod's backoff ends (it is flushed at the next tick); None without one."""
        return self._backoff.over_at(info)

    def backoff_records(self) -> dict[str, tuple[int, int]]:
        """v1.16's table: pod key → (failures, last failure). Empty in other versions."""
        policy = self._backoff_policy
        return policy.records() if isinstance(policy, PodBackoffMap) else {}

    # -- decisions -------------------------------------------------------------------------------

    def _update_ready(self, old: Pod, new: Pod) -> bool:
        """Update the pod in activeQ or backoffQ; False when it is in neither."""
        info = self._active.get(old.key)
        if info is not None:
            info.update(new)
            self.nominator.update(old, info.pod_info)
            self._active.put(info)
            return True
        info = self._backoff.get(old.key)
        if info is None:
            return False
        info.update(new)
        self.nominator.update(old, info.pod_info)
        if self._rules.update_leaves_backoff:
            self._backoff.remove(info.key)
            self._active.put(info)
            self._arrive(info, "active", self._name(UNSCHEDULED_POD_UPDATE))
        else:
            self._backoff.put(info)
        return True

    def _update_unschedulable(
        self, info: QueuedPodInfo, old: Pod | None, new: Pod, events: list[ClusterEvent]
    ) -> None:
        if self._rules.hints:
            for event in events:
                strategy = self._worth_requeuing(info, event, old, new)
                self._requeue(info, strategy, event.label)
                if info.place in ("active", "backoff"):
                    return
        elif old is None or is_pod_updated(old, new) or self._is_status_updated(old, new):
            self._backoff_policy.clear(info.key)
            self._move_to_active(info, self._name(UNSCHEDULED_POD_UPDATE))
        # Otherwise the update cannot have made it schedulable, and it stays.

    def _is_status_updated(self, old: Pod, new: Pod) -> bool:
        return self._rules.status_counts and _fields(old.status) != _fields(new.status)

    def _strategy_after_attempt(self, info: QueuedPodInfo) -> _Strategy:
        """Upstream: determineSchedulingHintForInFlightPod()."""
        uid = info.pod_info.uid
        if not (info.unschedulable_plugins or info.pending_plugins) or uid not in self._in_flight:
            # It failed by accident: no event would bring it back.
            return _Strategy.AFTER_BACKOFF
        strategy = _Strategy.SKIP
        for missed in self._in_flight.events_for(uid):
            match self._worth_requeuing(info, missed.event, missed.old, missed.new):
                case _Strategy.IMMEDIATELY:
                    return _Strategy.IMMEDIATELY
                case _Strategy.AFTER_BACKOFF:
                    if not info.pending_plugins:
                        return _Strategy.AFTER_BACKOFF
                    strategy = _Strategy.AFTER_BACKOFF
                case _Strategy.SKIP:
                    pass
        return strategy

    def _worth_requeuing(
        self, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any
    ) -> _Strategy:
        """Upstream: isPodWorthRequeuing()."""
        if not (info.unschedulable_plugins or info.pending_plugins):
            return _Strategy.AFTER_BACKOFF
        if event.is_wild_card:
            aimed_elsewhere = new is not None and getattr(new, "uid", "") != info.pod_info.uid
            return _Strategy.SKIP if aimed_elsewhere else _Strategy.AFTER_BACKOFF
        registered = self._profile_of(info).hints.registered_for(event)
        if not registered:
            return _Strategy.SKIP
        hints = self._profile_of(info).hints
        for plugin in info.pending_plugins:
            if plugin in registered and hints.queues(plugin, event, info.pod_info, old, new):
                return _Strategy.IMMEDIATELY
        for plugin in info.unschedulable_plugins:
            if plugin in registered and hints.queues(plugin, event, info.pod_info, old, new):
                return _Strategy.AFTER_BACKOFF
        return _Strategy.SKIP

    def _move(self, infos: list[QueuedPodInfo], event: ClusterEvent, old: Any, new: Any) -> None:
        """Upstream: movePodsToActiveOrBackoffQueue()."""
        if self._rules.hints:
            if not self._of_interest(event):
                return
            for info in infos:
                if info.gated and not self._gate_hears(info, event):
                    continue
                strategy = self._worth_requeuing(info, event, old, new)
                if strategy is not _Strategy.SKIP:
                    self._requeue(info, strategy, event.label)
            self._in_flight.add_event(event, old, new)
        else:
            now, name = self._clock.now, event.classic_label
            for info in infos:
                if info.gated and not self._passes_gates(info):
                    continue
                if self._backoff.is_backing_off(info, now):
                    self._move_to_backoff(info, name)
                else:
                    self._move_to_active(info, name)
        self.move_request_cycle = self.scheduling_cycle

    def _of_interest(self, event: ClusterEvent) -> bool:
        known = self._interest.get(event)
        if known is None:
            known = self._interest[event] = event.is_wild_card or any(
                profile.hints.registered_for(event) for profile in self._profiles.values()
            )
        return known

    def _gate_hears(self, info: QueuedPodInfo, event: ClusterEvent) -> bool:
        return info.gating_plugin in self._profile_of(info).hints.registered_for(event)

    def _with_matching_affinity_term(self, pod: Pod) -> list[QueuedPodInfo]:
        """Upstream: getUnschedulablePodsWithMatchingAffinityTerm() (v1.16, v1.20)."""
        return [
            info
            for info in self._unschedulable.infos()
            if any(
                term.matches(pod.namespace, pod.labels) for term in info.pod_info.affinity.required
            )
        ]

    # -- moving ----------------------------------------------------------------------------------

    def _requeue(self, info: QueuedPodInfo, strategy: _Strategy, event: str) -> None:
        """Upstream: requeuePodWithQueueingStrategy()."""
        if strategy is _Strategy.SKIP:
            self._move_to_unschedulable(info, event)
        elif strategy is _Strategy.AFTER_BACKOFF and self._backoff.is_backing_off(
            info, self._clock.now
        ):
            self._move_to_backoff(info, event)
        else:
            self._move_to_active(info, event)

    def _move_to_active(
        self, info: QueuedPodInfo, event: str, *, from_backoff: bool = False
    ) -> None:
        # v1.34 asked the gates when the pod entered backoffQ, which is enough if it sat it out.
        if not from_backoff and not self._passes_gates(info):
            if info.key not in self._backoff and info.key not in self._active:
                self._move_to_unschedulable(info, event)
            return
        if info.initial_attempt_timestamp is None:
            info.initial_attempt_timestamp = self._clock.now
        self._leave(info)
        self._active.put(info)
        self._arrive(info, "active", event)

    def _move_to_backoff(self, info: QueuedPodInfo, event: str) -> None:
        if self._rules.pops_from_backoff and not self._passes_gates(info):
            self._move_to_unschedulable(info, event)
            return
        self._leave(info)
        self._backoff.put(info)
        self._arrive(info, "backoff", event)

    def _move_to_unschedulable(self, info: QueuedPodInfo, event: str) -> None:
        place: Place = "gated" if info.gated else "unschedulable"
        self._unschedulable.put(info)
        if info.place != place:
            self._arrive(info, place, event)

    def _passes_gates(self, info: QueuedPodInfo) -> bool:
        """Ask the PreEnqueue plugins, the one that closed the gate last time first."""
        plugins = (self._only_profile or self._profile_of(info)).pre_enqueue
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

    def _arrive(self, info: QueuedPodInfo, place: Place, event: str) -> None:
        came_from = info.place
        info.place = place
        info.since = self._clock.now
        if self._listener is not None:
            self._listener.queue_moved(info, came_from, event, flushed=self._flushing)

    def _leave(self, info: QueuedPodInfo) -> None:
        place = info.place
        if place == "":
            return
        if place in ("unschedulable", "gated"):
            self._unschedulable.remove(info.key)
        elif place == "backoff":
            self._backoff.remove(info.key)

    def _new_info(self, pod: Pod | PodInfo) -> QueuedPodInfo:
        pod_info = pod if isinstance(pod, PodInfo) else PodInfo(pod, self._resource_rules)
        now = self._clock.now
        # Since v1.26 a pod at a gate has not begun to wait for the scheduler.
        return QueuedPodInfo(pod_info, now, None if self._rules.hints else now)

    def _profile_of(self, info: QueuedPodInfo) -> QueueProfile:
        return self._only_profile or self._profiles.get(
            info.pod.scheduler_name, self._default_profile
        )

    def _name(self, event: ClusterEvent) -> str:
        return event.label if self._rules.hints else event.classic_label

    def _tick(self, at: int, period: int) -> int:
        """The first tick of a period at or after *at*."""
        return at + (self._started_at - at) % period

    def _by_timestamp(self, place: Place) -> list[tuple[QueuedPodInfo, tuple[int, ...]]]:
        infos = [info for info in self._unschedulable.infos() if info.place == place]
        infos.sort(key=_timestamp)
        return [(info, (info.timestamp,)) for info in infos]


def is_pod_updated(old: Pod, new: Pod) -> bool:
    """Did more change than status, resourceVersion and generation? Upstream: isPodUpdated()."""
    return _stripped(old) != _stripped(new)


def _stripped(pod: Pod) -> dict[str, Any]:
    bare = {name: value for name, value in pod.raw.items() if name != "status"}
    bare["metadata"] = {
        name: value
        for name, value in pod.metadata.items()
        if name not in ("resourceVersion", "generation")
    }
    return bare


def _fields(status: Mapping[str, Any]) -> list[str]:
    """The fields that somebody owns: what managedFields lists, whatever their values."""
    fields = [name for name, value in status.items() if value]
    for condition in status.get("conditions") or ():
        fields += [f"{condition['type']}/{name}" for name in condition]
    return sorted(fields)


def _timestamp(info: QueuedPodInfo) -> int:
    return info.timestamp
