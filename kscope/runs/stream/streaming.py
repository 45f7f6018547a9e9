"""The live stream: one hub per watched run and process, one reading of each range of events.

PostgreSQL is the truth. A nudge over Redis, or a look once a second, says that there is more; the
hub then reads the range once, folds it, encodes one frame, and hands the same text to all readers.
Each connection keeps only a cursor. A reader who is a little behind gets the missed events composed
into one frame, and one who is far behind gets a new snapshot.
"""

import asyncio
import logging
import time
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import psycopg
from django.db import connection

from engine.cluster.source import fingerprint
from engine.kernel.view import State
from kscope.runs import leases
from kscope.runs.history.series import Sample, Tally, extend, grid_end, window
from kscope.runs.languages.kept import sentence_read
from kscope.runs.models import Run
from kscope.runs.selectors import NEWEST, run_dict, run_state_at
from kscope.runs.stream.follower import Follower, Followers, RunGone
from kscope.runs.stream.frames import IN_MEMORY, Frame, frame_folded, frames_composed, frames_joined
from kscope.runs.stream.snapshots import Snapshot
from kscope.runs.stream.stream_room import HeadNews, Links, StreamMemory, connection_parameters

FRAME_SECONDS = 0.05
POLL_SECONDS = 1.0
BRIEFLY_SECONDS = 0.8  # a run may be without a worker before pages say so
RANGE = 2_000  # events of one frame at most
RING = 200  # frames kept for those who are a little behind
RING_BYTES = 16_000_000  # of memory; a ring holds at least one frame
JOINED = 4  # places behind the newest event for which a frame and its text are kept
LOADERS = 2  # threads that read the states of runs that begin to be watched
PIECES = 4  # of a range read for one reader; what composes worse is sent as a snapshot
FAR_BEHIND = 20_000  # events; from here on a snapshot is cheaper
STALLED_SECONDS = 5.0  # without reading; the run may have gone on unseen

log = logging.getLogger(__name__)


_SELECT = (
    "SELECT seq, at, kind, object, component, cause, message, data_text, changes_text"
    " FROM events_between(%s, %s, %s) ORDER BY seq"
)
_READ_RUN = (
    "SELECT status, speed, head_seq, head_at, next_at, goal_at, error, visibility, stopped_by,"
    " stop_reason, CASE WHEN differs_for = %s THEN differs_from END, building,"
    f" lease_until IS NULL, {leases.WORKER},"
    " (SELECT jsonb_build_object('verdict', verdict, 'parted_seq', parted_seq, 'mine', mine,"
    "  'theirs', theirs) FROM runs_importedrun AS imported WHERE imported.run_id = runs_run.id)"
    " FROM runs_run WHERE id = %s"
).encode()


class _Rewound(Exception):
    """The run has fewer events than were read: its database was set back to an earlier moment."""


