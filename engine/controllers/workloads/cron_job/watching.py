"""The CronJob controller since v1.21. Upstream: pkg/controller/cronjob/cronjob_controllerv2.go."""

from collections.abc import Mapping
from typing import Any, Final

from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import ControllerContext
from engine.controllers.shared.owners import is_controlled_by
from engine.controllers.shared.pods import time_of
from engine.controllers.workloads.cron_job.base import CronJobs, finished_as, forbids_overlap
from engine.controllers.workloads.cron_job.status import CronJobStatus
from engine.controllers.workloads.cron_job.times import (
    MOST_MISSED,
    NeverDue,
    most_recent,
    schedule_text,
    unix_seconds,
    until_next,
    within_deadline,
)
from engine.controllers.workloads.job.conditions import COMPLETE
from engine.kernel.errors import AlreadyExists, ApiError, NamespaceTerminating
from engine.kernel.units import timestamp
from engine.objects.objects import ApiObject, Manifest
from engine.objects.values.cron import Schedule, ScheduleError, parse_schedule
from engine.objects.values.time_zones import UnknownTimeZone, local_time, time_zone
from engine.storage.ports import NORMAL, WARNING, EventSink

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_UNSUPPORTED: Final = (
    'CRON_TZ or TZ used in schedule "{}" is not officially supported, see '
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)
_OVERLAP: Final = (
    "Not starting job because prior execution is running and concurrency policy is Forbid"
)
_TOO_MANY: Final = (
    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
)


