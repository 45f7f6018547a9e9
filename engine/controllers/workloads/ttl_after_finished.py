"""The TTL of finished Jobs: they are deleted some time after they have ended.

Upstream: pkg/controller/ttlafterfinished/ttlafterfinished_controller.go.
"""

from typing import ClassVar

from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.deletion import FOREGROUND, DeleteOptions, delete
from engine.controllers.shared.pods import time_of
from engine.controllers.workloads.job.conditions import finished_condition
from engine.kernel.errors import ApiError
from engine.kernel.units import nanoseconds
from engine.objects.objects import ApiObject
from engine.storage.ports import EventSink


class TTLAfterFinishedController(Controller):
    """Deletes Jobs, and first what they own, once spec.ttlSecondsAfterFinished has passed."""

    AUTHOR: ClassVar[str] = "ttl-after-finished-controller"
    KIND: ClassVar[str] = "Job"

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._listers.of("Job").on_event(self._on_job)

    def _on_job(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and _needs_cleanup(event.new):
            self._queue.add(event.new.key)

    def sync(self, key: str) -> None:
        """See Controller. Upstream: processJob()."""
        job = self._listers.of("Job").get(key)
        if job is None or not self._has_expired(job):
            return
        # What the informer knows may be old.
        newest = self._store.find("Job", key)
        if newest is not None and self._has_expired(newest):
            options = DeleteOptions(propagation=FOREGROUND)
            message = f"{newest.spec['ttlSecondsAfterFinished']} s after it has finished"
            delete(self._store, newest, by=self.AUTHOR, options=options, message=message)

    def _has_expired(self, job: ApiObject) -> bool:
        """Whether the time is over; else the job is looked at again when it is. Upstream: processTTL()."""
        if not _needs_cleanup(job):
            return False
        left = _expires_at(job) - self._loop.clock
        if left > 0:
            self._queue.add_after(job.key, left)
        return left <= 0


def _needs_cleanup(job: ApiObject) -> bool:
    """Upstream: needsCleanup()."""
    if job.deletion_timestamp or job.spec.get("ttlSecondsAfterFinished") is None:
        return False
    return finished_condition(job) is not None


def _expires_at(job: ApiObject) -> int:
    """In ns since EPOCH. Raises ApiError if nobody knows when the job finished."""
    condition = finished_condition(job)
    assert condition is not None
    finished = condition.get("lastTransitionTime")
    if not finished:
        raise ApiError(f"unable to find the time when the Job {job.key} finished")
    return time_of(finished) + nanoseconds(job.spec["ttlSecondsAfterFinished"])
