"""What all hubs of a process share: connections, news of heads, and the memory that they may use.

However many runs are watched, there are a few connections to PostgreSQL and one subscription to Redis.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable
from typing import Any, Protocol

import psycopg
import redis.asyncio
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import connection
from psycopg_pool import AsyncConnectionPool

from kscope.database_format import WrongFormat, refusal
from kscope.runs.nudges import HEADS, run_of_head_channel
from kscope.runs.stream.ending import end

CONNECTIONS = 4
CONNECT_SECONDS = 10.0
RETRY_SECONDS = 0.5
_MEBIBYTE = 1_048_576
log = logging.getLogger(__name__)


class StreamsFull(Exception):
    """The streams of this process may use no more memory: another run cannot be watched now."""


async def connection_parameters() -> dict[str, Any]:
    """How to connect to the database that Django uses."""
    parameters = await database_sync_to_async(connection.get_connection_params)()
    for name in ("cursor_factory", "context", "prepare_threshold", "server_side_binding", "pool"):
        parameters.pop(name, None)
    return {**parameters, "autocommit": True}


class Links:
    """A few connections to the database, taken for one reading and given back.

    Those that are *checked* are asked whether they still hold before they are given out.
    """

    def __init__(self, *, checked: bool = False) -> None:
        self._check = AsyncConnectionPool.check_connection if checked else None
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[Any]] | None = None
        self._opening = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def link(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A connection. Raises psycopg.Error, and WrongFormat once a newer version has migrated."""
        if why := refusal():
            raise WrongFormat(why)
        async with self._opening:
            if self._pool is None:
                self._pool = AsyncConnectionPool(
                    kwargs=await connection_parameters(),
                    min_size=0,
                    max_size=CONNECTIONS,
                    timeout=CONNECT_SECONDS,
                    open=False,
                    check=self._check,
                    name="streams",
                )
                await self._pool.open()
        async with self._pool.connection() as link:
            yield link

    async def close(self) -> None:
        """Close all of them."""
        if self._pool is not None:
            await self._pool.close()


class HeadNews:
    """One subscription that wakes the hubs of the runs that have gone on."""

    def __init__(self) -> None:
        self._events: dict[int, asyncio.Event] = {}
        self._task: asyncio.Task[None] | None = None

    def follow(self, run_id: int) -> asyncio.Event:
        """The event that is set when the run may have a new head."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen())
        return self._events.setdefault(run_id, asyncio.Event())

    def forget(self, run_id: int) -> None:
        """The hub of the run has ended."""
        self._events.pop(run_id, None)

    def hear(self, run_id: int, _text: bytes) -> None:
        """What to do with a message about the run."""
        event = self._events.get(run_id)
        if event is not None:
            event.set()

    async def close(self) -> None:
        """End the subscription."""
        if self._task is not None:
            await end(self._task)

    async def _listen(self) -> None:
        """Listen until it is cancelled. Without Redis the hubs find new events a little later."""
        while True:
            try:
                await self._listen_once()
            except (redis.RedisError, OSError) as problem:
                log.warning("news of runs' heads: %s", problem)
                await asyncio.sleep(RETRY_SECONDS)

    async def _listen_once(self) -> None:
        client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
        subscription = client.pubsub(ignore_subscribe_messages=True)
        try:
            await subscription.psubscribe(HEADS)
            for event in self._events.values():
                event.set()  # something may have been missed
            async for message in subscription.listen():
                run_id = run_of_head_channel(message["channel"].decode())
                self.hear(run_id, message["data"])
        finally:
            await subscription.aclose()
            await client.aclose()


class Keeper(Protocol):
    """What keeps memory for those who watch a run: a hub."""

    @property
    def kept_bytes(self) -> int: ...
    @property
    def ring_bytes(self) -> int: ...
    def shed_ring(self) -> None: ...
    def shed_texts(self) -> None: ...


class StreamMemory:
    """Keeps the memory of all hubs below a limit.

    First go the recent frames of the hubs that have most of them: who is behind is then served from
    the database. Then go encoded texts. The states themselves cannot go while they are watched: when
    they alone are too much, no further run can be watched.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.rings_shed = 0

    def shed(self, keepers: Iterable[Keeper]) -> None:
        """Let go of what is too much."""
        known = list(keepers)
        excess = sum(keeper.kept_bytes for keeper in known) - self.limit
        if excess <= 0:
            return
        for keeper in sorted(known, key=lambda keeper: keeper.ring_bytes, reverse=True):
            before = keeper.kept_bytes
            keeper.shed_ring()
            keeper.shed_texts()
            self.rings_shed += 1
            excess -= before - keeper.kept_bytes
            if excess <= 0:
                return

    def check_room(self, keepers: Iterable[Keeper]) -> None:
        """Raises StreamsFull when there is no room for another run."""
        if sum(keeper.kept_bytes for keeper in keepers) > self.limit:
            raise StreamsFull

    @classmethod
    def of_settings(cls) -> "StreamMemory":
        """With the limit that the settings give."""
        return cls(settings.WEB_STREAMS_MIB * _MEBIBYTE)