class WatchingCronJobController(CronJobs):
    """Looks at a CronJob when it is due, and when it or one of its Jobs has changed."""

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        cron_jobs = self._listers.of("CronJob")
        # Without any, no Job is of interest.
        self._listers.of("Job").on_event(self._on_job, only_with=cron_jobs)
        cron_jobs.on_event(self._on_cron_job)

    def _on_job(self, event: WatchEvent) -> None:
        old, new = event.old, event.new
        if old is not None and old.controller != new.controller:
            self._queue_owner(old)
        self._queue_owner(new)

    def _queue_owner(self, job: ApiObject) -> None:
        owner = self._owner_of(job)
        if owner is not None:
            self._queue.add(owner.key)

    def _on_cron_job(self, event: WatchEvent) -> None:
        """Upstream: updateCronJob()."""
        old, new = event.old, event.new
        is_new = event.type != "MODIFIED" or old is None
        if is_new or _schedule_fields(old) == _schedule_fields(new):
            self._queue.add(new.key)
            return
        try:
            schedule = parse_schedule(schedule_text(new))
        except ScheduleError:
            message = f"unparseable schedule for cronjob: {new.spec.get('schedule')}"
            self._events.event(new, WARNING, "UnParseableCronJobSchedule", message)
            return
        self._queue_later(new.key, until_next(new, schedule, self._loop.clock))

    def _queue_later(self, key: str, wait: int | None) -> None:
        if wait is not None:
            self._queue.add_after(key, wait)

    def sync(self, key: str) -> None:
        """See Controller. Upstream: sync()."""
        cron_job = self._listers.of("CronJob").get(key)
        if cron_job is None:
            return
        status = CronJobStatus(cron_job)
        jobs = self._jobs_of(cron_job)
        self._delete_old_jobs(status, jobs)
        refused: ApiError | None = None
        wait: int | None = None
        try:
            wait = self._start_due(status, jobs)
        except ApiError as error:
            refused = error
        if status.changed:
            self._write_status(cron_job, status.to_status())
        if refused is not None:
            raise refused
        self._queue_later(key, wait)

    def _jobs_of(self, cron_job: ApiObject) -> list[ApiObject]:
        """Upstream: getJobsToBeReconciled(), which goes by the name of the controller."""
        found = self._listers.of("Job").controlled_by(cron_job)
        return [job for job in found if (job.controller or {}).get("name") == cron_job.name]

    def _start_due(self, status: CronJobStatus, jobs: list[ApiObject]) -> int | None:
        """Create the Job that is due; how long until the next look, None for none by itself.

        Raises ApiError. Upstream: syncCronJob().
        """
        for job in jobs:
            status = self._follow(status, job)
        self._forget_missing(status, jobs)
        cron_job = status.cron_job
        if cron_job.deletion_timestamp or not self._is_zone_known(cron_job):
            return None
        if cron_job.spec.get("suspend"):
            return None
        schedule = self._schedule(cron_job)
        if schedule is None:
            return None
        try:
            due = self._due(cron_job, schedule)
        except NeverDue as error:
            message = f"invalid schedule: {cron_job.spec.get('schedule')} : {error}"
            self._events.event(cron_job, WARNING, "InvalidSchedule", message)
            return None
        if due is not None and self._may_start(status, due) and not self._start(status, due):
            return None
        return until_next(_as_written(status), schedule, self._loop.clock)

    def _follow(self, status: CronJobStatus, job: ApiObject) -> CronJobStatus:
        """Note whether *job* runs or has finished; the newer status if the informer's is old."""
        is_active, kind = status.is_active(job.uid), finished_as(job)
        if not kind and not is_active:
            newest = self._store.get("CronJob", status.cron_job.key)
            if CronJobStatus(newest).is_active(job.uid):
                return CronJobStatus(newest)
            self._unexpected(status.cron_job, job)
        if kind and is_active:
            self._saw_completed(status, job)
        if kind == COMPLETE:
            _note_success(status, job)
        return status

    def _forget_missing(self, status: CronJobStatus, jobs: list[ApiObject]) -> None:
        known = {job.uid for job in jobs}
        for one in [*status.active]:
            key = f"{one.get('namespace')}/{one.get('name')}"
            if one.get("uid") not in known and self._store.find("Job", key) is None:
                self._missing(status, one)

    def _is_zone_known(self, cron_job: ApiObject) -> bool:
        name = cron_job.spec.get("timeZone")
        try:
            time_zone(name or "")
        except UnknownTimeZone as error:
            message = f'invalid timeZone: "{name}": {error}'
            self._events.event(cron_job, WARNING, "UnknownTimeZone", message)
            return False
        return True

    def _schedule(self, cron_job: ApiObject) -> Schedule | None:
        """Upstream: formatSchedule(), cron.ParseStandard()."""
        given = cron_job.spec.get("schedule") or ""
        if "TZ" in given:
            message = _UNSUPPORTED.format(given)
            self._events.event(cron_job, WARNING, "UnsupportedSchedule", message)
        try:
            return parse_schedule(schedule_text(cron_job))
        except ScheduleError as error:
            message = f'unparseable schedule: "{given}" : {error}'
            self._events.event(cron_job, WARNING, "UnparseableSchedule", message)
        return None

    def _due(self, cron_job: ApiObject, schedule: Schedule) -> int | None:
        """When the newest Job was due that may still be missing. Raises NeverDue.

        Upstream: nextScheduleTime().
        """
        clock = self._loop.clock
        recent = most_recent(schedule, within_deadline(cron_job, clock), clock)
        if recent.due is not None and recent.missed > MOST_MISSED:
            self._events.event(cron_job, WARNING, "TooManyMissedTimes", _TOO_MANY)
        return recent.due

    def _may_start(self, status: CronJobStatus, due: int) -> bool:
        cron_job = status.cron_job
        if self._is_too_late(cron_job, due):
            return False
        name = self._job_name(cron_job, due)
        is_known = status.is_active_by_name(cron_job.namespace, name)
        if is_known or status.last_schedule_time == timestamp(due):
            return False
        if forbids_overlap(status):
            self._events.event(cron_job, NORMAL, "JobAlreadyActive", _OVERLAP)
            return False
        return True

    def _start(self, status: CronJobStatus, due: int) -> bool:
        """Create the Job; False if somebody else looks after it. Raises ApiError."""
        cron_job = status.cron_job
        if cron_job.spec.get("concurrencyPolicy") == "Replace":
            self._replace_active(status)
        try:
            job = self._create_job(cron_job, due)
        except NamespaceTerminating:
            # Upstream emits no Event then.
            raise
        except AlreadyExists:
            # Perhaps it was created, and the status could not be written.
            key = f"{cron_job.namespace}/{self._job_name(cron_job, due)}"
            job = self._store.get("Job", key)
            if not is_controlled_by(job, cron_job) or status.is_active(job.uid):
                return False
        except ApiError as refusal:
            message = f"Error creating job: {refusal}"
            self._events.event(cron_job, WARNING, "FailedCreate", message)
            raise
        else:
            message = f"Created job {job.name}"
            self._events.event(cron_job, NORMAL, "SuccessfulCreate", message)
        status.started(job, timestamp(due))
        return True

    def _job_name(self, cron_job: ApiObject, due: int) -> str:
        return f"{cron_job.name}-{unix_seconds(due) // 60}"

    def _annotations(self, cron_job: ApiObject, due: int) -> Manifest:
        zone = time_zone(cron_job.spec.get("timeZone") or "")
        return {SCHEDULED: local_time(zone, due).isoformat().replace("+00:00", "Z")}


def _schedule_fields(cron_job: ApiObject | None) -> tuple[object, object]:
    spec: Mapping[str, Any] = {} if cron_job is None else cron_job.spec
    return spec.get("schedule"), spec.get("timeZone")


def _note_success(status: CronJobStatus, job: ApiObject) -> None:
    completed, known = job.status.get("completionTime"), status.last_successful_time
    if completed and (not known or time_of(completed) > time_of(known)):
        status.succeeded(completed)


def _as_written(status: CronJobStatus) -> ApiObject:
    return status.cron_job.patched({"status": {"lastScheduleTime": status.last_schedule_time}})
