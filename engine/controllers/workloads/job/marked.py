"""The Job controller of v1.34: plain Jobs are counted, marked ones are tracked.

Upstream tracks all pods since v1.26. Until kscope did so here, too, runs of v1.34 were stored whose
Jobs were counted; these come out as before, and so do plain Jobs, of which both tell the same.
"""

from typing import ClassVar

from engine.api_server.store import process
from engine.controllers.shared.controller import ControllerContext
from engine.controllers.shared.pods import is_active
from engine.controllers.workloads.job.counting import CountingJobController
from engine.controllers.workloads.job.progress import FINALIZER
from engine.controllers.workloads.job.tracking import TrackingJobController
from engine.input.header.job_marks import is_marked
from engine.kernel.errors import NotFound
from engine.objects.objects import ApiObject, Pod
from engine.storage.ports import EventSink


class MarkedJobController(CountingJobController):
    """Counts the pods of plain Jobs, and leaves marked Jobs to a second controller beside it."""

    PARTS: ClassVar[tuple[str, ...]] = (*CountingJobController.PARTS, "_beside")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._tracking = _TrackingMarkedJobs(context, events)

    @property
    def _beside(self) -> list[object]:
        return process.parts_of(self._tracking)

    def _is_own(self, job: ApiObject) -> bool:
        return not is_marked(job)

    def _queue_if_selecting(self, owner: ApiObject, orphan: ApiObject) -> None:
        if self._is_own(owner):
            super()._queue_if_selecting(owner, orphan)

    def await_creation(self, key: str) -> None:
        """See Controller."""
        super().await_creation(key)
        self._tracking.await_creation(key)

    def sync(self, key: str) -> None:
        """See Controller."""
        job = self._listers.of("Job").get(key)
        if job is None or self._is_own(job):
            super().sync(key)
        else:
            self._tracking.sync(key)


class _TrackingMarkedJobs(TrackingJobController):
    def _is_own(self, job: ApiObject) -> bool:
        return is_marked(job)

    def _pods_of(self, job: ApiObject) -> list[Pod]:
        return [self._held(pod) for pod in super()._pods_of(job)]

    def _held(self, pod: Pod) -> Pod:
        """*pod* with the finalizer, if it is one of a Job that was marked after it had begun."""
        if FINALIZER in pod.finalizers or not is_active(pod):
            return pod
        patch = {"metadata": {"finalizers": [*pod.finalizers, FINALIZER]}}
        try:
            held = self._store.patch("Pod", pod.key, patch, by=self.AUTHOR)
        except NotFound:
            return pod
        assert isinstance(held, Pod)
        return held
