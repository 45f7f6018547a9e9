"""Follows the head of a run: the one loop behind streams of pages, watches, and answers to writes.

    waits ──news of the head, or a while without──▶ looks ──▶ rests ──▶ waits
      ▲                                               │ there is more: looks again
      └──────────── after a moment ◀── an error ──────┘ the run is gone: ends

News may be lost, and the database counts. A look begins with the news forgotten: what comes while
the database is asked is asked about again. Many users of a run in one process share one follower;
the last that leaves ends it.
"""

import asyncio
import contextlib
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from typing import Generic, TypeVar

import psycopg
from django.db import DatabaseError

from kscope.runs.errors import ApplicationError
from kscope.runs.stream.ending import end
from kscope.runs.stream.stream_room import HeadNews

RETRY_SECONDS = 0.5
log = logging.getLogger(__name__)


class RunGone(Exception):
    """There is no such run any more."""


class Follower(ABC):
    """What follows one run for its users in this process."""

    # What the log calls it.
    subject = "news"

    def __init__(self, run_id: int, news: HeadNews) -> None:
        self.run_id = run_id
        self.users = 0
        self.is_gone = False
        self.news = news
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def look(self) -> bool:
        """Read what is new; returns whether there is more to read at once. Raises RunGone."""

    @property
    @abstractmethod
    def poll_seconds(self) -> float:
        """How long it waits for news before it looks all the same."""

    def rest_after(self, took: float) -> float:
        """Seconds to rest after a look that *took* so many: what comes together is read together."""
        return 0.0

    @property
    def change(self) -> asyncio.Event:
        """Is set as soon as there is something new; take it before you look, then wait on it."""
        return self._changed

    def tell(self) -> None:
        """Have those who wait for a change look."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def start(self) -> None:
        """Begin to follow."""
        self._task = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Follow no longer."""
        if self._task is not None:
            await end(self._task)

    async def _follow(self) -> None:
        """Look until the run is gone, or until it is cancelled."""
        news = self.news.follow(self.run_id)
        while True:
            news.clear()
            began = time.monotonic()
            try:
                is_behind = await self.look()
            except RunGone:
                self.is_gone = True
                self.tell()
                return
            except (psycopg.Error, DatabaseError, OSError, ApplicationError) as problem:
                log.warning("%s of run %s: %s", self.subject, self.run_id, problem)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            except Exception:
                # Clients would wait forever without a message.
                log.exception("%s of run %s", self.subject, self.run_id)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            rest = self.rest_after(time.monotonic() - began)
            if rest > 0:
                await asyncio.sleep(rest)
            if not is_behind:
                # Not wait_for: before Python 3.12 it forgets that it was cancelled when news come, too.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.poll_seconds):
                        await news.wait()


F = TypeVar("F", bound=Follower)


class Followers(Generic[F]):
    """The followers of one event loop, by run: each is made by *make* for its first user.

    They are kept in *by_run*, if *news* has to know them, too.
    """

    def __init__(
        self, news: HeadNews, make: Callable[[int], F], by_run: dict[int, F] | None = None
    ) -> None:
        self.by_run: dict[int, F] = {} if by_run is None else by_run
        self._news = news
        self._make = make

    def enter(self, run_id: int) -> F:
        """The follower of a run, with one more user. Raises what *make* raises."""
        follower = self.by_run.get(run_id)
        if follower is None or follower.is_gone:
            follower = self.by_run[run_id] = self._make(run_id)
            follower.start()
        follower.users += 1
        return follower

    async def leave(self, follower: F) -> None:
        """One user less; the last one ends it."""
        follower.users -= 1
        if follower.users > 0:
            return
        if self.by_run.get(follower.run_id) is follower:
            del self.by_run[follower.run_id]
            self._news.forget(follower.run_id)
        await follower.stop()

    @contextlib.asynccontextmanager
    async def of(self, run_id: int) -> AsyncIterator[F]:
        """The follower of a run, for one user."""
        follower = self.enter(run_id)
        try:
            yield follower
        finally:
            await self.leave(follower)
