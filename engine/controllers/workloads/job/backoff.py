"""How long a Job waits before it replaces a failed pod. Upstream: pkg/controller/job/backoff_utils.go."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.controllers.shared.manifests import part
from engine.controllers.shared.pods import time_of
from engine.kernel.units import SECOND
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import ready_condition

BACKOFF: Final = 10 * SECOND
MAX_BACKOFF: Final = 600 * SECOND


@dataclass(frozen=True, slots=True)
class BackoffRecord:
    """The failures of a Job since its last success, and when the last of them ended. Times in ns since EPOCH."""

    failures: int = 0
    last_failure: int = 0

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> "BackoffRecord":
        """The record once these pods have ended, too. Upstream: newBackoffRecord()."""
        if not succeeded and not failed:
            return self
        ends = sorted(map(finished_at, failed))
        if not succeeded:
            return BackoffRecord(self.failures + len(ends), ends[-1])
        last_success = max(map(finished_at, succeeded))
        later = [end for end in ends if end > last_success]
        return BackoffRecord(len(later), later[-1]) if later else BackoffRecord()

    def remaining(self, clock: int) -> int:
        """How long no pod is created yet, ns. Upstream: getRemainingTime()."""
        return remaining_time(self.failures, self.last_failure, clock)


def remaining_time(failures: int, last_failure: int, clock: int) -> int:
    """What is left at *clock* of the wait after that many failures, the last at *last_failure*; in ns."""
    if not failures:
        return 0
    wait = min(BACKOFF << min(failures - 1, 10), MAX_BACKOFF)
    return max(0, last_failure + wait - clock)


def past_limit_on_failure(job: ApiObject, pods: Sequence[Pod], limit: int) -> bool:
    """Whether the containers of *pods* were started again as often as *limit* lets the job retry.

    Upstream: pastBackoffLimitOnFailure().
    """
    if part(part(job.spec, "template"), "spec").get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        status.get("restartCount") or 0
        for pod in pods
        if pod.phase in ("Pending", "Running")
        for field in ("initContainerStatuses", "containerStatuses")
        for status in items(pod.status, field)
    )
    return restarts > 0 if limit == 0 else restarts >= limit


def finished_at(pod: Pod) -> int:
    """When *pod* ended, in ns since EPOCH. Upstream: getFinishedTime()."""
    statuses: list[Manifest] = pod.status.get("containerStatuses") or []
    ends = [time_of(_terminated(status).get("finishedAt")) for status in statuses]
    if ends and all(ends):
        return max(ends)
    condition = ready_condition(pod) or {}
    if condition.get("status") == "False" and condition.get("lastTransitionTime"):
        return time_of(condition["lastTransitionTime"])
    if pod.deletion_timestamp:
        grace = pod.metadata.get("deletionGracePeriodSeconds") or 0
        return time_of(pod.deletion_timestamp) - grace * SECOND
    return time_of(pod.creation_timestamp)


def _terminated(status: Manifest) -> Manifest:
    return part(part(status, "state"), "terminated")
