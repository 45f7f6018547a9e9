"""Runs as requests need them: whose they are, which version they follow, and where they stand."""

from collections.abc import Sequence
from typing import Any

import psycopg
from django.contrib.auth.models import User
from psycopg import sql

from kscope.accounts.access import Visitor
from kscope.runs.access import SOURCES
from kscope.runs.models import Run, RunEvent

__all__ = ["Run", "account_name", "event_time", "run_exists", "run_use", "runs_read"]

Link = psycopg.AsyncConnection[Any]

# The columns that are read of a run, in the order of the model; its number comes first.
_COLUMNS = (
    *("id", "owner_id", "visibility", "profile", "ahead", "status"),
    *("head_seq", "head_at", "used_at", "rows_seq"),
    *("differs_from", "differs_for", "forked_at", "created"),
)
_SELECT = (
    sql.SQL("SELECT {}, {} FROM runs_run WHERE id = ANY(%s)")
    .format(sql.SQL(", ").join(map(sql.Identifier, _COLUMNS)), sql.SQL(SOURCES))
    .as_bytes()
)

_USE = (
    "UPDATE runs_run SET used_at = clock_timestamp(), rows_asked_at = clock_timestamp()"
    " WHERE id = %s"
)


async def runs_read(
    link: Link, run_ids: Sequence[int]
) -> dict[int, tuple[Run, Sequence[int | None]]]:
    """The runs with these numbers, each with the owners of what it is made of."""
    rows = await (await link.execute(_SELECT, [[*run_ids]])).fetchall()
    return {row[0]: (Run.from_db("default", _COLUMNS, row[:-1]), row[-1]) for row in rows}


async def run_use(link: Link, run_id: int) -> None:
    """Note that a client uses the run, and reads rows of its objects: see `leases.used`, `leases.read`."""
    await link.execute(_USE, [run_id])


def run_exists(run_id: int) -> bool:
    """Whether there is such a run."""
    return Run.objects.filter(pk=run_id).exists()


def event_time(run: Run, seq: int) -> int:
    """The virtual time of event *seq*, in nanoseconds; 0 before the first."""
    if seq == run.head_seq:
        return run.head_at
    found = RunEvent.objects.filter(run_id=run.pk, seq=seq).values_list("at", flat=True)
    return found.first() or 0


def account_name(visitor: Visitor) -> str:
    """The name of the visitor's account; "" for one without."""
    if visitor.account_id is None:
        return ""
    return User.objects.get(pk=visitor.account_id).get_username()
