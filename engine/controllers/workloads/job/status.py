"""Counts the ended pods of a Job in its status, and then releases them.

    uid in uncountedTerminatedPods ─▶ finalizer off the pod ─▶ counted in succeeded or failed

A pod that a user deletes is counted, too: the finalizer holds it until its uid is written.
Upstream: job_controller.go, trackJobStatusAndRemoveFinalizers().
"""

from collections.abc import Callable
from typing import Any, Final

from engine.api_server.store.store import ObjectStore
from engine.controllers.shared.controller import lean, write_status
from engine.controllers.workloads.job.conditions import (
    COMPLETE,
    FAILURE_TARGET,
    FINAL,
    condition,
    find_condition,
)
from engine.controllers.workloads.job.failure_policy import is_failed, match_failure
from engine.controllers.workloads.job.indexes import index_of, indexes_text, is_indexed
from engine.controllers.workloads.job.progress import FINALIZER, JobProgress
from engine.kernel.errors import NotFound
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.storage.ports import NORMAL, WARNING, EventSink

# As many uids a status may list. Upstream: MaxUncountedPods.
MAX_UNCOUNTED: Final = 500
_UNCOUNTED: Final = "uncountedTerminatedPods"


class JobStatusWriter:
    """Writes the status of a Job, removes the finalizer of counted pods, and emits its last Event.

    *released* is called with each pod whose finalizer is removed.
    """

    def __init__(
        self, store: ObjectStore, events: EventSink, author: str, released: Callable[[Pod], None]
    ) -> None:
        self._store = store
        self._events = events
        self._author = author
        self._released = released

    def track(
        self,
        progress: JobProgress,
        status: Manifest,
        end: Manifest | None,
        written: Callable[[], None],
        clock: int,
    ) -> None:
        """Write what *progress* shows. Raises ApiError; what was written stays.

        *status* is the new status, without what is counted here; *end* is the condition with which
        the job ends; *written* is called once the first write has succeeded.
        """
        job = progress.job
        tally = _Tally(progress, status, end)
        tally.count_released()
        tally.take_ended_pods()
        if end is not None and find_condition(tally.conditions, end["type"]) is None:
            tally.conditions.append(end)
        if tally.status() != job.status:
            job = self._write(job, tally.status())
            written()
        for pod in tally.releasable:
            self._remove_finalizer(pod)
            tally.held.pop(pod.uid, None)
        tally.count_released()
        final = None if end is None or not tally.may_finish else _final(end, clock)
        if final is not None:
            tally.conditions.append(final)
            if final["type"] == COMPLETE:
                status["completionTime"] = final["lastTransitionTime"]
        if tally.status() != job.status:
            job = self._write(job, tally.status())
        if final is not None:
            self._announce(job, final)

    def _write(self, job: ApiObject, status: Manifest) -> ApiObject:
        return write_status(self._store, job, status, by=self._author)

    def _remove_finalizer(self, pod: Pod) -> None:
        remove_finalizer(self._store, pod, by=self._author)
        self._released(pod)

    def _announce(self, job: ApiObject, final: Manifest) -> None:
        """Upstream: recordJobFinished()."""
        if final["type"] != COMPLETE:
            self._events.event(job, WARNING, final["reason"], final["message"])
            return
        completions = job.spec.get("completions")
        if completions is not None and (job.status.get("succeeded") or 0) > completions:
            message = "Too many succeeded pods running after completion count reached"
            self._events.event(job, WARNING, "TooManySucceededPods", message)
        self._events.event(job, NORMAL, "Completed", "Job completed")


