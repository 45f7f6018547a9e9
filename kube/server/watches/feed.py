"""The changes of a watched run: each range is read once, for all watchers of this process.

A nudge over Redis, or a look once a second, says that there is more. The newest ranges are kept, so
that whoever is a little behind need not ask the database.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from kscope.runs.served.changes import time_of
from kscope.runs.served.fresh_rows import rows_awaited
from kscope.runs.served.links import SnapshotLinks, head_of
from kscope.runs.stream.follower import Follower, Followers, RunGone
from kscope.runs.stream.stream_room import HeadNews
from kube.server.watches import changes
from kube.server.watches.changes import Changes

POLL_SECONDS = 1.0
# Small writes that come close together are one range.
REST_SECONDS = 0.02
RANGES = 200
RANGE_BYTES = 16_000_000
# Events of a range that is read for one watcher.
MOST_EVENTS = 20_000


class Feed(Follower):
    """The changes of one run, in ranges that follow each other without gap."""

    subject = "changes"

    def __init__(self, run_id: int, links: SnapshotLinks, news: HeadNews) -> None:
        super().__init__(run_id, news)
        self._links = links
        self._ranges: deque[Changes] = deque()
        self._bytes = 0
        self.upto = 0
        self.at = 0
        self.ready = asyncio.Event()

    @property
    def poll_seconds(self) -> float:
        """See Follower."""
        return POLL_SECONDS

    def rest_after(self, took: float) -> float:
        """See Follower."""
        return REST_SECONDS

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
        while True:
            async with self._links.snapshot() as link:
                head = await head_of(link, self.run_id)
                if head is None or not head.is_past_rows:
                    at = await time_of(link, self.run_id, upto)
                    return await changes.read(link, self.run_id, after=after, upto=upto, at=at)
            await rows_awaited(self._links, self.run_id)

    async def look(self) -> bool:
        """See Follower."""
        async with self._links.snapshot() as link:
            head = await head_of(link, self.run_id)
            if head is None:
                raise RunGone
            seq, at = head.seq, head.at
            is_first = not self.ready.is_set()
            is_behind = head.is_past_rows and seq > self.upto and not is_first
            if is_first or seq < self.upto:
                # The database may have been set back to an earlier moment.
                self._ranges.clear()
                self._bytes, self.upto = 0, seq
            while self.upto < seq and not is_behind:
                upto = min(self.upto + MOST_EVENTS, seq)
                found = await changes.read(link, self.run_id, after=self.upto, upto=upto, at=at)
                self._keep(found)
            self.at = at
        if is_behind:
            await rows_awaited(self._links, self.run_id)
            return True
        self.tell()
        return False

    def tell(self) -> None:
        """See Follower. The first look has been taken then, also where it found no run."""
        self.ready.set()
        super().tell()

    def _keep(self, found: Changes) -> None:
        self.upto = found.upto
        self._ranges.append(found)
        self._bytes += found.size
        while len(self._ranges) > 1 and (len(self._ranges) > RANGES or self._bytes > RANGE_BYTES):
            self._bytes -= self._ranges.popleft().size


class Feeds:
    """The feeds of this process, each alive while somebody watches its run."""

    def __init__(self) -> None:
        self._links = SnapshotLinks()
        self._news = HeadNews()
        self._followers = Followers(
            self._news, lambda run_id: Feed(run_id, self._links, self._news)
        )
        self.of = self._followers.of

    async def close(self) -> None:
        """Close what the feeds share."""
        await self._news.close()
        await self._links.close()
