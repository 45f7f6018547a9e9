"""The conditions of a Job, and what ends it.

    (none) ─▶ FailureTarget ─▶ Failed            while pods end, and once all are counted
           └▶ SuccessCriteriaMet ─▶ Complete

Upstream: pkg/controller/job/job_controller.go, syncJob(); success_policy.go.
"""

from collections.abc import Sequence
from typing import Final

from engine.controllers.shared.pods import time_of
from engine.controllers.workloads.job.backoff import past_limit_on_failure
from engine.controllers.workloads.job.failure_policy import failing_message
from engine.controllers.workloads.job.indexes import is_indexed, parse_indexes
from engine.controllers.workloads.job.progress import JobProgress
from engine.kernel.units import nanoseconds, timestamp
from engine.objects.objects import ApiObject, Manifest

FAILURE_TARGET: Final = "FailureTarget"
SUCCESS_CRITERIA_MET: Final = "SuccessCriteriaMet"
COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
# The condition that follows once the last pod is counted.
FINAL: Final = {FAILURE_TARGET: FAILED, SUCCESS_CRITERIA_MET: COMPLETE}

_BACKOFF_LIMIT: Final = 6
# Upstream: defaults.go, SetDefaults_Job(): with a limit for each index only these limit the job.
_NO_LIMIT: Final = 2**31 - 1


def condition(kind: str, reason: str, message: str, clock: int) -> Manifest:
    """A condition that is True as of *clock*, in ns since EPOCH."""
    at = timestamp(clock)
    made = {"type": kind, "status": "True", "lastProbeTime": at, "lastTransitionTime": at}
    return made | {"reason": reason, "message": message}


def find_condition(conditions: Sequence[Manifest], kind: str) -> Manifest | None:
    """The condition of that type, if it is True."""
    return next(
        (one for one in conditions if one.get("type") == kind and one.get("status") == "True"), None
    )


def is_finished(job: ApiObject) -> bool:
    """Whether *job* is Complete or Failed."""
    return finished_condition(job) is not None


def finished_condition(job: ApiObject) -> Manifest | None:
    """The condition that *job* is Complete or Failed; None while it is neither."""
    for one in job.status.get("conditions") or ():
        if one.get("type") in (COMPLETE, FAILED) and one.get("status") == "True":
            return one
    return None


def ending(progress: JobProgress, clock: int) -> Manifest | None:
    """The condition with which the job ends, apart from its completion; None while it goes on."""
    job = progress.job
    conditions: list[Manifest] = job.status.get("conditions") or []
    for kind in (SUCCESS_CRITERIA_MET, FAILURE_TARGET):
        found = find_condition(conditions, kind)
        if found is not None:
            return found
    reason, message = _failure(progress, clock)
    if reason:
        return condition(FAILURE_TARGET, reason, message, clock)
    message = _success(progress) if is_indexed(job) else ""
    return condition(SUCCESS_CRITERIA_MET, "SuccessPolicy", message, clock) if message else None


def _failure(progress: JobProgress, clock: int) -> tuple[str, str]:
    """The reason and message of the failure of the job; ("", "") for none."""
    job, spec = progress.job, progress.job.spec
    message = failing_message(job, progress.pods)
    if message:
        return "PodFailurePolicy", message
    limit = _backoff_limit(job)
    if progress.failed > limit or past_limit_on_failure(job, progress.pods, limit):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    if deadline_left(job, clock) == 0:
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    failed = progress.failed_indexes
    if not failed:
        return "", ""
    most = spec.get("maxFailedIndexes")
    if most is not None and len(failed) > most:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return "MaxFailedIndexesExceeded", message
    if len(failed) + len(progress.succeeded_indexes) >= (progress.completions or 0):
        return "FailedIndexes", "Job has failed indexes"
    return "", ""


def deadline_left(job: ApiObject, clock: int) -> int | None:
    """How long *job* may still be active, ns; None when it has no deadline, or does not run."""
    deadline, started = job.spec.get("activeDeadlineSeconds"), job.status.get("startTime")
    if deadline is None or not started or job.spec.get("suspend"):
        return None
    return max(0, time_of(started) + nanoseconds(deadline) - clock)


def _backoff_limit(job: ApiObject) -> int:
    limit = job.spec.get("backoffLimit")
    if limit is not None:
        return limit
    return _BACKOFF_LIMIT if job.spec.get("backoffLimitPerIndex") is None else _NO_LIMIT


def _success(progress: JobProgress) -> str:
    """The rule of the success policy that is met, or "". Upstream: matchSuccessPolicy()."""
    policy: Manifest = progress.job.spec.get("successPolicy") or {}
    for place, rule in enumerate(policy.get("rules") or ()):
        met = len(progress.succeeded_indexes)
        needed: int = rule.get("succeededCount") or 0
        if rule.get("succeededIndexes") is not None:
            wanted = parse_indexes(rule["succeededIndexes"], progress.completions or 0)
            met = sum(index in wanted for index in progress.succeeded_indexes)
            needed = needed or len(wanted)
        if needed and met >= needed:
            return f"Matched rules at index {place}"
    return ""
