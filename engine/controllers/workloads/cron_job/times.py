"""When a CronJob is due. Times are in ns since EPOCH. Upstream: pkg/controller/cronjob/utils.go."""

from datetime import timedelta
from typing import Final, NamedTuple

from engine.controllers.shared.pods import time_of
from engine.kernel.units import EPOCH, MILLISECOND, SECOND, nanoseconds
from engine.objects.objects import ApiObject
from engine.objects.values.cron import Schedule
from engine.objects.values.time_zones import UnknownTimeZone, time_zone

# A CronJob is looked at so long after it is due: clocks may differ. Upstream: nextScheduleDelta.
AFTER_DUE: Final = 100 * MILLISECOND
# More missed times than that are not counted.
MOST_MISSED: Final = 100


class NeverDue(ValueError):
    """A schedule that no day matches; the message is upstream's."""


class Recent(NamedTuple):
    """What `most_recent` finds."""

    # The last time at which it was due and a Job was created, or the creation of the CronJob.
    earliest: int
    # The newest time at which it was due since then; None if there is none.
    due: int | None
    # About how many times it was due.
    missed: int


def earliest_time(cron_job: ApiObject) -> int:
    """When it was last due, or was created."""
    return time_of(cron_job.status.get("lastScheduleTime") or cron_job.creation_timestamp)


def starting_deadline(cron_job: ApiObject) -> int | None:
    """How late a Job may be created, ns; None when it may be as late as it wants."""
    seconds = cron_job.spec.get("startingDeadlineSeconds")
    return None if seconds is None else nanoseconds(seconds)


def within_deadline(cron_job: ApiObject, clock: int) -> int:
    """The time from which on a Job may still be created."""
    earliest, deadline = earliest_time(cron_job), starting_deadline(cron_job)
    return earliest if deadline is None else max(earliest, clock - deadline)


def most_recent(schedule: Schedule, earliest: int, clock: int) -> Recent:
    """The newest time after *earliest* at which *schedule* was due. Raises NeverDue.

    Upstream: mostRecentScheduleTime().
    """
    first = schedule.next(earliest)
    second = None if first is None else schedule.next(first)
    if first is not None and clock < first:
        return Recent(earliest, None, 0)
    if second is not None and clock < second:
        return Recent(earliest, first, 0)
    if first is None or second is None:
        raise NeverDue("time difference between two schedules is less than 1 second")
    between = (second - first) // SECOND
    missed = (clock - first) // SECOND // between + 1
    found: int | None = None
    due = schedule.next(first + (missed - 2) * between * SECOND)
    while due is not None and due <= clock:
        found, due = due, schedule.next(due)
    return Recent(earliest, found, missed)


def until_next(cron_job: ApiObject, schedule: Schedule, clock: int) -> int | None:
    """How long until *cron_job* is to be looked at again, in ns; None for never.

    Upstream: nextScheduleTimeDuration().
    """
    try:
        recent = most_recent(schedule, earliest_time(cron_job), clock)
    except NeverDue:
        since = clock
    else:
        missed_all = clock if recent.missed else recent.earliest
        since = missed_all if recent.due is None else recent.due
    due = schedule.next(since)
    return None if due is None else max(0, due + AFTER_DUE - clock)


def written(time: int) -> str:
    """As Events have it. Upstream: time.RFC1123Z."""
    return (EPOCH + timedelta(seconds=time // SECOND)).strftime("%a, %d %b %Y %H:%M:%S +0000")


def unix_seconds(time: int) -> int:
    """In seconds since 1970."""
    return int(EPOCH.timestamp()) + time // SECOND


def schedule_text(cron_job: ApiObject) -> str:
    """Its schedule, with its time zone. Upstream: formatSchedule()."""
    given: str = cron_job.spec.get("schedule") or ""
    zone = cron_job.spec.get("timeZone")
    if not zone or "TZ" in given:
        return given
    try:
        time_zone(zone)
    except UnknownTimeZone:
        return given
    return f"TZ={zone} {given}"
