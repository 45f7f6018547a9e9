"""How the scheduling queue of each version behaves: data, not code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from kscope.sim.kernel.units import MINUTE, SECOND
from scheduling.engine.queue.events import ClusterEvent

BackoffRule = Literal["record", "attempts", "counts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """The rules of one version's PriorityQueue. All durations in nanoseconds."""

    version: str
    # "record":   a table by pod name that is forgotten (v1.16 PodBackoffMap);
    # "attempts": timestamp + 1 s · 2^(attempts-1)      (v1.20);
    # "counts":   by failures or by consecutive errors  (v1.34).
    backoff: BackoffRule
    leftover_age: int
    initial_backoff: int = 1 * SECOND
    max_backoff: int = 10 * SECOND
    backoff_flush_period: int = 1 * SECOND
    leftover_flush_period: int = 30 * SECOND
    # v1.34 orders and flushes backoffQ in whole seconds; 0 means exact times.
    backoff_window: int = 0
    # v1.34: an idle scheduler takes a pod out of backoffQ early (SchedulerPopFromBackoffQ).
    pops_from_backoff: bool = False
    # v1.34: plugins say which events matter to a pod they rejected (SchedulerQueueingHints).
    hints: bool = False
    # v1.34: an update leaves a pod in backoffQ; before, it went to activeQ at once.
    update_leaves_backoff: bool = True
    # A write of the pod's status counts as a change of the pod: it changes managedFields, which
    # isPodUpdated() did not disregard before v1.21.
    status_counts: bool = False
    # The texts of the error of adding a pod that is already queued; {pod} is namespace/name.
    present_errors: Mapping[str, str]

    def event_name(self, event: ClusterEvent) -> str:
        """What this version calls the event."""
        return event.label if self.hints else event.classic_label


_RULES_1_16 = QueueRules(
    version="v1.16",
    backoff="record",
    leftover_age=60 * SECOND,
    present_errors={
        "unschedulable": "pod is already present in unschedulableQ",
        "gated": "pod is already present in unschedulableQ",
        "active": "pod is already present in the activeQ",
        "backoff": "pod is already present in the backoffQ",
    },
)

QUEUE_RULES: Mapping[str, QueueRules] = {
    "v1.11": replace(_RULES_1_16, version="v1.11"),
    "v1.16": _RULES_1_16,
    "v1.20": QueueRules(
        version="v1.20",
        backoff="attempts",
        leftover_age=60 * SECOND,
        present_errors={
            "unschedulable": "pod: {pod} is already present in unschedulable queue",
            "gated": "pod: {pod} is already present in unschedulable queue",
            "active": "pod: {pod} is already present in the active queue",
            "backoff": "pod {pod} is already present in the backoff queue",
        },
    ),
    "v1.34": QueueRules(
        version="v1.34",
        backoff="counts",
        leftover_age=5 * MINUTE,
        backoff_window=1 * SECOND,
        pops_from_backoff=True,
        hints=True,
        update_leaves_backoff=False,
        present_errors={
            "unschedulable": "Pod {pod} is already present in unschedulable queue",
            "gated": "Pod {pod} is already present in unschedulable queue",
            "active": "Pod {pod} is already present in the active queue",
            "backoff": "Pod {pod} is already present in the backoff queue",
        },
    ),
}
