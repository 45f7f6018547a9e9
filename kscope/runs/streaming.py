"""The live stream: one hub per watched run and process, one reading of each range of events.

PostgreSQL is the truth. A nudge over Redis, or a look once a second, says that there is more; the
hub then reads the range once, folds it, encodes one frame, and hands the same text to everybody.
Each connection keeps only a cursor. Who is a little behind gets composed ranges of their own, who
is far behind a fresh snapshot.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import orjson
import psycopg
import redis.asyncio
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import DatabaseError, connection

from kscope.runs.models import Run
from kscope.runs.nudges import head_channel
from kscope.runs.selectors import NEWEST, run_dict, run_state_at
from kscope.sim.view import Changes, NotComposable, State, compose, fold

FRAME_SECONDS = 0.05
POLL_SECONDS = 1.0
RANGE = 2_000  # events of one frame at most
RING = 200  # frames kept for those who are a little behind
FAR_BEHIND = 20_000  # events; from here on a snapshot is cheaper
RETRY_SECONDS = 0.5

log = logging.getLogger(__name__)

_SELECT = (
    "SELECT seq, at, kind, object, component, cause, message, data::text, changes::text"
    " FROM runs_runevent WHERE run_id = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s"
)


@dataclass(slots=True)
class Frame:
    """A contiguous range of events as one message; `full` is made when somebody wants all events."""

    first: int
    last: int
    at: int
    changes: Changes
    events: list[bytes]
    _newest: str | None = None
    _full: str | None = None

    def text(self, *, full: bool) -> str:
        """The message, encoded once."""
        if full:
            if self._full is None:
                self._full = self._encode(self.events)
            return self._full
        if self._newest is None:
            self._newest = self._encode(self.events[-NEWEST:])
        return self._newest

    def _encode(self, events: list[bytes]) -> str:
        message = {
            "type": "frame",
            "first": self.first,
            "last": self.last,
            "at": self.at,
            "changes": self.changes,
            "events": [orjson.Fragment(event) for event in events],
            "omitted": len(self.events) - len(events),
        }
        return orjson.dumps(message).decode()


def frames_of(rows: list[tuple[Any, ...]]) -> list[Frame]:
    """Rows of events as frames: one, or more where their changes cannot be composed into one."""
    frames: list[Frame] = []
    for row in rows:
        seq, at, data, text = row[0], row[1], row[7], row[8]
        changes: Changes = orjson.loads(text) if text else {}
        encoded = orjson.dumps(
            {
                "seq": seq,
                "at": at,
                "kind": row[2],
                "object": row[3],
                "component": row[4],
                "cause": row[5],
                "message": row[6],
                "data": orjson.Fragment(data) if data else None,
                "changes": orjson.Fragment(text) if text else None,
            }
        )
        if frames:
            frame = frames[-1]
            try:
                frame.changes = compose(frame.changes, changes)
            except NotComposable:
                frames.append(Frame(seq, seq, at, changes, [encoded]))
            else:
                frame.last, frame.at = seq, at
                frame.events.append(encoded)
        else:
            frames.append(Frame(seq, seq, at, changes, [encoded]))
    return frames


class Hub:
    """Reads one run for everybody in this process who watches it."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        self.last = 0
        self.at = 0
        self.state: State = {}
        self.recent: deque[bytes] = deque(maxlen=NEWEST)
        self.run: dict[str, Any] = {}
        self.ring: deque[Frame] = deque(maxlen=RING)
        self.ready = asyncio.Event()
        self.gone = False
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.watchers = 0

    def start(self) -> None:
        """Begin to read."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop reading."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    @property
    def change(self) -> asyncio.Event:
        """Is set as soon as there is something new; take it before you look, then wait on it."""
        return self._changed

    def snapshot(self) -> str:
        """The whole state at the hub's cursor as one message."""
        message = {
            "type": "snapshot",
            "seq": self.last,
            "at": self.at,
            "state": self.state,
            "events": [orjson.Fragment(event) for event in self.recent],
            "run": self.run,
        }
        return orjson.dumps(message).decode()

    def frames_after(self, cursor: int) -> list[Frame] | None:
        """The frames that follow *cursor* without a gap; None when the ring does not hold them."""
        if cursor == self.last:
            return []
        wanted = [frame for frame in self.ring if frame.first > cursor]
        return wanted if wanted and wanted[0].first == cursor + 1 else None

    async def range_after(self, cursor: int) -> list[Frame]:
        """Frames of this connection's own, read from the database."""
        async with await connect() as link:
            rows = await link.execute(_SELECT, [self.run_id, cursor, self.last, RANGE])
            return frames_of(await rows.fetchall())

    async def _run(self) -> None:
        """Read for ever; whatever breaks is begun anew after a moment."""
        while True:
            try:
                await self._load()
                await self._follow()
            except asyncio.CancelledError:
                raise
            except Run.DoesNotExist:
                self.gone = True
                self._tell()
                return
            except (psycopg.Error, DatabaseError, redis.RedisError, OSError) as problem:
                log.warning("stream of run %s: %s", self.run_id, problem)
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                # Whoever watches would wait for ever, without a word.
                log.exception("stream of run %s", self.run_id)
                await asyncio.sleep(RETRY_SECONDS)

    async def _load(self) -> None:
        if self.ready.is_set():
            return
        run, self.last, self.at, self.state, newest = await database_sync_to_async(_instant)(
            self.run_id
        )
        self.run = run
        self.recent.extend(newest)
        self.ready.set()
        self._tell()

    async def _follow(self) -> None:
        client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
        pubsub = client.pubsub(ignore_subscribe_messages=True)
        try:
            await pubsub.subscribe(head_channel(self.run_id))
            async with await connect() as link:
                while True:
                    started = time.monotonic()
                    await self._read(link)
                    rest = FRAME_SECONDS - (time.monotonic() - started)
                    if rest > 0:
                        await asyncio.sleep(rest)
                    if not await self._is_behind(link):
                        await pubsub.get_message(timeout=POLL_SECONDS)
        finally:
            await pubsub.aclose()
            await client.aclose()

    async def _is_behind(self, link: "psycopg.AsyncConnection[Any]") -> bool:
        found = await link.execute("SELECT head_seq FROM runs_run WHERE id = %s", [self.run_id])
        row = await found.fetchone()
        return row is not None and row[0] > self.last

    async def _read(self, link: "psycopg.AsyncConnection[Any]") -> None:
        run = await self._read_run(link)
        rows: list[Any] = []
        if run["head"] > self.last:
            found = await link.execute(_SELECT, [self.run_id, self.last, run["head"], RANGE])
            rows = await found.fetchall()
        for frame in frames_of(rows):
            fold(self.state, frame.changes)
            self.recent.extend(frame.events)
            self.last, self.at = frame.last, frame.at
            self.ring.append(frame)
        if run["head"] == self.last:
            self.at = max(self.at, run["head_at"])
        if rows or run != self.run:
            self.run = run
            self._tell()

    async def _read_run(self, link: "psycopg.AsyncConnection[Any]") -> dict[str, Any]:
        found = await link.execute(
            "SELECT status, speed, head_seq, head_at, next_at, error FROM runs_run WHERE id = %s",
            [self.run_id],
        )
        row = await found.fetchone()
        if row is None:
            raise Run.DoesNotExist
        fresh = zip(("status", "speed", "head", "head_at", "next_at", "error"), row, strict=True)
        return {**self.run, **dict(fresh)}

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _instant(run_id: int) -> tuple[dict[str, Any], int, int, State, list[bytes]]:
    from kscope.runs.selectors import run_newest_events

    run = Run.objects.select_related("scenario").get(pk=run_id)
    instant = run_state_at(run, seq=run.head_seq)
    newest = [orjson.dumps(event) for event in run_newest_events(run, seq=run.head_seq)]
    return run_dict(run), instant.seq, instant.at, instant.state, newest


async def connect() -> "psycopg.AsyncConnection[Any]":
    """A connection of its own to the database that Django uses."""
    parameters = await database_sync_to_async(connection.get_connection_params)()
    for name in ("cursor_factory", "context", "prepare_threshold", "server_side_binding", "pool"):
        parameters.pop(name, None)
    return await psycopg.AsyncConnection.connect(**parameters, autocommit=True)


class Hubs:
    """The hubs of this process, each alive while somebody watches its run."""

    def __init__(self) -> None:
        self._hubs: dict[tuple[int, int], Hub] = {}

    def enter(self, run_id: int) -> Hub:
        """The hub of a run, started when it is the first to watch it."""
        key = (id(asyncio.get_running_loop()), run_id)
        hub = self._hubs.get(key)
        if hub is None or hub.gone:
            hub = self._hubs[key] = Hub(run_id)
            hub.start()
        hub.watchers += 1
        return hub

    async def leave(self, hub: Hub) -> None:
        """One watcher less; the last one ends it."""
        hub.watchers -= 1
        if hub.watchers == 0:
            key = (id(asyncio.get_running_loop()), hub.run_id)
            if self._hubs.get(key) is hub:
                del self._hubs[key]
            await hub.stop()


hubs = Hubs()
