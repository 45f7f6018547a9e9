"""What was decided for one pod."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.framework.columns.cells import Ties
from engine.framework.columns.explanation import Explanation
from engine.framework.framework import Status
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Scores, Search
from engine.scheduler.preemption.preemption import Preemption

SCHEDULED = "scheduled"
UNSCHEDULABLE = "unschedulable"
ERROR = "error"


def _no_rows() -> IntArray:
    return np.zeros(0, np.int64)


@dataclass(slots=True)
class ScheduleResult:
    """What was decided for one pod, and what the decision is based on.

    `evaluated` counts the nodes that were evaluated, `feasible` those that fit. `search` and
    `scores` explain the decision as long as the node table does not change; after the fast path
    the search has no verdicts, and there are no scores. `explanation` can be kept and read later,
    if one was asked for.
    """

    pod: PodInfo
    result: str
    node: str | None = None
    row: int = -1
    evaluated: int = 0
    feasible: int = 0
    # After the fast path valid until the next decision.
    tied_rows: IntArray | Ties = field(default_factory=_no_rows)
    message: str = ""
    search: Search | None = None
    scores: Scores | None = None
    # The distinct statuses of the nodes that were refused.
    statuses: list[Status] = field(default_factory=list[Status])
    preemption: Preemption | None = None
    explanation: Explanation | None = None
    # Only the node to which the pod is nominated was evaluated.
    took_nominated_node: bool = False
    # The node that OpportunisticBatching had tried first; "" if there was none.
    node_hint: str = ""
