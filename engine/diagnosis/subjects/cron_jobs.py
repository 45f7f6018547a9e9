"""Why a CronJob starts no Job: it is suspended, its schedule is not to be read, or a Job is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.controllers.workloads.cron_job.times import (
    NeverDue,
    earliest_time,
    most_recent,
    schedule_text,
    until_next,
    within_deadline,
)
from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import Scene, cause, deletion_facts
from engine.diagnosis.subjects.workloads import workload_causes
from engine.framework.explaining.case import listed
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import Sentence, phrase, say, verbatim
from engine.kernel.units import timestamp
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject
from engine.objects.values.cron import Schedule, ScheduleError, parse_schedule
from engine.objects.values.time_zones import UnknownTimeZone, time_zone

CRON_JOB: Final = "CronJob"
_CONTROLLER: Final = "cronjob-controller"
_NEVER: Final = phrase('CronJob {cron_job} is never due: its schedule is "{value}".')
_NO_ZONE: Final = phrase('CronJob {cron_job} is never due: its timeZone is "{value}".')


def cron_job_causes(scene: Scene, cron_job: ApiObject) -> Iterator[Cause]:
    """What keeps *cron_job* from starting its Jobs, and when the next one is due."""
    if cron_job.deletion_timestamp:
        text = say("CronJob {cron_job} is terminating.", cron_job=cron_job.key)
        yield cause(_CONTROLLER, text, deletion_facts(cron_job))
        return
    for job in active_jobs(scene, cron_job):
        yield from workload_causes(scene, job)
    if cron_job.spec.get("suspend"):
        text = say("CronJob {cron_job} is suspended: it starts no Job.", cron_job=cron_job.key)
        yield cause(_CONTROLLER, text, [fact(cron_job, ("spec", "suspend"), text)])
        return
    try:
        schedule = _schedule(cron_job)
        yield from _of_schedule(scene, cron_job, schedule)
    except (UnknownTimeZone, ScheduleError, NeverDue) as error:
        yield _unreadable(scene, cron_job, error)


def active_jobs(scene: Scene, cron_job: ApiObject) -> list[ApiObject]:
    """The Jobs of it that run, by its status."""
    keys = [f"{cron_job.namespace}/{one.get('name')}" for one in items(cron_job.status, "active")]
    found = (scene.store.find("Job", key) for key in keys)
    return [job for job in found if job is not None]


def _schedule(cron_job: ApiObject) -> Schedule:
    time_zone(cron_job.spec.get("timeZone") or "")
    return parse_schedule(schedule_text(cron_job))


def _unreadable(scene: Scene, cron_job: ApiObject, error: Exception) -> Cause:
    if isinstance(error, UnknownTimeZone):
        name, said = "timeZone", _NO_ZONE
    else:
        name, said = "schedule", _NEVER
    text = said.say(cron_job=cron_job.key, value=cron_job.spec.get(name))
    event = scene.event(cron_job, "UnknownTimeZone", "UnparseableSchedule", "InvalidSchedule")
    because = [fact(cron_job, ("spec", name), text)]
    why = say("The controller says: {error}.", error=str(error))
    return cause(_CONTROLLER, text, because, why=why, event=event)


def _of_schedule(scene: Scene, cron_job: ApiObject, schedule: Schedule) -> Iterator[Cause]:
    """Raises NeverDue."""
    clock = scene.store.clock
    due = most_recent(schedule, within_deadline(cron_job, clock), clock).due
    if due is not None:
        yield from _not_started(scene, cron_job, due)
    else:
        yield from _missed(cron_job, schedule, clock)
    yield from _next(cron_job, schedule, clock)


def _not_started(scene: Scene, cron_job: ApiObject, due: int) -> Iterator[Cause]:
    """A Job is due, and there is none."""
    since = _due_fact(cron_job, due)
    active = [str(one.get("name")) for one in items(cron_job.status, "active")]
    if active and cron_job.spec.get("concurrencyPolicy") == "Forbid":
        text = say(
            "CronJob {cron_job} starts no Job while {active} runs: its concurrencyPolicy is Forbid.",
            cron_job=cron_job.key,
            active=listed(active, 3),
        )
        because = [fact(cron_job, ("spec", "concurrencyPolicy"), text), since]
        event = scene.event(cron_job, "JobAlreadyActive")
        yield cause(_CONTROLLER, text, because, severity="delays", event=event)
        return
    event = scene.event(cron_job, "FailedCreate")
    if event:
        text = say(
            "CronJob {cron_job} has no Job: the API server refuses to create it (FailedCreate).",
            cron_job=cron_job.key,
        )
        why = verbatim(f"{event.rstrip('.')}.")
        yield cause(_CONTROLLER, text, [since], why=why, event=event)


def _due_fact(cron_job: ApiObject, due: int) -> Fact:
    at = timestamp(due)
    return fact(cron_job, ("spec", "schedule"), say("A Job was due at {at}.", at=at))


def _missed(cron_job: ApiObject, schedule: Schedule, clock: int) -> Iterator[Cause]:
    """What was due and is too late to be started."""
    seconds = cron_job.spec.get("startingDeadlineSeconds")
    due = most_recent(schedule, earliest_time(cron_job), clock).due
    if seconds is None or due is None:
        return
    text = say(
        "CronJob {cron_job} has missed {at}: it starts a Job at most {seconds} s late.",
        cron_job=cron_job.key,
        at=timestamp(due),
        seconds=seconds,
    )
    because = [
        fact(cron_job, ("spec", "startingDeadlineSeconds"), text),
        _due_fact(cron_job, due),
    ]
    yield cause(_CONTROLLER, text, because, severity="notes")


def _next(cron_job: ApiObject, schedule: Schedule, clock: int) -> Iterator[Cause]:
    due = schedule.next(clock)
    if due is None or until_next(cron_job, schedule, clock) is None:
        return
    text: Sentence = say(
        "The next Job of CronJob {cron_job} is due at {at}.",
        cron_job=cron_job.key,
        at=timestamp(due),
    )
    yield cause(_CONTROLLER, text, [fact(cron_job, ("spec", "schedule"), text)], severity="notes")
