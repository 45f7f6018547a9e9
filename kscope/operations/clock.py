"""Whether the database's clock may be believed when the age of things decides that they go.

A clock that is set a year ahead makes every run a year old. Rows that were deleted for that are gone when
the clock is right again.
"""

from datetime import UTC, datetime
from typing import Any

from django.db import connection

from kscope.steady_clock import steady_now

# So much do two clocks that somebody looks after never differ.
MOST_SECONDS = 3600.0


def clock_doubt() -> str:
    """Why the database's clock is not believed; "" where it is.

    It is compared with this machine's clock, and with the time that has passed since this process
    began: one that was set ahead meanwhile is believed again once the process is started anew.
    """
    database = _database_now()
    for clock, now in (
        ("this machine's", datetime.now(UTC)),
        ("the time that passed", steady_now()),
    ):
        ahead = (database - now).total_seconds()
        if ahead > MOST_SECONDS:
            return (
                f"the database's clock says {database:%Y-%m-%d %H:%M} UTC, {clock} says "
                f"{now:%Y-%m-%d %H:%M}. Set the clocks right, or start the sweeper anew"
            )
    return ""


def _database_now() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
