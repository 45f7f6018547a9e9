"""Connections to the database for reading, each from one moment of it."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import psycopg
from django.db import DatabaseError

from kscope.runs.stream.stream_room import Links

# What is raised where a question to the database fails.
DATABASE_ERRORS = (psycopg.Error, DatabaseError, OSError)
_HEAD = (
    "SELECT head_seq, head_at, coalesce(ahead, 0), rows_seq IS NOT NULL FROM runs_run WHERE id = %s"
)


class HeadRow(NamedTuple):
    """The newest event of a run, its virtual time, and how far clocks are ahead of that.

    `is_past_rows`: the rows of its objects are those of an earlier event.
    """

    seq: int
    at: int
    ahead: int
    is_past_rows: bool


class SnapshotLinks(Links):
    """Connections on which several questions are answered from one moment of the database."""

    @contextlib.asynccontextmanager
    async def snapshot(self) -> "AsyncIterator[psycopg.AsyncConnection[Any]]":
        """A connection within a transaction that sees no later commit."""
        async with self.link() as link, link.transaction():
            await link.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield link


async def head_of(link: "psycopg.AsyncConnection[Any]", run_id: int) -> HeadRow | None:
    """Where a run stands. None when it is gone."""
    row = await (await link.execute(_HEAD, [run_id])).fetchone()
    return HeadRow(*row) if row else None
