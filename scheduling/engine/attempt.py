"""A scheduling attempt, as it is kept beside the events."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingAttempt:
    """One try to place one pod.

    `number` counts the pod's attempts from 1; `seq` is the event that told the result; `at` is in
    nanoseconds; `cycle` the scheduling cycle. `evidence` is the dict of docs/evidence.md, or None
    on a cluster so large that it is made on demand from the nearest checkpoint.
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
