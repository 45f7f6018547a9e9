"""The Job controller until v1.20, and of plain Jobs in v1.34. Upstream: pkg/controller/job."""

from typing import ClassVar, Final

from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import (
    MOST_PODS_PER_SYNC,
    ControllerContext,
    lean,
    status_number,
)
from engine.controllers.shared.pods import is_active, time_of
from engine.controllers.workloads.job.backoff import past_limit_on_failure
from engine.controllers.workloads.job.base import (
    JobPods,
    labelled_template,
    may_be_adopted,
    parallelism_of,
    removal_order,
)
from engine.controllers.workloads.job.retry_queue import RetryQueue
from engine.kernel.errors import ApiError
from engine.kernel.units import SECOND, nanoseconds, timestamp
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import is_ready
from engine.storage.ports import NORMAL, WARNING, EventSink

BACKOFF: Final = 10 * SECOND
MAX_BACKOFF: Final = 360 * SECOND
BACKOFF_LIMIT: Final = 6
# How long a job waits whose sync failed, since failed pods back off apart from that.
API_BACKOFF: Final = 1 * SECOND
MAX_API_BACKOFF: Final = 60 * SECOND


class CountingJobController(JobPods):
    """Runs the pods of Jobs until enough have succeeded or too many failed.

    It counts the pods that exist: one that is deleted after it has ended counts no longer.
    Until 1.20 a failed pod is a failed sync: the next look at the job waits, and what fails
    meanwhile is seen then. Later the next pod waits, from the time at which the last one failed.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_later")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        if context.rules.job_waits_first:
            self._later = RetryQueue(context.loop, self._queue, API_BACKOFF, MAX_API_BACKOFF)
        else:
            self._later = RetryQueue(context.loop, self._queue, BACKOFF, MAX_BACKOFF)
        # Job → failures in a row, and the time before which no new pod is made.
        self._retries: dict[str, tuple[int, int]] = {}
        self._listers.of("Job").on_event(self._on_job)
        # Without any, no pod is of interest.
        only_with = self._listers.of("Job")
        self._listers.pods.on_event(self._on_pod, plain=False, only_with=only_with)

    def _on_job(self, event: WatchEvent) -> None:
        key = event.new.key
        if event.type == "DELETED":
            self._expectations.forget(key)
            self._retries.pop(key, None)
            self._later.forget(key)
            return
        if not self._is_own(event.new):
            return
        self._queue.add(key)
        deadline = event.new.spec.get("activeDeadlineSeconds")
        old = event.old
        if deadline is not None and (event.type == "ADDED" or _is_changed(old, event.new)):
            said = event.new.status.get("startTime")
            started = time_of(said) if said else self._loop.clock
            left = started + nanoseconds(deadline) - self._loop.clock
            self._queue.add_after(key, max(0, left))

    def _on_pod(self, event: WatchEvent) -> None:
        new, old = event.new, event.old
        owner = self._owner_of(new)
        before = None if old is None else self._owner_of(old)
        if before is not None and before is not owner:
            self._queue.add(before.key)
        if owner is None:
            if event.type != "DELETED" and may_be_adopted(old, new):
                self._queue_selecting(self.KIND, new)
            return
        if event.type == "ADDED":
            self._expectations.created(owner.key)
        if event.type == "DELETED" or event.new.deletion_timestamp:
            self._expectations.deleted(owner.key, event.new.key)
        failed = event.type == "MODIFIED" and event.new.status.get("phase") == "Failed"
        if failed and not self._rules.job_waits_first:
            self._later.add_after_backoff(owner.key)
        else:
            self._queue.add(owner.key)

    def _work(self, key: str) -> None:
        try:
            self.sync(key)
        except ApiError:
            self._later.add_rate_limited(key)
        else:
            if self._rules.job_waits_first:
                self._later.forget(key)

    def sync(self, key: str) -> None:
        """See Controller. Upstream: syncJob()."""
        job = self._listers.of("Job").get(key)
        if job is None or not self._is_own(job) or _is_finished(job):
            return
        due = self._expectations.satisfied(key)
        pods = self._pods_of(job)
        active = [pod for pod in pods if is_active(pod)]
        succeeded = sum(pod.phase == "Succeeded" for pod in pods)
        failed = sum(pod.phase == "Failed" for pod in pods)
        if self._rules.job_waits_first:
            self._count_failures(job, succeeded, failed)
        newly_failed = failed > status_number(job, "failed")
        running = len(active)
        refused: ApiError | None = None
        conditions: list[Manifest] = list(job.status.get("conditions") or ())
        started: str = job.status.get("startTime") or timestamp(self._loop.clock)
        why = self._failure(job, pods, failed, running)
        finished = ""
        if why is not None:
            running, failed = 0, failed + len(active)
            self._delete_all(job, active)
            conditions.append(self._condition("Failed", *why))
            self._events.event(job, WARNING, *why)
        else:
            if due and not job.deletion_timestamp:
                running, refused = self._manage(job, active, succeeded)
            if self._is_complete(job, running, succeeded):
                conditions.append(self._condition("Complete", "", ""))
                finished = timestamp(self._loop.clock)
                self._events.event(job, NORMAL, "Completed", "Job completed")
        status = lean(
            {
                **job.status,
                "startTime": "" if job.spec.get("suspend") else started,
                "active": running,
                "succeeded": succeeded,
                "failed": failed,
                "conditions": conditions,
                "completionTime": finished,
            }
        )
        if self._rules.job_waits_first:
            going = sum(bool(pod.deletion_timestamp) and not pod.is_terminated for pod in pods)
            status |= {"ready": sum(is_ready(pod) for pod in active), "terminating": going}
        if status != job.status:
            self._write_status(job, status)
        if refused is not None:
            raise refused
        if status == job.status or self._rules.job_waits_first:
            return
        if newly_failed and not _is_over(conditions):
            self._later.add_rate_limited(key)
        else:
            self._later.forget(key)

    def _count_failures(self, job: ApiObject, succeeded: int, failed: int) -> None:
        """Increase the backoff of new pods; a success resets it. Upstream: backoff_utils.go."""
        if succeeded > status_number(job, "succeeded"):
            self._retries.pop(job.key, None)
        new = failed - status_number(job, "failed")
        if new <= 0:
            return
        count, _ = self._retries.get(job.key, (0, 0))
        count += new
        wait = min(BACKOFF << min(count - 1, 10), MAX_BACKOFF)
        self._retries[job.key] = count, self._loop.now + wait
        self._queue.add_after(job.key, wait)

    def _is_hopeless(self, job: ApiObject, failed: int, active: int) -> bool:
        """Whether more has failed than the job may retry."""
        limit = _backoff_limit(job)
        if self._rules.job_waits_first:
            return failed > limit
        # Syncs are counted that saw new failures, not pods; and only when fewer run than should.
        newly_failed = failed > status_number(job, "failed")
        fewer = active != parallelism_of(job)
        return newly_failed and fewer and self._later.requeues(job.key) + 1 > limit

    def _failure(
        self, job: ApiObject, pods: list[Pod], failed: int, active: int
    ) -> tuple[str, str] | None:
        """(reason, message) when the job has failed for good."""
        is_hopeless = self._is_hopeless(job, failed, active)
        if is_hopeless or past_limit_on_failure(job, pods, _backoff_limit(job)):
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        deadline = job.spec.get("activeDeadlineSeconds")
        started = job.status.get("startTime")
        if deadline is None or not started:
            return None
        if self._loop.clock - time_of(started) >= nanoseconds(deadline):
            return "DeadlineExceeded", "Job was active longer than specified deadline"
        return None

    def _is_complete(self, job: ApiObject, running: int, succeeded: int) -> bool:
        completions = job.spec.get("completions")
        if completions is None and (job.spec.get("parallelism") or 1) > 1:
            # A work queue: the first success says that there is nothing left to fetch.
            return succeeded > 0 and running == 0
        return succeeded >= (1 if completions is None else completions)

    def _manage(
        self, job: ApiObject, active: list[Pod], succeeded: int
    ) -> tuple[int, ApiError | None]:
        """Create or delete pods; returns how many are active then, and why one was refused.

        Upstream: manageJob().
        """
        wanted = self._wanted(job, len(active), succeeded)
        excess = len(active) - wanted
        self._store.limit.still_to_make(job, 0)
        if excess > 0:
            chosen = sorted(active, key=removal_order)[:excess]
            self._delete_all(job, chosen)
            return wanted, None
        if excess == 0:
            return wanted, None
        if self._loop.now < self._retries.get(job.key, (0, 0))[1]:
            return len(active), None
        burst = min(-excess, MOST_PODS_PER_SYNC)
        self._expectations.expect(job.key, burst, [])
        template = _template(job)
        made, refused = self._create(job, burst, lambda: self._create_pod(job, template))
        if refused is None:
            self._store.limit.still_to_make(job, -excess - burst)
        return len(active) + made, refused

    def _wanted(self, job: ApiObject, active: int, succeeded: int) -> int:
        parallelism = parallelism_of(job)
        if job.spec.get("suspend"):
            return 0
        completions = job.spec.get("completions")
        if completions is None and parallelism > 1:
            return active if succeeded else parallelism
        left = (1 if completions is None else completions) - succeeded
        return max(0, min(left, parallelism))

    def _condition(self, kind: str, reason: str, message: str) -> Manifest:
        now = timestamp(self._loop.clock)
        made = {"type": kind, "status": "True", "lastProbeTime": now, "lastTransitionTime": now}
        return {**made, "reason": reason, "message": message} if reason else made


def _backoff_limit(job: ApiObject) -> int:
    limit = job.spec.get("backoffLimit")
    return BACKOFF_LIMIT if limit is None else limit


def _template(job: ApiObject) -> Manifest:
    return labelled_template(job, {"controller-uid": job.uid, "job-name": job.name})


def _is_changed(old: ApiObject | None, new: ApiObject) -> bool:
    """Whether the job was started, or its deadline moved."""
    if old is None:
        return True
    fields = ("activeDeadlineSeconds",)
    return old.status.get("startTime") != new.status.get("startTime") or any(
        old.spec.get(field) != new.spec.get(field) for field in fields
    )


def _is_finished(job: ApiObject) -> bool:
    return _is_over(job.status.get("conditions") or [])


def _is_over(conditions: list[Manifest]) -> bool:
    return any(
        each.get("type") in ("Complete", "Failed") and each.get("status") == "True"
        for each in conditions
    )