class _Tally:
    """The status while it is worked out.

    `held` are the uids of the pods that the finalizer holds, `releasable` the pods that it need not
    hold once their uids are written.
    """

    def __init__(self, progress: JobProgress, status: Manifest, end: Manifest | None) -> None:
        self._progress = progress
        self._status = status
        self._end = end
        self.conditions: list[Manifest] = list(status.get("conditions") or ())
        self._succeeded: list[str] = [*progress.uncounted_succeeded]
        self._failed: list[str] = [*progress.uncounted_failed]
        self._indexes = [*progress.counted_indexes]
        self.held = {pod.uid: None for pod in progress.pods if progress.is_held(pod)}
        self.releasable: list[Pod] = []
        self._is_full = False

    @property
    def may_finish(self) -> bool:
        """Whether every pod is counted and none is terminating. Upstream: enactJobFinished()."""
        left = self._is_full or self._succeeded or self._failed or self._status.get("terminating")
        return not left

    def status(self) -> Manifest:
        """As it is to be written."""
        uncounted = {"succeeded": self._succeeded, "failed": self._failed}
        status: dict[str, Any] = {
            **self._status,
            "conditions": [*self.conditions],
            _UNCOUNTED: {name: [*uids] for name, uids in uncounted.items() if uids},
        }
        always = ["ready", "terminating", _UNCOUNTED]
        if is_indexed(self._progress.job):
            status["completedIndexes"] = indexes_text(self._indexes)
            status["succeeded"] = len(self._indexes)
        if self._progress.failed_indexes is not None:
            status["failedIndexes"] = indexes_text(self._progress.failed_indexes)
            always.append("failedIndexes")
        return lean(status, *always)

    def count_released(self) -> None:
        """Count the listed pods whose finalizer is gone.

        Upstream: cleanUncountedPodsWithoutFinalizers().
        """
        for name, uids in (("succeeded", self._succeeded), ("failed", self._failed)):
            left = [uid for uid in uids if uid in self.held]
            self._status[name] = (self._status.get(name) or 0) + len(uids) - len(left)
            uids[:] = left

    def take_ended_pods(self) -> None:
        """List the uids of the pods that have ended, as far as the status has room for them."""
        pods = self._progress.pods
        if is_indexed(self._progress.job):
            pods = sorted(pods, key=index_of)
        for pod in pods:
            if self._progress.is_held(pod) and self._may_release(pod):
                self.releasable.append(pod)
                self._list(pod)
                if len(self._succeeded) + len(self._failed) >= MAX_UNCOUNTED:
                    self._is_full = True
                    return

    def _may_release(self, pod: Pod) -> bool:
        """Upstream: canRemoveFinalizer()."""
        job = self._progress.job
        if job.deletion_timestamp or self._end is not None or pod.phase == "Succeeded":
            return True
        delayed = self._progress.delayed.get(index_of(pod))
        return is_failed(job, pod) and (delayed is None or delayed.uid != pod.uid)

    def _list(self, pod: Pod) -> None:
        progress, index = self._progress, index_of(pod)
        indexed = is_indexed(progress.job)
        if pod.phase == "Succeeded" and pod.uid not in self._failed:
            if not indexed:
                _append(self._succeeded, pod.uid)
            elif progress.is_valid(index) and index not in self._indexes:
                # The index is enough not to count it twice.
                self._indexes.append(index)
            return
        # Where the job has failed, a pod that has not ended counts as failed.
        job_failed = self._end is not None and self._end["type"] == FAILURE_TARGET
        if not (is_failed(progress.job, pod) or job_failed):
            return
        if (progress.is_valid(index) or not indexed) and match_failure(progress.job, pod).counts:
            _append(self._failed, pod.uid)


def remove_finalizer(store: ObjectStore, pod: Pod, *, by: str) -> None:
    """Remove the finalizer of the Job controller, if *pod* still exists. Raises ApiError."""
    live = store.find("Pod", pod.key)
    if live is None or live.uid != pod.uid or FINALIZER not in live.finalizers:
        return
    left = [name for name in live.finalizers if name != FINALIZER]
    patch: Manifest = {"metadata": {"finalizers": left or None}}
    try:
        store.patch("Pod", pod.key, patch, by=by, message="counted by its Job")
    except NotFound:
        return


def _append(uids: list[str], uid: str) -> None:
    if uid not in uids:
        uids.append(uid)


def _final(end: Manifest, clock: int) -> Manifest:
    """The condition that *end* becomes: Failed or Complete."""
    return condition(FINAL[end["type"]], end["reason"], end["message"], clock)
