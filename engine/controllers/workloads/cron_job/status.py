"""The status of a CronJob, as one look at it changes it."""

from engine.objects.objects import ApiObject, Manifest


class CronJobStatus:
    """Which Jobs run, and when the last one was due; `changed` says whether it is to be written."""

    __slots__ = ("_status", "active", "changed", "cron_job")

    def __init__(self, cron_job: ApiObject) -> None:
        self.cron_job = cron_job
        self._status: Manifest = {**cron_job.status}
        self.active: list[Manifest] = [*(cron_job.status.get("active") or ())]
        self.changed = False

    @property
    def last_schedule_time(self) -> str:
        """When the last Job was due, as a timestamp; "" before the first one."""
        return self._status.get("lastScheduleTime") or ""

    @property
    def last_successful_time(self) -> str:
        """When the last Job completed, as a timestamp; "" before the first one."""
        return self._status.get("lastSuccessfulTime") or ""

    def is_active(self, uid: str) -> bool:
        """Upstream: inActiveList()."""
        return any(one.get("uid") == uid for one in self.active)

    def is_active_by_name(self, namespace: str, name: str) -> bool:
        """Upstream: inActiveListByName()."""
        return any(
            one.get("name") == name and one.get("namespace") == namespace for one in self.active
        )

    def started(self, job: ApiObject, due: str) -> None:
        """*job*, which was due at that time, runs."""
        self.active.append(_reference(job))
        self._status["lastScheduleTime"] = due
        self.changed = True

    def ended(self, uid: str) -> None:
        """The Job of that uid runs no more. Upstream: deleteFromActiveList()."""
        self.active = [one for one in self.active if one.get("uid") != uid]
        self.changed = True

    def succeeded(self, completed: str) -> None:
        """A Job completed at that time."""
        self._status["lastSuccessfulTime"] = completed
        self.changed = True

    def to_status(self) -> Manifest:
        """As it is stored."""
        kept = {name: value for name, value in self._status.items() if name != "active"}
        return {"active": self.active, **kept} if self.active else kept


def _reference(job: ApiObject) -> Manifest:
    """Upstream: client-go tools/reference, GetReference()."""
    return {
        "kind": "Job",
        "namespace": job.namespace,
        "name": job.name,
        "uid": job.uid,
        "apiVersion": "batch/v1",
        "resourceVersion": job.resource_version,
    }
