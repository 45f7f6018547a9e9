"""Chooses the waiting pods that an event of the cluster concerns, and moves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.framework.cluster_events import TIMEOUT, ClusterEvent, moves_classic_queue
from engine.framework.rules.queue import QueueRules
from engine.scheduler.queue.places import Clock, QueuePlaces
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.scheduler.queue.requeueing import Requeueing, Strategy
from engine.scheduler.queue.trace_steps import EventConsidered, HintAsked

if TYPE_CHECKING:
    from engine.objects.objects import Pod


class EventMoves:
    """Moves pods to where an event of the cluster sends them: to activeQ, backoffQ or nowhere.

    With hints, the plugins that rejected a pod decide; before, every event moved every pod. The
    methods return False for an event that can help no pod.
    """

    __slots__ = ("_clock", "_places", "_requeueing", "_rules")

    def __init__(
        self, rules: QueueRules, clock: Clock, places: QueuePlaces, requeueing: Requeueing
    ) -> None:
        self._rules = rules
        self._clock = clock
        self._places = places
        self._requeueing = requeueing

    def move_waiting(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        *,
        but: str = "",
        at_most: int | None = None,
    ) -> bool:
        """Move the unschedulable pods that *event* may help.

        The pod with the key *but*, and pods whose priority is above *at_most*, stay where they are.
        """
        rules = self._rules
        if not rules.hints and (
            event.resource in rules.ignored_kinds or not moves_classic_queue(event, new)
        ):
            return False
        infos = self._asked(event, old, new)
        if but:
            infos = [info for info in infos if info.key != but]
        if at_most is not None:
            # Upstream: getLEPriorityPreCheck().
            infos = [info for info in infos if info.pod_info.priority <= at_most]
        return self.move(infos, event, old, new)

    def _asked(self, event: ClusterEvent, old: Any, new: Any) -> list[QueuedPodInfo]:
        """The unschedulable pods of which the hints have to be asked."""
        unschedulable = self._places.unschedulable
        # Who is followed is to see that it was asked about.
        if not self._rules.hints or self._clock.trace is not None:
            return unschedulable.infos()
        concern = self._requeueing.concern(event, old, new)
        return unschedulable.infos() if concern is None else unschedulable.concerned(*concern)

    def move_left_over(self) -> bool:
        """Move the pods that have been unschedulable for longer than the version lets them be."""
        horizon = self._clock.now - self._rules.leftover_age
        infos = self._places.unschedulable.infos()
        left_over = [info for info in infos if info.timestamp < horizon]
        if not left_over:
            return False
        self._places.is_flushing = True
        has_moved = self.move(left_over, TIMEOUT, None, None)
        self._places.is_flushing = False
        return has_moved

    def move(self, infos: list[QueuedPodInfo], event: ClusterEvent, old: Any, new: Any) -> bool:
        """Move those of *infos* that *event* may help.

        Upstream: movePodsToActiveOrBackoffQueue().
        """
        if self._rules.hints:
            if not self._requeueing.is_of_interest(event):
                return False
            self._move_by_hints(infos, event, old, new)
        else:
            self._move_all(infos, event.classic_label)
        return True

    def _move_by_hints(
        self, infos: list[QueuedPodInfo], event: ClusterEvent, old: Any, new: Any
    ) -> None:
        trace = self._clock.trace
        for info in infos:
            if info.gated and not self._may_open_gate(info, event):
                continue
            if trace is not None and trace.follows(info.pod.id):
                asked: list[HintAsked] = []
                strategy = self._requeueing.worth_requeuing(info, event, old, new, asked)
                step = EventConsidered(event.label, tuple(asked), strategy.name)
                trace.add(info.pod.id, step)
            else:
                strategy = self._requeueing.worth_requeuing(info, event, old, new)
            if strategy is not Strategy.SKIP:
                self._places.requeue(info, strategy, event.label)
        self._places.in_flight.add_event(event, old, new)

    def _may_open_gate(self, info: QueuedPodInfo, event: ClusterEvent) -> bool:
        """Whether a gated pod is to be asked about; one that awaits its victims is not."""
        return not self._places.is_held(info) and self._requeueing.may_open_gate(info, event)

    def _move_all(self, infos: list[QueuedPodInfo], event_name: str) -> None:
        now = self._clock.now
        for info in infos:
            if info.gated and not self._places.passes_gates(info):
                continue
            is_record = self._rules.backoff != "pause"
            if is_record and self._places.backoff.is_backing_off(info, now):
                self._places.move_to_backoff(info, event_name)
            else:
                self._places.move_to_active(info, event_name)

    def with_matching_affinity_term(self, pod: Pod) -> list[QueuedPodInfo]:
        """The unschedulable pods with a required affinity term that matches *pod*.

        Upstream: getUnschedulablePodsWithMatchingAffinityTerm() (v1.16, v1.20).
        """
        return [
            info
            for info in self._places.unschedulable.infos()
            if any(
                term.matches(pod.namespace, pod.labels) for term in info.pod_info.affinity.required
            )
        ]
