"""One scheduling cycle for all waiting pods of a group: they get nodes together, or not at all.

    gather ── decide one after the other, each assumed for those that follow ── undo ── conclude

The pods that fit are bound only if enough of them fit. Upstream: pkg/scheduler/
schedule_one_podgroup.go scheduleOnePodGroup() (v1.36, behind the gate GenericWorkload).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from engine.framework.pod_groups.groups import POD_GROUP, PodGroups
from engine.kernel.errors import ApiError
from engine.kernel.units import timestamp
from engine.objects.pods.conditions import with_condition
from engine.plugins.gang_scheduling.plugin import WAITS_TO_BE_SCHEDULED
from engine.scheduler.cycle.attempt import Attempt
from engine.scheduler.cycle.binding.binding_cycle import BindingCycle
from engine.scheduler.cycle.chronicle import COMPONENT
from engine.scheduler.cycle.decision.result import ERROR, SCHEDULED, UNSCHEDULABLE
from engine.scheduler.cycle.failure.failures import FailureHandler
from engine.scheduler.cycle.state import SchedulerState
from engine.scheduler.queue.queued_pod import QueuedPodInfo

_CONDITION: Final = "PodGroupScheduled"
# Upstream: errPodGroupUnschedulable, which stands before the other reasons of a status.
_UNSCHEDULABLE: Final = "pod group is unschedulable"
_WAITS_FOR_PREEMPTION: Final = f"{_UNSCHEDULABLE}, pod group is waiting for preemption to complete"
_WAITS_TO_BE_SCHEDULED: Final = f"{_UNSCHEDULABLE}, {WAITS_TO_BE_SCHEDULED}"


class Outcome(enum.Enum):
    """What a cycle came to for a group; the value is the reason of its condition."""

    SCHEDULED = "Scheduled"
    UNSCHEDULABLE = "Unschedulable"
    WAITS_FOR_PREEMPTION = "Unschedulable, waiting"
    ERROR = "SchedulerError"


_MESSAGES: Final = {
    Outcome.UNSCHEDULABLE: _UNSCHEDULABLE,
    Outcome.WAITS_FOR_PREEMPTION: _WAITS_FOR_PREEMPTION,
}


@dataclass(slots=True)
class GroupAttempt:
    """The cycle of one group: what was decided for each of its waiting pods, in order."""

    group: str
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    outcome: Outcome = Outcome.UNSCHEDULABLE
    message: str = ""


class GroupCycle:
    """Tries the waiting pods of one group at once, and concludes for all of them."""

    def __init__(
        self,
        state: SchedulerState,
        groups: PodGroups,
        binding: BindingCycle,
        failures: FailureHandler,
        decide: Callable[[QueuedPodInfo], Attempt],
    ) -> None:
        """*decide* finds a node for one pod, as the scheduling cycle of a single pod does."""
        self._state = state
        self._groups = groups
        self._binding = binding
        self._failures = failures
        self._decide = decide

    def gather(self, first: QueuedPodInfo, group: str) -> list[QueuedPodInfo]:
        """*first* and the waiting pods of its group, now all in flight, in the order of their trial.

        Upstream: podGroupInfoForPod().
        """
        queue = self._state.queue
        found = [first]
        for pod in self._groups.unplaced(group):
            info = None if pod.key == first.key else queue.pop_specific(pod.key)
            if info is not None:
                found.append(info)
        return sorted(found, key=_order)

    def attempt(self, group: str, members: Sequence[QueuedPodInfo]) -> GroupAttempt:
        """Decide for each of *members*, as if those before it were on their nodes already.

        Upstream: podGroupSchedulingDefaultAlgorithm().
        """
        tried = GroupAttempt(group)
        schedulers = list(dict.fromkeys(each.pod.scheduler_name for each in members))
        if len(schedulers) > 1:
            # Upstream: frameworkForPodGroup().
            tried.outcome = Outcome.ERROR
            tried.message = (
                "all pods in a single pod group should have the same .spec.schedulerName set, got: "
                f'"{schedulers[0]}" and "{schedulers[1]}"'
            )
            return tried
        undo: list[Callable[[], None]] = []
        preempts = False
        for queued in members:
            attempt = self._decide(queued)
            tried.attempts.append(attempt)
            decision = attempt.decision
            if decision.result == ERROR:
                tried.outcome = Outcome.ERROR
                tried.message = f"failed to schedule other pod from a pod group: {decision.message}"
                break
            node = decision.node or _promised(attempt)
            if node is None:
                continue
            preempts = preempts or decision.node is None
            undone = self._binding.try_on(attempt, node)
            if undone is None:
                continue
            undo.append(undone)
            if len(self._groups.placed(group)) >= self._groups.minimum(group):
                tried.outcome = Outcome.WAITS_FOR_PREEMPTION if preempts else Outcome.SCHEDULED
        for each in reversed(undo):
            each()
        tried.message = tried.message or _MESSAGES.get(tried.outcome, "")
        return tried

    def conclude(self, tried: GroupAttempt, is_gone: Callable[[QueuedPodInfo], bool]) -> None:
        """Bind the pods that fit if the group can be whole, else send all of them back.

        Upstream: submitPodGroupAlgorithmResult().
        """
        for attempt in tried.attempts:
            if attempt.began != self._state.loop.now and is_gone(attempt.queued):
                self._state.queue.skip(attempt.queued.pod_info.uid)
            else:
                self._conclude_pod(tried, attempt)
        self._write_condition(tried)

    def return_unattempted(self, tried: GroupAttempt, members: Sequence[QueuedPodInfo]) -> None:
        """Those of *members* that an error kept from being tried fail with it."""
        for queued in members[len(tried.attempts) :]:
            self._failures.handle_error(queued, tried.message)

    def _conclude_pod(self, tried: GroupAttempt, attempt: Attempt) -> None:
        decision = attempt.decision
        node = decision.node
        if tried.outcome is Outcome.ERROR and decision.result != ERROR:
            self._failures.handle_error(attempt.queued, tried.message)
        elif node is not None and tried.outcome is Outcome.SCHEDULED:
            self._binding.begin(attempt, node)
        elif node is not None:
            waits = tried.outcome is Outcome.WAITS_FOR_PREEMPTION
            message = tried.message if waits else _WAITS_TO_BE_SCHEDULED
            attempt.fail(UNSCHEDULABLE, message)
            self._failures.handle_group_refusal(attempt, nominated=node if waits else "")
        elif _promised(attempt) is not None and tried.outcome is Outcome.UNSCHEDULABLE:
            decision.message = _WAITS_TO_BE_SCHEDULED
            self._failures.handle_group_refusal(attempt, nominated="")
        else:
            self._failures.handle_refusal(attempt)

    def _write_condition(self, tried: GroupAttempt) -> None:
        """Say in the group's status what came of it. Upstream: updatePodGroupCondition()."""
        store = self._state.store
        found = store.find(POD_GROUP, tried.group)
        if found is None:
            return
        is_scheduled = tried.outcome is Outcome.SCHEDULED
        conditions: list[dict[str, Any]] = found.status.get("conditions") or []
        old = next((each for each in conditions if each.get("type") == _CONDITION), None)
        status = "True" if is_scheduled else "False"
        if old is not None and old.get("status") == "True" and not is_scheduled:
            return
        same = old is not None and old.get("status") == status
        since = old.get("lastTransitionTime") if same and old is not None else None
        condition = {
            "type": _CONDITION,
            "status": status,
            "reason": tried.outcome.value.partition(",")[0],
            "message": tried.message,
            "observedGeneration": found.metadata.get("generation") or 0,
            "lastTransitionTime": since or timestamp(self._state.loop.clock),
        }
        if condition == old:
            return
        patch = {"status": {"conditions": with_condition(found, condition)}}
        with suppress(ApiError):
            store.patch(
                POD_GROUP,
                tried.group,
                patch,
                by=COMPONENT,
                event="PodGroupConditionUpdated",
                message=_summary(tried),
            )


def _order(queued: QueuedPodInfo) -> tuple[int, int]:
    """Higher priorities first, then who was tried first."""
    return -queued.pod_info.priority, queued.initial_attempt_timestamp or 0


def _promised(attempt: Attempt) -> str | None:
    """The node on which preemption makes room for the pod."""
    preemption = attempt.decision.preemption
    return None if preemption is None or preemption.chosen is None else preemption.chosen.node


def _summary(tried: GroupAttempt) -> str:
    fits = sum(attempt.decision.result == SCHEDULED for attempt in tried.attempts)
    return f"{fits} of {len(tried.attempts)} waiting pods got a node"