class Hub(Follower):
    """Reads one run for all of its watchers in this process."""

    subject = "stream"

    def __init__(self, run_id: int, room: "Room") -> None:
        super().__init__(run_id, room.news)
        self.room = room
        self._state_bytes = 0
        self.last = 0
        self.at = 0
        self.state: State = {}
        self._tally = Tally(self.state)
        # The samples of the newest window.
        self._counts: list[Sample] = []
        self.recent: deque[bytes] = deque(maxlen=NEWEST)
        self._snapshot: Snapshot | None = None
        self.run: dict[str, Any] = {}
        self.ring: deque[Frame] = deque()
        self.ring_bytes = 0
        # The texts for readers that are behind, since the last frame, by their position.
        self._joined: OrderedDict[int, Frame] = OrderedDict()
        self.ready = asyncio.Event()
        self._read_at = time.monotonic()
        # Since when the run waits for a worker, as far as was read.
        self._waits_since: float | None = None
        # Rises when the run is no longer what was read; readers then start again.
        self.generation = 0

    @property
    def kept_bytes(self) -> int:
        """What it keeps in memory, roughly."""
        return self._state_bytes + self.ring_bytes + (self._snapshot.size if self._snapshot else 0)

    def shed_ring(self) -> None:
        """Keep the newest frame alone: who is further behind is served from the database."""
        while len(self.ring) > 1:
            self.ring_bytes -= self.ring.popleft().size

    def shed_texts(self) -> None:
        """Let go of the texts that can be encoded again."""
        self._snapshot = None
        self._joined.clear()

    @property
    def is_stalled(self) -> bool:
        """Whether it has not managed to read the run for a while."""
        return time.monotonic() - self._read_at > STALLED_SECONDS

    def snapshot(self) -> Snapshot:
        """The whole state at the hub's cursor, encoded once for all who come."""
        if self._snapshot is None:
            facts = {
                "seq": self.last,
                "at": self.at,
                "events": [orjson.Fragment(event) for event in self.recent],
                "counts": {"since": self._counts[0][0], "samples": self._counts},
                "run": self.run,
            }
            self._snapshot = Snapshot(facts, self.state)
            self._state_bytes = IN_MEMORY * self._snapshot.size
        return self._snapshot

    def frame_after(self, cursor: int, *, full: bool) -> Frame | None:
        """All that follows *cursor* as one frame; None when the ring does not reach back to it.

        If *full*, only as far as one frame of the ring, which has all its events.
        """
        wanted = [frame for frame in self.ring if frame.first > cursor]
        if not wanted or wanted[0].first != cursor + 1:
            return None
        if full or len(wanted) == 1:
            return wanted[0]
        if cursor not in self._joined:
            # Readers that stand at the same place share one frame and its text.
            self._joined[cursor] = frames_joined(wanted, self.state)
            while len(self._joined) > JOINED:
                self._joined.popitem(last=False)
        return self._joined[cursor]

    async def range_after(self, cursor: int) -> list[Frame]:
        """Frames of this connection's own, read from the database."""
        async with self.room.links.link() as link:
            upto = min(cursor + RANGE, self.last)
            rows = await link.execute(_SELECT, [self.run_id, cursor, upto])
            found = await rows.fetchall()
        return frames_composed(found)

    @property
    def poll_seconds(self) -> float:
        """See Follower."""
        return POLL_SECONDS

    def rest_after(self, took: float) -> float:
        """See Follower."""
        return FRAME_SECONDS - took

    async def look(self) -> bool:
        """See Follower."""
        await self._load()
        try:
            async with self.room.links.link() as link:
                return await self._read(link)
        except _Rewound as rewound:
            log.warning("stream of run %s begins anew: %s", self.run_id, rewound)
            self._forget()
            return True

    def _forget(self) -> None:
        """Read the run again. The state is a new object: the old one does not change."""
        self.generation += 1
        self.ready.clear()
        self.state = {}
        self.recent.clear()
        self.ring.clear()
        self.ring_bytes = 0
        self._joined.clear()

    async def _load(self) -> None:
        if self.ready.is_set():
            return
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(_loaders, _instant, self.run_id)
        run, self.last, self.at, self.state, newest = found
        self.run = run
        self.recent.extend(newest)
        self._tally = Tally(self.state)
        since = grid_end(self.at) if self.last else 0
        self._counts = [[since, 0, *self._tally.sizes]]
        self.ready.set()
        self._tell()
        self.snapshot()  # the waiting readers ask for it next, and its length gives the state's size
        self.room.shed()

    async def _read(self, link: "psycopg.AsyncConnection[Any]") -> bool:
        """Read what is new; returns whether there is more."""
        run = await self._read_run(link)
        self._read_at = time.monotonic()
        rows: list[Any] = []
        if run["head"] < self.last:
            raise _Rewound(f"the run stands at event {run['head']}; shown was {self.last}")
        if run["head"] > self.last:
            upto = min(self.last + RANGE, run["head"])
            found = await link.execute(_SELECT, [self.run_id, self.last, upto])
            rows = await found.fetchall()
        if rows:
            frame = frame_folded(rows, self.state, self._tally)
            self.recent.extend(frame.events)
            extend(self._counts, frame.counts or ())
            self._counts = window(self._counts, frame.at)
            self.last, self.at = frame.last, frame.at
            self._keep(frame)
        if run["head"] == self.last:
            self.at = max(self.at, run["head_at"])
        if rows or run != self.run:
            self.run = run
            self._tell()
        return run["head"] > self.last

    def _keep(self, frame: Frame) -> None:
        """Put a frame into the ring, and drop those that no client will ask for."""
        self._joined.clear()
        if self.ring:
            self.ring[-1].forget_texts()
        frame.weigh()
        self.ring.append(frame)
        self.ring_bytes += frame.size
        while len(self.ring) > 1 and (
            len(self.ring) > RING
            or self.ring_bytes > RING_BYTES
            or self.ring[0].last < self.last - FAR_BEHIND
        ):
            self.ring_bytes -= self.ring.popleft().size
        self.room.shed()

    async def _read_run(self, link: "psycopg.AsyncConnection[Any]") -> dict[str, Any]:
        found = await link.execute(
            _READ_RUN,
            [fingerprint(), fingerprint(), self.run_id],
        )
        row = await found.fetchone()
        if row is None:
            raise RunGone
        names = ("status", "speed", "head", "head_at", "next_at", "goal_at", "error")
        names += ("visibility", "stopped_by", "stop_reason", "differs_from", "building")
        *facts, was_given_back, worker, imported = row
        found_now: dict[str, Any] = dict(zip(names, facts, strict=True))
        for name in ("error", "stop_reason"):
            found_now[name] = sentence_read(found_now[name])
        if imported is not None:
            found_now["imported"] = {**(self.run.get("imported") or {}), **imported}
        worker = self._worker(worker, was_given_back=was_given_back)
        return {**self.run, **found_now, "worker": worker}

    def _worker(self, worker: str, *, was_given_back: bool) -> str:
        """What is said of the run's worker: that it waits for one, only where that lasts.

        A run that was just played, or given back for another one's turn, has one in a moment.
        """
        if worker != leases.WAITING:
            self._waits_since = None
            return worker
        now = time.monotonic()
        if self._waits_since is None:
            self._waits_since = now
        is_brief = was_given_back and now - self._waits_since < BRIEFLY_SECONDS
        return leases.DRIVING if is_brief else worker

    def _tell(self) -> None:
        self._snapshot = None
        self.tell()


