"""A scheduling attempt, as it is kept beside the events."""

from typing import Any, NamedTuple

from scheduling.engine.columns.explanation import Explanation


class SchedulingAttempt(NamedTuple):
    """One try to place one pod.

    `number` counts the pod's attempts from 1; `seq` is the event that told the result; `at` is in
    nanoseconds; `cycle` the scheduling cycle. `evidence` is the dict of docs/evidence.md, or None
    on a cluster so large that it is made on demand from the nearest checkpoint. `explanation` is
    there when the scheduler was told to `keep_explanations`.
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
