"""The scheduling queue: where a pod waits, and what moves it on.

```
             add                    pop                     bound
   (new) ──────────▶ active ──────────────▶ in flight ─────────────▶ (gone)
     │                ▲   ▲                    │    │
     │ gate closed    │   │ backoff over       │    │ failed, and something moved meanwhile
     ▼                │   │                    │    ▼
   gated ─────────────┤   └────────────────────│── backoff
          gate opened │                        │    ▲
                      │    cluster event       ▼    │ cluster event, in backoff
                      └─────────────────── unschedulable
```

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (v1.34), internal/queue/ (v1.16, v1.20).
One difference on purpose: pop never blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.framework.cluster_events import (
    ACTIVATION,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ASSIGNED_POD_UPDATE,
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    NODE_UNKNOWN_CHANGE,
    POP_FROM_BACKOFF_Q,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_DELETE,
    UNSCHEDULED_POD_UPDATE,
    ClusterEvent,
    classic_node_change,
    node_scheduling_properties_change,
    pod_scheduling_properties_change,
)
from engine.framework.pods.pod_info import PodInfo
from engine.framework.rules.queue import QueueRules
from engine.scheduler.queue.active import ByPriorityOnly, PrioritySort, QueueSort
from engine.scheduler.queue.backoff import backoff_policy
from engine.scheduler.queue.event_moves import EventMoves
from engine.scheduler.queue.flush_times import FlushTimes
from engine.scheduler.queue.nominator import NominationListener, Nominator
from engine.scheduler.queue.places import Clock, QueueListener, QueuePlaces
from engine.scheduler.queue.pod_updates import PodUpdates
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.scheduler.queue.requeueing import QueueProfile, Requeueing
from engine.scheduler.queue.trace_steps import (
    EventConsidered,
    JudgedBy,
    Popped,
    Requeued,
    waiting,
)

if TYPE_CHECKING:
    from engine.objects.objects import Node, Pod

# Moves for which upstream has no event.
POP = "Pop"
DONE = "Done"
SKIPPED = "Skipped"


class SchedulingQueue:
    """The three-level queue of one scheduler.

    `profiles` go by schedulerName; a pod that names none of them gets the first. The periodic
    flushes start when the queue is made.
    """

    __slots__ = (
        "_add_event",
        "_active",
        "_backoff",
        "_backoff_policy",
        "_clock",
        "_in_flight",
        "_moves",
        "_requeueing",
        "_resource_rules",
        "_unschedulable",
        "flush_times",
        "move_request_cycle",
        "nominator",
        "places",
        "rules",
        "scheduling_cycle",
        "updates",
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
    ) -> None:
        by_arrival = rules.active_order == "arrival"
        order = sort or (PrioritySort() if by_arrival else ByPriorityOnly())
        self.rules = rules
        self._resource_rules = rules.resources
        self._clock = clock
        self._requeueing = Requeueing(profiles)
        self._backoff_policy = backoff_policy(rules)
        self.places = QueuePlaces(
            rules, clock, self._requeueing, order, self._backoff_policy, listener
        )
        self._active = self.places.active
        self._backoff = self.places.backoff
        self._unschedulable = self.places.unschedulable
        self._in_flight = self.places.in_flight
        self.flush_times = FlushTimes(rules, clock, self.places, started_at=clock.now)
        self._moves = EventMoves(rules, clock, self.places, self._requeueing)
        self.nominator = Nominator(nominations)
        self.updates = PodUpdates(
            rules, self.places, self._requeueing, self._backoff_policy, self.nominator
        )
        # The number of pods popped so far, and the value it had at the last move of pods: a pod
        # tried in that cycle or before may have missed what made them move. Without hints, that
        # decides where the pod goes.
        self.scheduling_cycle = 0
        self.move_request_cycle = -1
        self._add_event = rules.event_name(UNSCHEDULED_POD_ADD)

    # -- in and out ------------------------------------------------------------------------------

    def add(self, pod: Pod | PodInfo) -> QueuedPodInfo:
        """A new pod to schedule goes to activeQ, or waits at a gate."""
        info = self._new_info(pod)
        present = self.places.get(info.key)
        if present is not None:
            # Upstream logs an error and takes it out of where it was.
            info.place = present.place
        self.places.move_to_active(info, self._add_event)
        if not self.rules.hints or info.place == "active" or self.rules.gated_nominations:
            self.nominator.add(info.pod_info)
        return info

    def add_unschedulable_if_not_present(
        self,
        info: QueuedPodInfo,
        pod_scheduling_cycle: int,
        *,
        began: int | None = None,
        fits_nowhere: bool = True,
    ) -> str | None:
        """A popped pod could not be scheduled and comes back.

        It backs off if something moved since its cycle began (v1.34: something that its rejecting
        plugins find worth a new attempt). Otherwise it waits among the unschedulable pods.
        `info.unschedulable_plugins` and `info.pending_plugins` name the plugins that rejected it.

        Its backoff counts from now, or in v1.20 from when its attempt *began*: upstream an attempt
        takes less time than the flush's ticker drifts, so a pod released at one tick is released
        again at the tick one backoff later. In v1.34 the windows of the flush have that effect.

        *fits_nowhere* is false for a pod whose condition gives another reason than Unschedulable.

        Returns upstream's error text when the pod is waiting already, else None.
        """
        present = self.get(info.key)
        if present is not None:
            self._in_flight.done(info.pod_info.uid)
            return self.rules.present_errors[present.place].format(pod=info.key)
        now = self._clock.now
        if began is not None and self.rules.backoff == "attempts":
            now = began
        info.timestamp = now
        self._backoff_policy.failed(info, now)
        if info.place != "in_flight":
            info.place = ""
        trace = self._clock.trace
        if trace is not None and not trace.follows(info.pod.id):
            trace = None
        missed: list[EventConsidered] | None = None if trace is None else []
        strategy = (
            self._requeueing.strategy_after_attempt(info, self._in_flight, missed)
            if self.rules.hints
            else None
        )
        self._in_flight.done(info.pod_info.uid)
        if strategy is not None:
            self.places.requeue(info, strategy, SCHEDULE_ATTEMPT_FAILURE)
        else:
            retries = self.rules.retries_other_failures and not fits_nowhere
            if retries or self.move_request_cycle >= pod_scheduling_cycle:
                self.places.move_to_backoff(info, SCHEDULE_ATTEMPT_FAILURE)
            else:
                self.places.move_to_unschedulable(info, SCHEDULE_ATTEMPT_FAILURE)
            self.nominator.add(info.pod_info)
        if trace is not None:
            step = self._return_step(info, pod_scheduling_cycle, missed or ())
            trace.add(info.pod.id, step)
        return None

    @property
    def ready(self) -> bool:
        """Whether pop() would return a pod."""
        return bool(self._active.live) or (
            self.rules.pops_from_backoff and self._backoff.has_early()
        )

    def pop(self) -> QueuedPodInfo | None:
        """Take the first pod of activeQ to try it; None when there is nothing to try.

        v1.34: with activeQ empty, the pod whose backoff ends first is taken before its time.
        """
        info, event = self._active.pop(), POP
        if info is None:
            if not self.rules.pops_from_backoff:
                return None
            info, event = self._backoff.pop_early(), POP_FROM_BACKOFF_Q
            if info is None:
                return None
        return self._take(info, event)

    def pop_specific(self, key: str) -> QueuedPodInfo | None:
        """Take this pod to try it with its group; None when it waits at a gate, or nowhere.

        Upstream: PopSpecificPod() (v1.36).
        """
        info = self._active.remove(key) or self._backoff.remove(key)
        if info is None and key in self._unschedulable and not self._unschedulable.pods[key].gated:
            info = self._unschedulable.remove(key)
        return None if info is None else self._take(info, POP)

    def _take(self, info: QueuedPodInfo, event: str) -> QueuedPodInfo:
        """The pod, from now on in flight."""
        is_early = event == POP_FROM_BACKOFF_Q
        backed_off_until = self._backoff.over_at(info) if is_early else None
        info.attempts += 1
        info.backoff_expiration = None
        self.scheduling_cycle += 1
        self._in_flight.start(info)
        info.unschedulable_plugins = {}
        info.pending_plugins = {}
        info.gating_plugin = ""
        trace = self._clock.trace
        if trace is not None and trace.follows(info.pod.id):
            trace.add(info.pod.id, self._pop_step(info, event, backed_off_until))
        self.places.arrive(info, "in_flight", event)
        return info

    def done(self, uid: str) -> None:
        """The attempt of the popped pod is over and it does not come back. Harmless twice."""
        self._end_flight(uid, DONE)

    def skip(self, uid: str) -> None:
        """The popped pod needs no attempt, or no longer: it has a node, or is being deleted."""
        self._end_flight(uid, SKIPPED)

    def _end_flight(self, uid: str, event: str) -> None:
        info = self._in_flight.done(uid)
        if info is not None and info.place == "in_flight":
            self.places.arrive(info, "", event)

    def update(self, old: Pod | None, new: Pod) -> None:
        """A pod without a node changed."""
        if self.rules.hints:
            events = pod_scheduling_properties_change(new, old, self._resource_rules)
            if new.uid in self._in_flight:
                # It comes back by itself, with these events to consider.
                for event in events:
                    self._in_flight.add_event(event, old, new)
                return
        else:
            events = []
        if self.updates.update(old, new, events):
            return
        info = self._new_info(new)
        event = self.rules.event_name(UNSCHEDULED_POD_UPDATE)
        self.places.move_to_active(info, event)
        if not self.rules.hints or info.place == "active":
            self.nominator.add(info.pod_info)

    def tried_before(self, key: str) -> list[str]:
        """The pods, by key, that are being tried or that come before this one in activeQ."""
        found = [info.key for _, info in self._in_flight.pods.values() if info.key != key]
        for *_, info in self._active.ordered():
            if info.key == key:
                break
            found.append(info.key)
        return found

    @property
    def may_hold_assumed(self) -> bool:
        """Whether an update of a pod in flight requeues it: versions that do not track these."""
        return not self.rules.hints

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
            self.places.arrive(info, "", self.rules.event_name(UNSCHEDULED_POD_DELETE))

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
        """Something changed in the cluster: try the pods again that it may help.

        *old* and *new* are the object before and after, None when there is none. An event for which
        the version has no handler moves no pod. The pod with the key *but*, and pods whose priority
        is above *at_most*, stay where they are.
        """
        if self.rules.hints and not self._unschedulable.pods and not self._in_flight.pods:
            return  # No pod waits for it, and no pod is being tried that might have missed it.
        if self._moves.move_waiting(event, old, new, but=but, at_most=at_most):
            self.move_request_cycle = self.scheduling_cycle

    def node_updated(self, old: Node, new: Node) -> None:
        """A node changed: what this amounts to depends on the version. Upstream: updateNode…()."""
        if self.rules.hints:
            sees_features = self.rules.sees_declared_features
            for event in node_scheduling_properties_change(new, old, sees_features=sees_features):
                self.move_all_to_active_or_backoff(event, old, new)
        elif len(self._unschedulable) == 0 or not self.rules.compares_nodes:
            # Not even compared; without unschedulable pods only one in flight can be concerned.
            self._move(self._unschedulable.infos(), NODE_UNKNOWN_CHANGE, old, new)
        elif (change := classic_node_change(new, old)) is not None:
            self.move_all_to_active_or_backoff(change, old, new)

    def activate(self, pods: Iterable[Pod]) -> None:
        """A plugin wants these pods tried now. Upstream: Activate()."""
        for pod in pods:
            info = self._unschedulable.get(pod.key) or self._backoff.remove(pod.key)
            if info is not None:
                self.places.move_to_active(info, FORCE_ACTIVATE)
            else:
                if pod.uid in self._in_flight:
                    self._in_flight.add_event(ACTIVATION, None, pod)
                self.move_request_cycle = self.scheduling_cycle

    def assigned_pod_added(self, pod: Pod) -> None:
        """A pod got a node."""
        if self.rules.hints:
            self.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, pod)
        else:
            self._move(self._moves.with_matching_affinity_term(pod), ASSIGNED_POD_ADD, None, pod)

    def assigned_pod_updated(self, old: Pod, new: Pod) -> None:
        """A pod with a node changed."""
        if self.rules.hints:
            for event in pod_scheduling_properties_change(new, old, self._resource_rules):
                self.move_all_to_active_or_backoff(event, old, new)
        else:
            self._move(self._moves.with_matching_affinity_term(new), ASSIGNED_POD_UPDATE, old, new)

    def assigned_pod_deleted(self, pod: Pod) -> None:
        """A pod with a node is gone."""
        self.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod, None)

    def flush_backoff_completed(self) -> None:
        """Each second: pods whose backoff is over go to activeQ."""
        for info in self._backoff.pop_expired(self._clock.now):
            self.places.move_to_active(info, BACKOFF_COMPLETE, from_backoff=True)

    def flush_unschedulable_leftover(self) -> None:
        """Every 30 s: pods that have been unschedulable for too long are tried again.

        v1.11 has no such flush. There, a kubelet's report about an unchanged node moves all pods.
        """
        if self.rules.heartbeat_period:
            self._move(self._unschedulable.infos(), NODE_UNKNOWN_CHANGE, None, None)
        elif self._moves.move_left_over():
            self.move_request_cycle = self.scheduling_cycle

    # -- looking ---------------------------------------------------------------------------------

    def get(self, key: str) -> QueuedPodInfo | None:
        """The waiting pod with this namespace/name; a pod in flight is not waiting."""
        return self.places.get(key)

    def in_flight(self, key: str) -> QueuedPodInfo | None:
        """The pod being tried with this namespace/name."""
        return self._in_flight.by_key(key)

    def backoff_until(self, info: QueuedPodInfo) -> int | None:
        """When the pod's backoff ends (it is flushed at the next tick); None without one."""
        return self._backoff.over_at(info)

    def _pop_step(self, info: QueuedPodInfo, event: str, backed_off_until: int | None) -> Popped:
        return Popped(
            self.scheduling_cycle,
            self.move_request_cycle,
            info.attempts,
            event,
            info.pod_info.priority,
            info.timestamp,
            backed_off_until,
            self.judged_by,
            waiting(entry[3] for entry in self._active.ordered()),
            waiting((entry[3] for entry in self._backoff.ordered()), backing_off=True),
            waiting(self._unschedulable.infos()),
            tuple(each.key for _, each in self._in_flight.pods.values()),
        )

    def _return_step(
        self, info: QueuedPodInfo, cycle: int, missed: Sequence[EventConsidered]
    ) -> Requeued:
        return Requeued(
            info.place,
            self.judged_by,
            cycle,
            self.move_request_cycle,
            tuple(info.unschedulable_plugins),
            tuple(info.pending_plugins),
            tuple(missed),
            self._backoff.step_of(info),
            self.flush_times.next_backoff_expiry(),
            self.flush_times.next_leftover_due(),
        )

    @property
    def judged_by(self) -> JudgedBy:
        """What decides where a pod goes whose attempt has failed."""
        return "in-flight events" if self.rules.hints else "moveRequestCycle"

    # -- inside ----------------------------------------------------------------------------------

    def _move(self, infos: list[QueuedPodInfo], event: ClusterEvent, old: Any, new: Any) -> None:
        if self._moves.move(infos, event, old, new):
            self.move_request_cycle = self.scheduling_cycle

    def _new_info(self, pod: Pod | PodInfo) -> QueuedPodInfo:
        pod_info = pod if isinstance(pod, PodInfo) else PodInfo(pod, self._resource_rules)
        now = self._clock.now
        # Since v1.26 a pod at a gate has not begun to wait for the scheduler.
        return QueuedPodInfo(pod_info, now, None if self.rules.hints else now)
