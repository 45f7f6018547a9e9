"""The CronJob controller until v1.20. Upstream: pkg/controller/cronjob/cronjob_controller.go."""

from typing import ClassVar, Final

from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import ControllerContext
from engine.controllers.shared.ticker import Ticker
from engine.controllers.workloads.cron_job.base import CronJobs, finished_as, forbids_overlap
from engine.controllers.workloads.cron_job.status import CronJobStatus
from engine.controllers.workloads.cron_job.times import MOST_MISSED, unix_seconds, within_deadline
from engine.kernel.errors import ApiError, NamespaceTerminating
from engine.kernel.units import SECOND, timestamp
from engine.objects.objects import ApiObject
from engine.objects.values.cron import ScheduleError, parse_schedule
from engine.storage.ports import NORMAL, WARNING, EventSink

PERIOD: Final = 10 * SECOND
_TOO_MANY: Final = (
    "too many missed start time (> 100). Set or decrease .spec.startingDeadlineSeconds or check "
    "clock skew"
)


class PollingCronJobController(CronJobs):
    """Looks at every CronJob each ten seconds, as the API server has them."""

    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "ticker")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self.ticker = Ticker(context.loop, PERIOD, self._look)
        self._listers.of("CronJob").on_event(self._on_cron_job)
        if context.store.objects(self.KIND):
            # The first look comes with the start of the controller.
            context.loop.call_after(0, self._look)

    def _on_cron_job(self, event: WatchEvent) -> None:
        self.ticker.arm()

    def _look(self) -> None:
        """Upstream: syncAll()."""
        self._loop.cause = 0
        cron_jobs = self._store.objects(self.KIND)
        if not cron_jobs:
            return
        self.ticker.arm()
        jobs = self._store.objects("Job")
        self._loop.tried_each(self._look_at, cron_jobs, jobs)

    def sync(self, key: str) -> None:
        """See Controller. It is what a look at all of them does with this one."""
        cron_job = self._store.find(self.KIND, key)
        if cron_job is not None:
            self._look_at(cron_job, self._store.objects("Job"))

    def _look_at(self, cron_job: ApiObject, jobs: list[ApiObject]) -> None:
        own = [job for job in jobs if (job.controller or {}).get("uid") == cron_job.uid]
        try:
            status = self._sync_one(CronJobStatus(cron_job), own)
            self._delete_old_jobs(status, own)
            self._written(status)
        except ApiError:
            # It is tried again with the next look.
            return

    def _written(self, status: CronJobStatus) -> CronJobStatus:
        """The status as it is stored now. Raises ApiError."""
        if not status.changed:
            return status
        return CronJobStatus(self._write_status(status.cron_job, status.to_status()))

    def _sync_one(self, status: CronJobStatus, jobs: list[ApiObject]) -> CronJobStatus:
        """Create the Job that is due. Raises ApiError where a status cannot be written.

        Upstream: syncOne().
        """
        self._follow(status, jobs)
        status = self._written(status)
        cron_job = status.cron_job
        if cron_job.deletion_timestamp or cron_job.spec.get("suspend"):
            return status
        due = self._due(cron_job)
        if due is None or self._is_too_late(cron_job, due) or forbids_overlap(status):
            return status
        try:
            self._start(status, due)
        except ApiError:
            return status
        return self._written(status)

    def _follow(self, status: CronJobStatus, jobs: list[ApiObject]) -> None:
        known = {job.uid for job in jobs}
        for job in jobs:
            is_active = status.is_active(job.uid)
            if not finished_as(job) and not is_active:
                self._unexpected(status.cron_job, job)
            elif finished_as(job) and is_active:
                self._saw_completed(status, job)
        for one in [*status.active]:
            if one.get("uid") not in known:
                self._missing(status, one)

    def _due(self, cron_job: ApiObject) -> int | None:
        """The newest time at which a Job was due that is missing.

        Upstream: getRecentUnmetScheduleTimes().
        """
        given: str = cron_job.spec.get("schedule") or ""
        try:
            schedule = parse_schedule(given, first_release=True)
        except ScheduleError as error:
            self._cannot_tell(cron_job, f"unparseable schedule: {given} : {error}")
            return None
        clock = self._loop.clock
        found, due, count = None, schedule.next(within_deadline(cron_job, clock)), 0
        while due is not None and due <= clock:
            found, due, count = due, schedule.next(due), count + 1
            if count > MOST_MISSED:
                self._cannot_tell(cron_job, _TOO_MANY)
                return None
        return found

    def _cannot_tell(self, cron_job: ApiObject, why: str) -> None:
        message = f"Cannot determine if job needs to be started: {why}"
        self._events.event(cron_job, WARNING, "FailedNeedsStart", message)

    def _start(self, status: CronJobStatus, due: int) -> None:
        """Raises ApiError."""
        cron_job = status.cron_job
        if cron_job.spec.get("concurrencyPolicy") == "Replace":
            self._replace_active(status)
        try:
            job = self._create_job(cron_job, due)
        except NamespaceTerminating:
            # Upstream emits no Event then.
            raise
        except ApiError as refusal:
            message = f"Error creating job: {refusal}"
            self._events.event(cron_job, WARNING, "FailedCreate", message)
            raise
        self._events.event(cron_job, NORMAL, "SuccessfulCreate", f"Created job {job.name}")
        status.started(job, timestamp(due))

    def _job_name(self, cron_job: ApiObject, due: int) -> str:
        return f"{cron_job.name}-{unix_seconds(due)}"