_loaders = ThreadPoolExecutor(LOADERS, thread_name_prefix="hub")


def _instant(run_id: int) -> tuple[dict[str, Any], int, int, State, list[bytes]]:
    from kscope.runs.selectors import run_newest_events

    try:
        run = Run.described().filter(pk=run_id).first()
        if run is None:
            raise RunGone
        instant = run_state_at(run, seq=run.head_seq)
        newest = [orjson.dumps(event) for event in run_newest_events(run, seq=run.head_seq)]
        return run_dict(run), instant.seq, instant.at, instant.state, newest
    finally:
        connection.close()  # with a pool: given back


async def connect() -> "psycopg.AsyncConnection[Any]":
    """A connection of its own to the database that Django uses."""
    return await psycopg.AsyncConnection.connect(**await connection_parameters())


class Room:
    """The hubs of one event loop and what they share; it ends with the last of them."""

    def __init__(self, memory: StreamMemory) -> None:
        self.links = Links()
        self.news = HeadNews()
        self.memory = memory
        self._followers = Followers(self.news, self._made)
        self.hubs = self._followers.by_run

    def shed(self) -> None:
        """Keep the memory of all hubs within bounds."""
        self.memory.shed(self.hubs.values())

    def enter(self, run_id: int) -> Hub:
        """See Hubs.enter."""
        return self._followers.enter(run_id)

    async def leave(self, hub: Hub) -> None:
        """See Hubs.leave."""
        await self._followers.leave(hub)

    def _made(self, run_id: int) -> Hub:
        self.memory.check_room(self.hubs.values())
        return Hub(run_id, self)

    async def close(self) -> None:
        """Close what the hubs shared."""
        await self.news.close()
        await self.links.close()


class Hubs:
    """The hubs of this process, each alive while a client watches its run."""

    def __init__(self) -> None:
        self.memory = StreamMemory.of_settings()
        self._rooms: dict[int, Room] = {}

    def enter(self, run_id: int) -> Hub:
        """The hub of a run, started when it is the first to watch it. Raises StreamsFull."""
        key = id(asyncio.get_running_loop())
        room = self._rooms.get(key)
        if room is None:
            room = self._rooms[key] = Room(self.memory)
        return room.enter(run_id)

    def watched(self) -> list[Hub]:
        """The hubs there are; may be asked from another thread."""
        return [hub for room in list(self._rooms.values()) for hub in list(room.hubs.values())]

    async def leave(self, hub: Hub) -> None:
        """One watcher less; the last one ends it."""
        room = hub.room
        await room.leave(hub)
        key = id(asyncio.get_running_loop())
        if not room.hubs and self._rooms.get(key) is room:
            del self._rooms[key]
            await room.close()


hubs = Hubs()
