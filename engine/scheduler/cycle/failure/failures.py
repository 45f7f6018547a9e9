"""Handles a pod that got no node: Event, queue, condition, nomination and preemption.

Upstream: schedule_one.go handleSchedulingFailure().
"""

from __future__ import annotations

from engine.objects.objects import Pod
from engine.scheduler.cycle.attempt import Attempt
from engine.scheduler.cycle.decision.result import UNSCHEDULABLE, ScheduleResult
from engine.scheduler.cycle.explain import pending_plugins, rejecting_plugins
from engine.scheduler.cycle.failure.evictions import Evictions
from engine.scheduler.cycle.failure.status_writes import PodStatusWriter
from engine.scheduler.cycle.state import SchedulerState
from engine.scheduler.queue.queued_pod import QueuedPodInfo


class FailureHandler:
    """Sends a pod that was refused, or whose attempt failed, back to the queue."""

    def __init__(
        self, state: SchedulerState, writer: PodStatusWriter, evictions: Evictions
    ) -> None:
        self._state = state
        self._rules = state.profile.rules
        self._known = state.known
        self._chronicle = state.chronicle
        self._queue = state.queue
        self._writer = writer
        self._evictions = evictions

    def handle_refusal(self, attempt: Attempt) -> None:
        """Record why; the pod then waits in backoff or for an event that may help."""
        queued, decision = attempt.queued, attempt.decision
        pod = queued.pod
        queued.rejected_by(*rejecting_plugins(decision), pending=pending_plugins(decision))
        preemption = decision.preemption
        chosen = preemption.chosen if preemption else None
        evicts = True
        if chosen is not None and self._rules.evicts_before_reporting:
            evicts = self._evictions.make_room(queued, chosen)
        self._chronicle.show_pod(pod.key, blocker=attempt.blocker)
        seq = self._chronicle.record_event(pod, "FailedScheduling", "Warning", decision.message)
        self._state.keep_attempt(attempt, seq)
        self.requeue(queued, began=attempt.began)
        failed = decision.result != UNSCHEDULABLE and self._rules.reports_scheduler_errors
        reason = "SchedulerError" if failed else "Unschedulable"
        if self._rules.evicts_before_reporting:
            nominated = self._nominate(queued, pod, decision) if evicts else None
            self._writer.patch_condition(pod, reason, decision.message, nominated)
            return
        # Upstream: v1.16 scheduler.go scheduleOne().
        self._writer.patch_condition(pod, reason, decision.message)
        if chosen is None:
            self._nominate(queued, pod, decision)
        elif self._nominate_and_write(queued, chosen.node):
            self._evictions.make_room(queued, chosen)

    def handle_group_refusal(self, attempt: Attempt, *, nominated: str) -> None:
        """The pod would fit, but its group does not: it backs off, for no plugin rejected it.

        *nominated* is the node that preemption frees, or "". Upstream: errPodGroupUnschedulable.
        """
        queued, decision = attempt.queued, attempt.decision
        pod = queued.pod
        queued.rejected_by()
        self._chronicle.show_pod(pod.key, blocker=None)
        seq = self._chronicle.record_event(pod, "FailedScheduling", "Warning", decision.message)
        self._state.keep_attempt(attempt, seq)
        self.requeue(queued, began=attempt.began)
        if nominated:
            self._queue.nominator.add(queued.pod_info, nominated)
        else:
            self._queue.nominator.delete(queued.pod_info.uid)
        self._writer.patch_condition(pod, "Unschedulable", decision.message, nominated)

    def requeue(
        self, queued: QueuedPodInfo, *, began: int | None = None, reason: str = "Unschedulable"
    ) -> None:
        """Requeue the newest version of the pod: the queue ignores updates during an attempt.

        Events that the pod may have missed count from the current cycle, which for a binding is
        not the pod's own. *reason* is that of its condition. Upstream: handleSchedulingFailure(),
        factory.go MakeDefaultErrorFunc().
        """
        known = self._known.get(queued.key)
        if known is not None and known is not queued.pod and known.uid == queued.pod_info.uid:
            queued.update(known)
        self._queue.add_unschedulable_if_not_present(
            queued,
            self._queue.scheduling_cycle,
            began=began,
            fits_nowhere=reason == "Unschedulable",
        )

    def requeue_with_condition(self, queued: QueuedPodInfo, reason: str, message: str) -> None:
        """Send the pod back to the queue, and write why into its condition."""
        self.requeue(queued, reason=reason)
        self._writer.patch_condition(queued.pod, reason, message)

    def _nominate(self, queued: QueuedPodInfo, pod: Pod, decision: ScheduleResult) -> str | None:
        """Nominate the pod in the queue; returns the node to write together with the condition.

        *pod* is the version that was tried. "" clears the node in its status, None leaves it.
        Upstream: schedule_one.go handleSchedulingFailure().
        """
        preemption = decision.preemption
        if preemption is not None and preemption.chosen is not None:
            self._queue.nominator.add(queued.pod_info, preemption.chosen.node)
            return preemption.chosen.node
        if preemption is not None:
            clears = preemption.clears
        else:
            # An error, or no node at all.
            clears = self._rules.errors_end_nomination and (
                decision.result != UNSCHEDULABLE or decision.search is None
            )
        if not self._rules.errors_end_nomination:
            if clears and pod.nominated_node_name:
                # A write of its own; the nomination ends when it comes back.
                self._writer.write_nomination(pod, None)
            return None
        if clears:
            self._queue.nominator.delete(queued.pod_info.uid)
            return "" if pod.nominated_node_name else None
        if queued.key in self._known:
            # The node in its status counts again. Upstream: AddNominatedPod(), ModeNoop.
            self._queue.nominator.add(queued.pod_info)
        return None

    def handle_error(
        self,
        queued: QueuedPodInfo,
        message: str,
        reason: str = "SchedulerError",
        *,
        event: str = "",
    ) -> None:
        """The cycle failed with an error: the pod comes back after its backoff.

        *event* is the text of the Event, *message* of the condition, and of both without *event*.
        """
        pod = queued.pod
        self._chronicle.record_event(pod, "FailedScheduling", "Warning", event or message)
        self.requeue(queued, reason=reason)
        nominated = None
        if self._rules.errors_end_nomination:
            self._queue.nominator.delete(queued.pod_info.uid)
            nominated = ""
        self._writer.patch_condition(pod, reason, message, nominated)

    def _nominate_and_write(self, queued: QueuedPodInfo, node: str) -> bool:
        """Nominate the pod, in the queue and in its status; if that fails, no pod is evicted.

        Upstream: v1.16 scheduler.go preempt().
        """
        self._queue.nominator.add(queued.pod_info, node)
        if self._writer.write_nomination(queued.pod, node):
            return True
        self._queue.nominator.delete(queued.pod_info.uid)
        return False
