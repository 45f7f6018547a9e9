"""The changes of a watched run: each range is read once, for all watchers of this process.

A nudge over Redis, or a look once a second, says that there is more. The newest ranges are kept, so
that whoever is a little behind need not ask the database.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import psycopg
from django.db import DatabaseError

from kscope.runs.stream.ending import end
from kscope.runs.stream.stream_room import HeadNews
from kube.server.objects.links import SnapshotLinks, head_of
from kube.server.watches import changes
from kube.server.watches.changes import Changes

POLL_SECONDS = 1.0
RETRY_SECONDS = 0.5
# Small writes that come close together are one range.
REST_SECONDS = 0.02
RANGES = 200
RANGE_BYTES = 16_000_000
# Events after which it is cheaper to list again.
FAR_BEHIND = 200_000
# Events of a range that is read for one watcher.
MOST_EVENTS = 20_000
log = logging.getLogger(__name__)


class Feed:
    """The changes of one run, in ranges that follow each other without gap."""

    def __init__(self, run_id: int, links: SnapshotLinks, news: HeadNews) -> None:
        self.run_id = run_id
        self._links = links
        self._news = news
        self._ranges: deque[Changes] = deque()
        self._bytes = 0
        self.upto = 0
        self.at = 0
        self.is_gone = False
        self.ready = asyncio.Event()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.watchers = 0

    def start(self) -> None:
        """Begin to read."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop reading."""
        if self._task is not None:
            await end(self._task)

    @property
    def change(self) -> asyncio.Event:
        """Is set as soon as there is something new; take it before you look, then wait on it."""
        return self._changed

    async def after(self, cursor: int) -> AsyncIterator[Changes]:
        """All that is known after event *cursor*, range by range."""
        while cursor < self.upto:
            found = next((one for one in self._ranges if one.after == cursor), None)
            if found is None:
                oldest = self._ranges[0].after if self._ranges else self.upto
                upto = min(cursor + MOST_EVENTS, oldest if cursor < oldest else self.upto)
                found = await self._read_range(cursor, upto)
            yield found
            cursor = found.upto

    async def _read_range(self, after: int, upto: int) -> Changes:
        async with self._links.snapshot() as link:
            at = await _time_of(link, self.run_id, upto)
            return await changes.read(link, self.run_id, after=after, upto=upto, at=at)

    async def _run(self) -> None:
        news = self._news.follow(self.run_id)
        while True:
            news.clear()
            try:
                is_gone = await self._catch_up()
            except (psycopg.Error, DatabaseError, OSError) as problem:
                log.warning("changes of run %s: %s", self.run_id, problem)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if is_gone:
                self.is_gone = True
                self._tell()
                return
            await asyncio.sleep(REST_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await news.wait()

    async def _catch_up(self) -> bool:
        """Read what is new; returns whether the run is gone."""
        async with self._links.snapshot() as link:
            head = await head_of(link, self.run_id)
            if head is None:
                return True
            seq, at, _ = head
            is_first = not self.ready.is_set()
            if is_first or seq < self.upto:
                # The database may have been set back to an earlier moment.
                self._ranges.clear()
                self._bytes, self.upto = 0, seq
            while self.upto < seq:
                upto = min(self.upto + MOST_EVENTS, seq)
                found = await changes.read(link, self.run_id, after=self.upto, upto=upto, at=at)
                self._keep(found)
            self.at = at
        if is_first:
            self.ready.set()
        self._tell()
        return False

    def _keep(self, found: Changes) -> None:
        self.upto = found.upto
        self._ranges.append(found)
        self._bytes += found.size
        while len(self._ranges) > 1 and (len(self._ranges) > RANGES or self._bytes > RANGE_BYTES):
            self._bytes -= self._ranges.popleft().size

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class Feeds:
    """The feeds of this process, each alive while somebody watches its run."""

    def __init__(self) -> None:
        self._links = SnapshotLinks()
        self._news = HeadNews()
        self._feeds: dict[int, Feed] = {}

    async def close(self) -> None:
        """Close what the feeds share."""
        await self._news.close()
        await self._links.close()

    @contextlib.asynccontextmanager
    async def of(self, run_id: int) -> AsyncIterator[Feed]:
        """The feed of a run, for one watcher."""
        feed = self._feeds.get(run_id)
        if feed is None or feed.is_gone:
            feed = self._feeds[run_id] = Feed(run_id, self._links, self._news)
            feed.start()
        feed.watchers += 1
        try:
            yield feed
        finally:
            feed.watchers -= 1
            if not feed.watchers:
                if self._feeds.get(run_id) is feed:
                    del self._feeds[run_id]
                    self._news.forget(run_id)
                await feed.stop()


async def _time_of(link: "psycopg.AsyncConnection[Any]", run_id: int, seq: int) -> int:
    found = await link.execute(
        "SELECT at FROM runs_runevent WHERE run_id = %s AND seq = %s", [run_id, seq]
    )
    row = await found.fetchone()
    return row[0] if row else 0
