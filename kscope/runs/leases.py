"""Whether a worker has a run, by the clock of the database: parts of SQL statements.

A lease ends by itself, so that the runs of a worker that died are taken by another one. It is not
believed where it ends later than any lease can: the clock was set back since, and whoever took it
would keep the run from others for as long, though it may be long dead.
"""

LEASE_SECONDS = 5
# While an engine is restored or frozen, which no other thread can interrupt.
LONG_LEASE_SECONDS = 30
# By so much a clock may be corrected without a doubt about leases.
_CORRECTION_SECONDS = 2
# Who drives a run renews its lease at least every second; for so long nobody need see that.
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


def _between(alias: str, least: int) -> str:
    until = f"{alias}.lease_until" if alias else "lease_until"
    return (
        f"coalesce({until} > clock_timestamp() + interval '{least} seconds'"
        f" AND {until} <= clock_timestamp() + interval '{_MOST} seconds', false)"
    )
