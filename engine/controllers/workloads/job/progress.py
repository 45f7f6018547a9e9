"""How far a Job has come, as one sync of its controller sees it. Upstream: syncJobCtx."""

from collections.abc import Collection
from typing import Final

from engine.controllers.shared.controller import status_number
from engine.controllers.shared.pods import is_active
from engine.controllers.workloads.job.backoff import BackoffRecord, finished_at, remaining_time
from engine.controllers.workloads.job.failure_policy import FAIL_INDEX, is_failed, match_failure
from engine.controllers.workloads.job.indexes import (
    FAILURE_COUNT,
    IGNORED_COUNT,
    UNKNOWN,
    index_of,
    is_indexed,
    parse_indexes,
)
from engine.controllers.workloads.job.indexes import count_in as _count
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import is_ready

FINALIZER: Final = "batch.kubernetes.io/job-tracking"


class JobProgress:
    """The pods of a job, how many succeeded and failed, and which indexes.

    `succeeded` and `failed` include the pods that the status does not count yet. `removed` are the
    uids of pods that lost their finalizer in a write that no watch has delivered yet.
    """

    def __init__(
        self, job: ApiObject, pods: list[Pod], removed: Collection[str], record: BackoffRecord
    ) -> None:
        self.job = job
        self.pods = pods
        self.removed = removed
        self.active = [pod for pod in pods if is_active(pod)]
        # These three follow what the sync creates and deletes.
        self.active_count = len(self.active)
        self.ready = sum(map(is_ready, self.active))
        self.terminating = sum(map(is_terminating, pods))
        uncounted: Manifest = job.status.get("uncountedTerminatedPods") or {}
        self.uncounted_succeeded: list[str] = uncounted.get("succeeded") or []
        self.uncounted_failed: list[str] = uncounted.get("failed") or []
        known = {*self.uncounted_succeeded, *self.uncounted_failed}
        new = [pod for pod in pods if self.is_held(pod) and pod.uid not in known]
        succeeded = [pod for pod in new if pod.phase == "Succeeded"]
        failed = [pod for pod in new if is_failed(job, pod)]
        self.succeeded = (
            status_number(job, "succeeded") + len(succeeded) + len(self.uncounted_succeeded)
        )
        self.failed = (
            status_number(job, "failed")
            + sum(match_failure(job, pod).counts for pod in failed)
            + len(self.uncounted_failed)
        )
        # With these pods; it is kept once the status is written.
        self.record = record.after(succeeded, failed)
        # The completion indexes, where there are any. None: the job has no limit by index.
        self.counted_indexes: dict[int, None] = {}
        self.succeeded_indexes: dict[int, None] = {}
        self.failed_indexes: dict[int, None] | None = None
        # By index, a failed pod that keeps its finalizer until another one has its place.
        self.delayed: dict[int, Pod] = {}
        if is_indexed(job):
            self._follow_indexes()

    def is_held(self, pod: Pod) -> bool:
        """Whether the finalizer holds *pod*, and the pod is still to be counted."""
        return FINALIZER in pod.finalizers and pod.uid not in self.removed

    @property
    def limits_each_index(self) -> bool:
        """Whether each index has a backoff limit of its own."""
        return self.failed_indexes is not None

    @property
    def completions(self) -> int | None:
        """How many pods have to succeed; None when any success completes the job."""
        return completions_of(self.job)

    def is_valid(self, index: int) -> bool:
        """Whether *index* is one of the job's."""
        return UNKNOWN < index < (self.completions or 0)

    def _follow_indexes(self) -> None:
        completions = self.completions or 0
        text: str = self.job.status.get("completedIndexes") or ""
        self.counted_indexes = parse_indexes(text, completions)
        held = [pod for pod in self.pods if self.is_valid(index_of(pod)) and self.is_held(pod)]
        ended = [index_of(pod) for pod in held if pod.phase == "Succeeded"]
        self.succeeded_indexes = dict.fromkeys(sorted({*self.counted_indexes, *ended}))
        self.succeeded = len(self.succeeded_indexes)
        if self.job.spec.get("backoffLimitPerIndex") is None:
            return
        known = parse_indexes(self.job.status.get("failedIndexes") or "", completions)
        failed = [index_of(pod) for pod in held if self._has_failed_index(pod)]
        self.failed_indexes = dict.fromkeys(sorted({*known, *failed}))
        self.delayed = self._delayed_pods(held)

    def _has_failed_index(self, pod: Pod) -> bool:
        """Whether the failure of *pod* is the last that its index may have. Upstream: isIndexFailed()."""
        if not is_failed(self.job, pod):
            return False
        match = match_failure(self.job, pod)
        if match.action == FAIL_INDEX:
            return True
        return match.counts and _count(pod, FAILURE_COUNT) >= self.job.spec["backoffLimitPerIndex"]

    def _delayed_pods(self, held: list[Pod]) -> dict[int, Pod]:
        """Upstream: getPodsWithDelayedDeletionPerIndex()."""
        settled = {*self.succeeded_indexes, *(self.failed_indexes or ())}
        settled |= {index_of(pod) for pod in self.active}
        delayed: dict[int, Pod] = {}
        for pod in held:
            index = index_of(pod)
            if index in settled or not is_failed(self.job, pod):
                continue
            known = delayed.get(index)
            if known is None or _history(pod) > _history(known):
                delayed[index] = pod
        return delayed

    def wait_of(self, index: int, clock: int) -> int:
        """How long index *index* gets no new pod, ns. Upstream: getRemainingTimePerIndex()."""
        pod = self.delayed.get(index)
        if pod is None:
            return 0
        failures = _count(pod, FAILURE_COUNT) + _count(pod, IGNORED_COUNT) + 1
        return remaining_time(failures, finished_at(pod), clock)

    def failure_counts(self, index: int) -> dict[str, str]:
        """The annotations of the next pod of *index*. Upstream: addIndexFailureCountAnnotation()."""
        pod = self.delayed.get(index)
        if pod is None:
            return {FAILURE_COUNT: "0"}
        counts = match_failure(self.job, pod).counts
        failed = _count(pod, FAILURE_COUNT) + counts
        ignored = _count(pod, IGNORED_COUNT) + (not counts)
        return {FAILURE_COUNT: str(failed)} | ({IGNORED_COUNT: str(ignored)} if ignored else {})


def is_terminating(pod: Pod) -> bool:
    """Whether it is being deleted before its containers have ended."""
    return bool(pod.deletion_timestamp) and not pod.is_terminated


def completions_of(job: ApiObject) -> int | None:
    """spec.completions as the API defaults it: one for a job that says nothing of parallel pods."""
    completions = job.spec.get("completions")
    if completions is None and job.spec.get("parallelism") is None:
        return 1
    return completions


def _history(pod: Pod) -> tuple[int, int]:
    return _count(pod, FAILURE_COUNT) + _count(pod, IGNORED_COUNT), finished_at(pod)
