"""What the controllers of CronJobs share: how they create and delete Jobs, and what they say of it."""

from typing import ClassVar, Final

from engine.controllers.shared.controller import Controller
from engine.controllers.shared.deletion import delete
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import controller_ref
from engine.controllers.shared.pods import time_of
from engine.controllers.workloads.cron_job.status import CronJobStatus
from engine.controllers.workloads.cron_job.times import starting_deadline, written
from engine.controllers.workloads.job.conditions import COMPLETE, FAILED, finished_condition
from engine.kernel.errors import ApiError
from engine.objects.objects import ApiObject, Manifest, from_manifest
from engine.storage.ports import NORMAL, WARNING

# How many finished Jobs are kept. Upstream: SetDefaults_CronJob().
SUCCESSFUL_JOBS: Final = 3
FAILED_JOBS: Final = 1


class CronJobs(Controller):
    """Creates and deletes the Jobs of CronJobs."""

    AUTHOR: ClassVar[str] = "cronjob-controller"
    KIND: ClassVar[str] = "CronJob"

    def _job_name(self, cron_job: ApiObject, due: int) -> str:
        """The name of the Job that is due then, so that it is not created twice."""
        raise NotImplementedError

    def _annotations(self, cron_job: ApiObject, due: int) -> Manifest:
        """What the Job that is due then is told besides its template."""
        return {}

    def _create_job(self, cron_job: ApiObject, due: int) -> ApiObject:
        """Create the Job that is due then. Raises ApiError. Upstream: getJobFromTemplate2()."""
        template = part(cron_job.spec, "jobTemplate")
        given = part(template, "metadata")
        metadata: Manifest = {
            "name": self._job_name(cron_job, due),
            "namespace": cron_job.namespace,
            "ownerReferences": [controller_ref(cron_job)],
        }
        annotations = part(given, "annotations") | self._annotations(cron_job, due)
        for name, value in (("labels", part(given, "labels")), ("annotations", annotations)):
            if value:
                metadata[name] = value
        manifest: Manifest = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata,
            "spec": part(template, "spec"),
        }
        admitted = self._context.admission.admit(from_manifest(manifest), self.AUTHOR)
        return self._store.create(admitted, by=self.AUTHOR)

    def _delete_job(self, status: CronJobStatus, job: ApiObject) -> bool:
        """Delete *job* and forget it; whether that went well. Upstream: deleteJob()."""
        try:
            delete(self._store, job, by=self.AUTHOR)
        except ApiError as refusal:
            self._events.event(status.cron_job, WARNING, "FailedDelete", f"Deleted job: {refusal}")
            return False
        status.ended(job.uid)
        self._events.event(status.cron_job, NORMAL, "SuccessfulDelete", f"Deleted job {job.name}")
        return True

    def _delete_old_jobs(self, status: CronJobStatus, jobs: list[ApiObject]) -> None:
        """Keep as many finished Jobs as the limits say. Upstream: cleanupFinishedJobs()."""
        spec = status.cron_job.spec
        limits = {
            COMPLETE: _limit(spec.get("successfulJobsHistoryLimit"), SUCCESSFUL_JOBS),
            FAILED: _limit(spec.get("failedJobsHistoryLimit"), FAILED_JOBS),
        }
        for kind, limit in limits.items():
            found = [job for job in jobs if finished_as(job) == kind]
            for job in sorted(found, key=_start_order)[: max(0, len(found) - limit)]:
                self._delete_job(status, job)

    def _replace_active(self, status: CronJobStatus) -> None:
        """Delete the Jobs that still run. Raises ApiError."""
        for one in [*status.active]:
            job = self._store.find("Job", f"{one.get('namespace')}/{one.get('name')}")
            if job is None:
                why = f'jobs.batch "{one.get("name")}" not found'
                self._events.event(status.cron_job, WARNING, "FailedGet", f"Get job: {why}")
                raise ApiError(why)
            if not self._delete_job(status, job):
                raise ApiError(f"could not replace job {job.key}")

    def _is_too_late(self, cron_job: ApiObject, due: int) -> bool:
        """Whether the Job that was due then must not be created any more; emits an Event."""
        deadline = starting_deadline(cron_job)
        if deadline is None or due + deadline >= self._loop.clock:
            return False
        message = f"Missed scheduled time to start a job: {written(due)}"
        self._events.event(cron_job, WARNING, "MissSchedule", message)
        return True

    def _saw_completed(self, status: CronJobStatus, job: ApiObject) -> None:
        """*job*, which ran, has finished."""
        status.ended(job.uid)
        message = self._rules.completed_job_text.format(job=job.name, kind=finished_as(job))
        self._events.event(status.cron_job, NORMAL, "SawCompletedJob", message)

    def _unexpected(self, cron_job: ApiObject, job: ApiObject) -> None:
        message = f"Saw a job that the controller did not create or forgot: {job.name}"
        self._events.event(cron_job, WARNING, "UnexpectedJob", message)

    def _missing(self, status: CronJobStatus, reference: Manifest) -> None:
        """A Job that ran does not exist."""
        message = f"Active job went missing: {reference.get('name')}"
        self._events.event(status.cron_job, NORMAL, "MissingJob", message)
        status.ended(reference.get("uid") or "")


def _limit(given: int | None, default: int) -> int:
    return default if given is None else given


def finished_as(job: ApiObject) -> str:
    """Complete, Failed, or "" while the Job is neither."""
    condition = finished_condition(job)
    return "" if condition is None else condition["type"]


def forbids_overlap(status: CronJobStatus) -> bool:
    """Whether no Job may be created while one runs, and one does."""
    return status.cron_job.spec.get("concurrencyPolicy") == "Forbid" and bool(status.active)


def _start_order(job: ApiObject) -> tuple[bool, int, str]:
    """The oldest first. Upstream: byJobStartTime."""
    started = job.status.get("startTime")
    return not started, time_of(started), job.name
