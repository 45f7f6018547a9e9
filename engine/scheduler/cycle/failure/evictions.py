"""Evicts the victims of a preemption. Upstream: pkg/scheduler/framework/preemption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.framework import names
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.errors import ApiError
from engine.objects.objects import Pod
from engine.objects.pods.conditions import disruption_target, with_condition
from engine.scheduler.cycle.attempt import Binding
from engine.scheduler.cycle.chronicle import COMPONENT
from engine.scheduler.cycle.failure.status_writes import PodStatusWriter
from engine.scheduler.cycle.state import SchedulerState
from engine.scheduler.preemption.dry_run import Candidate
from engine.scheduler.queue.queued_pod import QueuedPodInfo

# Ends the message about a victim that is not deleted.
_IN_MEMORY = " (in kube-scheduler memory)."


class Evictions:
    """Makes room on a node for a preemptor, by deleting pods of lower priority."""

    def __init__(
        self, state: SchedulerState, writer: PodStatusWriter, wake: Callable[[], None]
    ) -> None:
        self._state = state
        self._loop = state.loop
        self._store = state.store
        self._latencies = state.latencies
        self._profile = state.profile
        self._rules = state.profile.rules
        self._chronicle = state.chronicle
        self._handle = state.handle
        self._queue = state.queue
        self._writer = writer
        self._wake = wake

    def make_room(self, queued: QueuedPodInfo, chosen: Candidate) -> bool:
        """Evict the victims; whether the preemptor may be nominated now.

        Upstream: prepareCandidateAsync(), v1.20 PrepareCandidate(), v1.16 preempt().
        """
        message = f"{self._preempted_by(queued.pod)} on node {chosen.node}"
        if not self._profile.preemption.spares_the_leaving:
            return self._evict_in_turn(chosen.victims, queued.pod_info, chosen.node, message)
        victims = [victim for victim in chosen.victims if not victim.pod.deletion_timestamp]
        if victims:
            # Before the first eviction (since 1.32), and only if a pod has to be evicted.
            self._clear_lower_nominations(queued.pod_info, chosen.node)
            self._evict_all(victims, queued.pod, message)
        return True

    def _evict_all(self, victims: Sequence[PodInfo], preemptor: Pod, message: str) -> None:
        """Evict all but the last at once; then the last, if no eviction has failed.

        Between the two a gate holds the preemptor, which would preempt once more. A preemptor whose
        victims were not all evicted is tried again. Upstream: prepareCandidateAsync().
        """
        *others, last = victims
        fates = [self._evict(victim, preemptor, message) for victim in others]
        if others and self._rules.evicts_last_victim_alone and False not in fates:
            self._queue.places.preempting[preemptor.uid] = None
            delay = self._latencies.draw("api_write")
            self._loop.call_after(delay, self._evict_last, last, fates, preemptor, message)
        else:
            self._evict_last(last, fates, preemptor, message)

    def _evict_last(
        self, last: PodInfo, fates: list[bool | None], preemptor: Pod, message: str
    ) -> None:
        """Evict the last victim, unless evicting one of the others has failed (see *fates*)."""
        self._queue.places.preempting.pop(preemptor.uid, None)
        if self._state.stopped:
            return
        if False not in fates:
            fates.append(self._evict(last, preemptor, message))
        if False in fates or True not in fates:
            self._loop.call_after(0, self._try_again, preemptor)

    def _evict_in_turn(
        self, victims: Sequence[PodInfo], preemptor: PodInfo, node: str, message: str
    ) -> bool:
        """Evict one after the other, until an eviction fails; whether the first succeeded."""
        if not victims:
            self._clear_lower_nominations(preemptor, node)
            return True
        if not self._evict(victims[0], preemptor.pod, message):
            return False
        rest = victims[1:]
        if rest:
            delay = self._latencies.draw("api_write")
            self._loop.call_after(delay, self._evict_in_turn, rest, preemptor, node, message)
        else:
            self._clear_lower_nominations(preemptor, node)
        return True

    def _clear_lower_nominations(self, preemptor: PodInfo, node: str) -> None:
        """Clear the nomination of lower-priority pods on *node*.

        A nomination that no watch has shown yet is kept. Upstream: getLowerPriorityNominatedPods(),
        clearNominatedNodeName(), v1.16 RemoveNominatedNodeName().
        """
        for lower in self._queue.nominator.pods_for_node(node):
            if lower.priority < preemptor.priority and lower.pod.nominated_node_name:
                self._writer.write_nomination(lower.pod, None)

    def _evict(self, victim: PodInfo, preemptor: Pod, message: str) -> bool | None:
        """Evict one victim; whether the write succeeded, or None if the pod is gone already.

        Upstream: preemption.go PreemptPod().
        """
        waiting = self._handle.waiting_pods.get(victim.uid)
        if waiting is not None:
            # A victim that waits in Permit goes back to the queue instead.
            waiting.reject(names.DEFAULT_PREEMPTION, "preempted")
            if self._rules.returns_binding_victims:
                message += _IN_MEMORY
            self._chronicle.record_event(victim.pod, "Preempted", "Normal", message)
            return True
        binding = self._state.bindings.get(victim.key)
        if self._rules.returns_binding_victims and binding and binding.volumes_binding:
            # So does a victim whose volumes are being bound. Upstream: podInPreBind.CancelPod().
            self._loop.call_after(0, self._end_binding, binding)
            self._chronicle.record_event(victim.pod, "Preempted", "Normal", message + _IN_MEMORY)
            return True
        stored = self._store.find("Pod", victim.key)
        # There is no precondition on the uid, so a new pod of the same name is deleted instead.
        # Upstream: DeletePod().
        if not isinstance(stored, Pod):
            return None
        grace = stored.grace_period_seconds
        try:
            if self._rules.marks_victims:
                self._mark_victim(stored, preemptor)
            self._store.delete(
                "Pod", victim.key, by=COMPONENT, grace_seconds=grace, event="PodEvicted"
            )
        except ApiError:
            # The victim stays; the preemptor finds it at its next attempt.
            return False
        self._chronicle.record_event(victim.pod, "Preempted", "Normal", message)
        return True

    def _end_binding(self, binding: Binding) -> None:
        """End the wait for the volumes of a victim that is being bound."""
        if not binding.forgotten and binding.volumes_binding is not None:
            binding.volumes_binding.cancel()
            binding.volumes_done(f"preempted by {names.DEFAULT_PREEMPTION}")

    def _try_again(self, preemptor: Pod) -> None:
        """Try again at once: no deletion may follow that would wake the pod (since 1.32)."""
        if not self._state.stopped:
            self._queue.activate([preemptor])
            self._wake()

    def _mark_victim(self, victim: Pod, preemptor: Pod) -> None:
        message = f"{preemptor.scheduler_name}: preempting to accommodate a higher priority pod"
        condition = disruption_target("PreemptionByScheduler", message, self._loop.clock)
        conditions: list[dict[str, Any]] = victim.status.get("conditions") or []
        fields = {name: value for name, value in condition.items() if name != "lastTransitionTime"}
        if any(fields.items() <= each.items() for each in conditions):
            return
        self._writer.patch_status(
            victim, {"conditions": with_condition(victim, condition)}, "PodDisrupted"
        )

    def _preempted_by(self, pod: Pod) -> str:
        return self._rules.preempted_message.format(key=pod.key, uid=pod.uid)
