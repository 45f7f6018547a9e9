"""Whether a worker has a run, by the clock of the database: parts of SQL statements.

A lease ends by itself, so that the runs of a worker that died are taken by another one. It is not
believed where it ends later than any lease can: the clock was set back since, and whoever took it
would keep the run from others for as long, though it may be long dead.
"""

from django.conf import settings

LEASE_SECONDS = 5
# While an engine is restored or frozen, which no other thread can interrupt.
LONG_LEASE_SECONDS = 30
# By so much a clock may be corrected without a doubt about leases.
_CORRECTION_SECONDS = 2
# The driver of a run renews its lease at least every second; pages need not show shorter gaps.
SILENT_SECONDS = 2

_MOST = LONG_LEASE_SECONDS + _CORRECTION_SECONDS


def held(alias: str = "") -> str:
    """The condition that a worker has the run, of a table with this *alias*."""
    return _between(alias, 0)


def free(alias: str = "") -> str:
    """The condition that a worker may take it."""
    return f"NOT {held(alias)}"


def driven(alias: str = "") -> str:
    """The condition that a worker has it and has given a sign of life a moment ago."""
    return _between(alias, LEASE_SECONDS - SILENT_SECONDS)


def used() -> str:
    """The condition that clients of the Kubernetes API use a run: its clock goes on for them."""
    since = f"clock_timestamp() - interval '{settings.CLIENT_CLOCK_SECONDS} seconds'"
    until = f"clock_timestamp() + interval '{_CORRECTION_SECONDS} seconds'"
    return f"(used_at IS NOT NULL AND used_at > {since} AND used_at < {until})"


# Who has read rows of a run's objects most likely reads them again.
READ_SECONDS = 15


def read() -> str:
    """The condition that somebody reads the rows of a run's objects, which are kept up to date then."""
    since = f"clock_timestamp() - interval '{READ_SECONDS} seconds'"
    until = f"clock_timestamp() + interval '{_CORRECTION_SECONDS} seconds'"
    return f"(rows_asked_at IS NOT NULL AND rows_asked_at > {since} AND rows_asked_at < {until})"


def _between(alias: str, least: int) -> str:
    until = f"{alias}.lease_until" if alias else "lease_until"
    return (
        f"coalesce({until} > clock_timestamp() + interval '{least} seconds'"
        f" AND {until} <= clock_timestamp() + interval '{_MOST} seconds', false)"
    )


DRIVING, BUILDING, WAITING = "driving", "building", "waiting"
# What a worker is to do for a run, and whether one does: "" where there is nothing to do. A run
# that was given back, for another process, waits only for a moment most of the time.
WORKER = (
    "CASE WHEN status = 'failed' OR (differs_from IS NOT NULL AND differs_for = %s)"
    "  OR (goal_at IS NOT NULL AND stopped_by <> '')"
    "  OR NOT (status = 'playing' OR steps_wanted > 0 OR NOT is_started OR goal_at IS NOT NULL)"
    "  THEN ''"
    f" WHEN NOT {driven()} THEN '{WAITING}'"
    f" WHEN is_started THEN '{DRIVING}' ELSE '{BUILDING}' END"
)
