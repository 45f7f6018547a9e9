"""Connections to the database that break at a statement, before or after it is done."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from kscope.runs.served.links import SnapshotLinks


class Faults:
    """What goes wrong with statements that hold a text; nothing does until something is set."""

    def __init__(self) -> None:
        self.at = ""
        self.problem: Exception = psycopg.OperationalError("the connection is lost")
        self.is_done_first = False
        self.is_away = False
        """No connection can be had."""

    def lose(self, at: str, *, done: bool) -> None:
        """Lose the connection at each such statement, which is *done* before that, or not."""
        self.at, self.is_done_first = at, done

    def refuse(self, at: str) -> None:
        """Have the database itself refuse such a statement."""
        self.at, self.is_done_first, self.problem = at, False, refused_by_the_database()

    async def execute(self, run: Callable[..., Any], query: Any, values: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        if not self.at or self.at not in text:
            return await run(query, values)
        if self.is_done_first:
            await run(query, values)
        raise self.problem


def refused_by_the_database() -> psycopg.Error:
    """As for a full disk: an error that PostgreSQL itself reports, with its severity."""

    class Refusal(psycopg.errors.DiskFull):
        @property
        def diag(self) -> Any:
            return type("Diagnostic", (), {"severity_nonlocalized": "ERROR"})()

    return Refusal("no space left on device")


def break_links(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Have all connections of the Kubernetes API do what the returned faults say."""
    found, link = Faults(), SnapshotLinks.link

    class Link:
        def __init__(self, real: Any) -> None:
            self._real = real

        async def execute(self, query: Any, values: Any = None) -> Any:
            return await found.execute(self._real.execute, query, values)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    @asynccontextmanager
    async def broken(self: SnapshotLinks) -> AsyncIterator[Any]:
        if found.is_away:
            raise PoolTimeout("no connection in time")
        async with link(self) as real:
            yield Link(real)

    async def read(self: Any, query: Any, values: Any = None) -> Any:
        run = partial(psycopg.AsyncServerCursor.execute, self)
        return await found.execute(run, query, values)

    monkeypatch.setattr(SnapshotLinks, "link", broken)
    # Lists are read by a cursor of the server.
    monkeypatch.setattr("kscope.runs.served.objects._Cursor.execute", read)
    return found
