"""The live stream: snapshots, contiguous frames, resuming, and readers that are slow."""

import asyncio
import contextlib
import copy
import json
import threading
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter
from django.db import connections
from django.db.models.functions import Now

from engine.input.generate import synthetic
from engine.kernel.view import NotComposable, State, fold
from kscope.runs import leases, services
from kscope.runs.drive import keeper, slices
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import run_state_at
from kscope.runs.stream import consumers, frames, snapshots, stream_room, streaming
from kscope.runs.stream.routing import websocket_urlpatterns
from kscope.runs.stream.stream_room import StreamMemory, StreamsFull
from tests.record import events_remove
from tests.waiting import HANG_SECONDS
from tests.web.conftest import drive, kept_scenario

pytestmark = pytest.mark.django_db(transaction=True)


def opened(
    run_id: int, query: str = "", headers: list[tuple[bytes, bytes]] | None = None
) -> ApplicationCommunicator:
    scope = {
        "type": "websocket",
        "path": f"/ws/runs/{run_id}/",
        "query_string": query.encode("utf-8", "surrogateescape"),
        "headers": headers or [],
        "subprotocols": [],
    }
    return ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)


@asynccontextmanager
async def watching(run: Run, query: str = "") -> AsyncIterator[ApplicationCommunicator]:
    socket = opened(run.pk, query)
    await socket.send_input({"type": "websocket.connect"})
    assert (await socket.receive_output(timeout=HANG_SECONDS))["type"] == "websocket.accept"
    try:
        yield socket
    finally:
        await socket.send_input({"type": "websocket.disconnect", "code": 1000})
        await socket.wait(timeout=HANG_SECONDS)


async def connected(run: Run) -> ApplicationCommunicator:
    socket = opened(run.pk)
    await socket.send_input({"type": "websocket.connect"})
    assert (await socket.receive_output(timeout=HANG_SECONDS))["type"] == "websocket.accept"
    return socket


def hubs_of(run: Run) -> list[int]:
    return [hub.run_id for hub in streaming.hubs.watched() if hub.run_id == run.pk]


async def message(socket: ApplicationCommunicator, kind: str = "") -> dict[str, Any]:
    while True:
        received = json.loads((await socket.receive_output(timeout=HANG_SECONDS))["text"])
        if kind in ("", received["type"]):
            return received


async def packed_message(socket: ApplicationCommunicator) -> dict[str, Any]:
    received = await socket.receive_output(timeout=HANG_SECONDS)
    return json.loads(zlib.decompress(received["bytes"]))


async def seqs_until(socket: ApplicationCommunicator, last: int) -> list[int]:
    """The seqs of every event up to *last*, read from frames that carry all their events."""
    seen: list[int] = []
    while not seen or seen[-1] < last:
        frame = await message(socket, "frame")
        assert [event["seq"] for event in frame["events"]] == list(
            range(frame["first"], frame["last"] + 1)
        )
        seen += [event["seq"] for event in frame["events"]]
    return seen


@pytest.fixture(autouse=True)
async def tidy() -> AsyncIterator[None]:
    """The thread that answers for the database in async tests keeps its connection otherwise."""
    yield
    await sync_to_async(connections.close_all)()


@pytest.fixture
def crowd(transactional_db: Any) -> Run:
    """A run with some thousand events ahead of it."""
    scenario = kept_scenario(synthetic(nodes=20, pods=400, seed=1))
    return services.run_create(scenario=scenario, play=True, speed="max")


async def test_a_newcomer_gets_the_state_as_it_is(driven: Run) -> None:
    async with watching(driven) as socket:
        snapshot = await message(socket, "snapshot")
    instant = await sync_to_async(run_state_at)(driven, seq=driven.head_seq)
    assert snapshot["seq"] == driven.head_seq
    assert snapshot["state"] == instant.state
    assert snapshot["run"]["status"] == "finished"


async def test_a_packed_snapshot_has_the_same_content(driven: Run) -> None:
    async with watching(driven, "packed=deflate") as packed, watching(driven) as plain:
        received = await packed_message(packed)
        snapshot = await message(plain, "snapshot")
    assert received == {**snapshot, "more": False}


async def test_parts_of_a_snapshot_make_the_whole(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "PART", 3)
    async with watching(driven, "packed=deflate") as packed, watching(driven) as plain:
        first = part = await packed_message(packed)
        state, sizes = dict(first["state"]), [len(first["state"])]
        while part["more"]:
            part = await packed_message(packed)
            state |= part["state"]
            sizes.append(len(part["state"]))
        snapshot = await message(plain, "snapshot")
    assert {**first, "state": state, "more": False} == {**snapshot, "more": False}
    assert sizes[:-1] == [3] * (len(sizes) - 1)
    assert 0 < sizes[-1] <= 3 < sum(sizes)


async def test_a_reader_that_leaves_leaves_others_their_snapshot(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_left = threading.Event()

    def compress(text: bytes, level: int) -> bytes:
        assert is_left.wait(HANG_SECONDS)
        return zlib.compress(text, level)

    monkeypatch.setattr(snapshots, "zlib", SimpleNamespace(compress=compress))
    async with watching(driven, "packed=deflate") as staying:
        async with watching(driven, "packed=deflate"):
            await asyncio.sleep(0.1)
        is_left.set()
        received = await packed_message(staying)
    assert received["seq"] == driven.head_seq


async def test_snapshot_and_frames_fold_to_the_state(crowd: Run) -> None:
    async with watching(crowd) as socket:
        snapshot = await message(socket, "snapshot")
        state: State = snapshot["state"]
        driving = asyncio.create_task(sync_to_async(drive, thread_sensitive=False)(crowd.pk))
        last, status, head = snapshot["seq"], "", 0
        while status != "finished" or last < head:
            received = await message(socket)
            if received["type"] == "run":
                status, head = received["run"]["status"], received["run"]["head"]
            if received["type"] != "frame":
                continue
            assert received["first"] == last + 1
            assert len(received["events"]) + received["omitted"] == received["last"] - last
            fold(state, received["changes"])
            last = received["last"]
        await driving
    run = await Run.objects.aget(pk=crowd.pk)
    assert state == (await sync_to_async(run_state_at)(run, seq=run.head_seq)).state


async def test_a_disconnected_client_sees_each_event_once(crowd: Run) -> None:
    driving = asyncio.create_task(sync_to_async(drive, thread_sensitive=False)(crowd.pk))
    chance, seen, head = Random(4), [0], 0
    while not head or seen[-1] < head:
        async with watching(crowd, f"after={seen[-1]}&events=all") as socket:
            for _ in range(chance.randint(1, 6)):
                received = await message(socket)
                if received["type"] == "frame":
                    seen += [event["seq"] for event in received["events"]]
                elif received["type"] == "run" and received["run"]["status"] == "finished":
                    head = received["run"]["head"]
                if head and seen[-1] >= head:
                    break
    await driving
    assert seen == list(range(len(seen)))
    assert await RunEvent.objects.filter(run=crowd).acount() == seen[-1]


async def test_a_client_slightly_behind_continues_from_its_place(driven: Run) -> None:
    async with watching(driven, "after=5&events=all") as socket:
        seen = await seqs_until(socket, driven.head_seq)
    assert seen == list(range(6, driven.head_seq + 1))


async def test_a_client_far_behind_gets_a_snapshot_instead(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kscope.runs.stream.consumers.FAR_BEHIND", 10)
    async with watching(driven, "after=5") as socket:
        snapshot = await message(socket)
    assert (snapshot["type"], snapshot["seq"]) == ("snapshot", driven.head_seq)


async def test_a_slow_reader_catches_up_from_the_database(
    crowd: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "RING", 2)
    monkeypatch.setattr(streaming, "RANGE", 50)
    async with watching(crowd, "after=0&events=all") as socket:
        await sync_to_async(drive, thread_sensitive=False)(crowd.pk)
        run = await Run.objects.aget(pk=crowd.pk)
        assert await seqs_until(socket, run.head_seq) == list(range(1, run.head_seq + 1))


class SlowReader:
    """A client that takes what it is sent only while `reads` is set; all of it is in `messages`."""

    def __init__(self, run: Run, query: str = "") -> None:
        self.messages: list[dict[str, Any]] = []
        self.reads = asyncio.Event()
        self._inputs: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._inputs.put_nowait({"type": "websocket.connect"})
        scope = {**opened(run.pk, query).scope}
        self._serving = asyncio.create_task(
            URLRouter(websocket_urlpatterns)(scope, self._inputs.get, self._take)
        )

    async def _take(self, sent: dict[str, Any]) -> None:
        if "text" in sent:
            await self.reads.wait()
            self.messages.append(json.loads(sent["text"]))

    async def until(self, done: Any) -> None:
        async with asyncio.timeout(HANG_SECONDS):
            while not done(self.messages):
                await asyncio.sleep(0.01)

    async def leave(self) -> None:
        self._inputs.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await self._serving


@asynccontextmanager
async def read_slowly(run: Run, query: str = "") -> AsyncIterator[SlowReader]:
    """Let it read until it has what there is, then not while *run* is driven to its end."""
    reader = SlowReader(run, query)
    reader.reads.set()
    try:
        async with watching(run) as witness:
            await reader.until(lambda messages: messages)
            reader.reads.clear()
            reader.messages.clear()
            await sync_to_async(drive, thread_sensitive=False)(run.pk)
            run = await Run.objects.aget(pk=run.pk)
            seq = 0
            while seq < run.head_seq:
                seq = (await message(witness)).get("last", 0)
            yield reader
    finally:
        reader.reads.set()
        await reader.leave()


def frames_among(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in messages if each["type"] == "frame"]


async def test_a_slow_reader_gets_missed_events_at_once(
    crowd: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "RANGE", 40)
    async with read_slowly(crowd) as reader:
        [hub] = streaming.hubs.watched()
        last = hub.ring[0].first - 1
        assert len(hub.ring) > 20
        began = await sync_to_async(run_state_at)(await run_of(crowd), seq=last)
        reader.reads.set()
        await reader.until(
            lambda messages: (
                frames_among(messages)[-1:] and (frames_among(messages)[-1]["last"] == hub.last)
            )
        )
    frames = frames_among(reader.messages)
    # One was on its way when the reader fell asleep.
    assert len(frames) <= 2
    state = began.state
    for frame in frames:
        assert frame["first"] == last + 1
        assert len(frame["events"]) + frame["omitted"] == frame["last"] - last
        fold(state, frame["changes"])
        last = frame["last"]
    assert state == hub.state


async def test_a_slow_reader_of_all_events_misses_none(
    crowd: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "RANGE", 40)
    async with read_slowly(crowd, "events=all") as reader:
        [hub] = streaming.hubs.watched()
        first = hub.ring[0].first
        reader.reads.set()
        await reader.until(
            lambda messages: (
                frames_among(messages)[-1:] and (frames_among(messages)[-1]["last"] == hub.last)
            )
        )
    frames = frames_among(reader.messages)
    assert [event["seq"] for frame in frames for event in frame["events"]] == list(
        range(first, hub.last + 1)
    )


async def run_of(run: Run) -> Run:
    return await Run.objects.aget(pk=run.pk)


async def test_a_range_without_composition_becomes_a_snapshot(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(first: Any, second: Any) -> Any:
        raise NotComposable

    monkeypatch.setattr(frames, "compose", refuse)
    async with watching(driven, "after=5") as socket:
        snapshot = await message(socket)
    assert (snapshot["type"], snapshot["seq"]) == ("snapshot", driven.head_seq)


def row(seq: int, changes: str) -> Any:
    return (seq, seq, "k", "pod/a", "c", None, "", None, changes)


def new_hub(run_id: int = 1, memory: StreamMemory | None = None) -> streaming.Hub:
    room = streaming.Room(memory or StreamMemory(1_000_000))
    hub = room.hubs[run_id] = streaming.Hub(run_id, room)
    return hub


def keep_frame(hub: streaming.Hub, seq: int) -> streaming.Hub:
    hub.last = seq
    hub._keep(streaming.Frame(seq, seq, seq, {}, [b"0123456789"]))
    return hub


def test_the_largest_ring_is_shed_first() -> None:
    room = new_hub().room
    large, small = room.hubs[1], streaming.Hub(2, room)
    room.hubs[2] = small
    for seq in range(1, 31):
        keep_frame(large, seq)
    for seq in range(1, 4):
        keep_frame(small, seq)
    room.memory.limit = large.kept_bytes
    keep_frame(small, 4)
    assert (len(large.ring), len(small.ring)) == (1, 4)


def test_too_many_states_refuse_further_watchers() -> None:
    room = new_hub().room
    room.hubs[1].state = {"pod/a": {"phase": "Running"}}
    room.hubs[1]._counts = [[0, 0]]
    room.hubs[1].snapshot()
    room.memory.limit = 100
    with pytest.raises(StreamsFull):
        room.enter(2)


def test_the_ring_drops_old_and_excess_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = new_hub()

    def keep(seq: int) -> list[int]:
        keep_frame(hub, seq)
        return [kept.first for kept in hub.ring]

    size = keep_frame(new_hub(), 1).ring_bytes
    monkeypatch.setattr(streaming, "RING_BYTES", 10 * size)
    for seq in range(1, 31):
        kept = keep(seq)
    assert kept == list(range(21, 31))
    monkeypatch.setattr(streaming, "FAR_BEHIND", 3)
    assert keep(31) == [28, 29, 30, 31]


def test_an_object_deleted_and_recreated_is_one_patch() -> None:
    state: State = {"pod/a": {"phase": "Running", "blocker": {"plugin": "x", "unit": "cpu"}}}
    behind = copy.deepcopy(state)
    rows = [
        row(1, '{"pod/a": {"blocker": null}}'),
        row(2, '{"pod/a": {"blocker": {"plugin": "y"}}}'),
        row(3, '{"pod/b": {"phase": "Pending"}}'),
        row(4, '{"pod/b": null, "pod/a": null}'),
        row(5, '{"pod/a": {"node": "n"}}'),
    ]
    frames = [streaming.frame_folded(rows[:2], state), streaming.frame_folded(rows[2:], state)]
    one_by_one = copy.deepcopy(behind)
    for frame in frames:
        fold(one_by_one, frame.changes)
    joint = streaming.frames_joined(frames, state)
    fold(behind, joint.changes)
    assert one_by_one == behind == state == {"pod/a": {"node": "n"}}
    assert (joint.first, joint.last) == (1, 5)
    assert [orjson.loads(event)["seq"] for event in joint.events] == [1, 2, 3, 4, 5]


async def test_a_missing_run_closes_the_socket(transactional_db: Any) -> None:
    socket = opened(999)
    await socket.send_input({"type": "websocket.connect"})
    assert (await socket.receive_output(timeout=HANG_SECONDS))["type"] == "websocket.accept"
    closed = await socket.receive_output(timeout=HANG_SECONDS)
    assert (closed["type"], closed["code"]) == ("websocket.close", 4404)
    await socket.send_input({"type": "websocket.disconnect", "code": 4404})
    await socket.wait(timeout=HANG_SECONDS)


async def test_readers_restart_when_the_run_was_rewound(driven: Run) -> None:
    async with watching(driven) as socket:
        shown = await message(socket, "snapshot")
        earlier = shown["seq"] - 3
        await sync_to_async(events_remove)(driven.pk, lambda seq: seq > earlier)
        await Run.objects.filter(pk=driven.pk).aupdate(head_seq=earlier)
        anew = await message(socket, "snapshot")
    assert anew["seq"] == earlier
    await driven.arefresh_from_db()
    instant = await sync_to_async(run_state_at)(driven, seq=earlier)
    assert anew["state"] == instant.state


async def test_a_stopping_hub_ends_despite_news(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []

    async def read(self: streaming.Hub, link: Any) -> bool:
        reads.append(1)
        return False

    async def nothing(*_: Any) -> None:
        pass

    monkeypatch.setattr(streaming.Hub, "_load", nothing)
    monkeypatch.setattr(streaming.Hub, "_read", read)
    monkeypatch.setattr(stream_room.HeadNews, "_listen", nothing)
    monkeypatch.setattr(stream_room.Links, "link", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(streaming, "FRAME_SECONDS", 0.0)
    hub = new_hub()
    hub.start()
    while not reads:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    hub.room.news.follow(1).set()
    stopping = asyncio.create_task(hub.stop())
    # Not wait_for, which would cancel a second time.
    done, _ = await asyncio.wait([stopping], timeout=5)
    assert done


async def test_the_hub_ends_with_its_last_watcher(driven: Run) -> None:
    async with watching(driven) as socket:
        await message(socket, "snapshot")
        assert len(streaming.hubs.watched()) == 1
    assert streaming.hubs.watched() == []


def test_a_recreated_pod_splits_a_readers_range() -> None:
    rows = [
        row(1, '{"pod/a": null}'),
        row(2, '{"pod/a": {"phase": "Pending"}}'),
        row(3, '{"pod/a": {"node": "n"}}'),
    ]
    frames = streaming.frames_composed(rows)
    assert [(frame.first, frame.last) for frame in frames] == [(1, 1), (2, 3)]
    assert frames[1].changes == {"pod/a": {"phase": "Pending", "node": "n"}}


async def test_an_idle_connection_has_a_heartbeat(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", 0.01)
    async with watching(driven) as socket:
        assert await message(socket, "heartbeat") == {"type": "heartbeat"}


async def test_a_failing_hub_says_so_in_its_heartbeat(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(streaming, "STALLED_SECONDS", 0.0)
    async with watching(driven) as socket:
        assert await message(socket, "heartbeat") == {"type": "heartbeat", "stalled": True}


async def test_a_reader_that_stops_answering_is_dropped(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(consumers, "DEAF_SECONDS", 0.05)
    socket = await connected(driven)
    await message(socket, "heartbeat")
    monkeypatch.setattr(consumers, "FAREWELL_SECONDS", 0.05)
    await socket.send_input({"type": "websocket.receive", "text": "{}"})
    while (sent := await socket.receive_output(timeout=HANG_SECONDS))["type"] == "websocket.send":
        pass
    assert (sent["type"], sent["code"]) == ("websocket.close", consumers.TOO_SLOW)
    await socket.wait(timeout=HANG_SECONDS)
    assert hubs_of(driven) == []


async def test_a_reader_that_never_answers_is_kept(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(consumers, "DEAF_SECONDS", 0.05)
    async with watching(driven) as socket:
        for _ in range(20):
            await message(socket, "heartbeat")


async def test_a_reader_that_takes_no_message_is_dropped(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "DEAF_SECONDS", 0.05)
    monkeypatch.setattr(consumers, "FAREWELL_SECONDS", 0.05)

    async def stuck(*_: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(consumers.RunConsumer, "send", stuck)
    socket = await connected(driven)
    await socket.wait(timeout=HANG_SECONDS)
    assert hubs_of(driven) == []


async def test_a_dropped_reader_loses_its_pending_messages(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "DEAF_SECONDS", 0.05)
    monkeypatch.setattr(consumers, "FAREWELL_SECONDS", 0.05)

    async def stuck(*_: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(consumers.RunConsumer, "send", stuck)
    cut: list[bool] = []
    scope = {**opened(driven.pk).scope, "kscope.abort": lambda: cut.append(True)}
    socket = ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)
    await socket.send_input({"type": "websocket.connect"})
    await socket.wait(timeout=HANG_SECONDS)
    assert cut == [True]


@pytest.mark.parametrize("query", ["after=%FF", "after=" + "9" * 30, "\udcff=1"])
async def test_a_query_of_nonsense_gets_a_snapshot(driven: Run, query: str) -> None:
    async with watching(driven, query) as socket:
        assert (await message(socket, "snapshot"))["seq"] == driven.head_seq


async def told_of(socket: ApplicationCommunicator, worker: str) -> None:
    """Wait until the client is told that the run's worker is at this."""
    while (await message(socket, "run"))["run"]["worker"] != worker:
        pass


async def test_run_without_a_worker_is_shown_as_waiting(start: Callable[..., Run]) -> None:
    run = await sync_to_async(start)(play=True)
    async with watching(run) as socket:
        assert (await message(socket, "snapshot"))["run"]["worker"] == "waiting"
        assert await sync_to_async(slices.lease_take)(run.pk, "a worker") == 1
        await told_of(socket, "building")
        # As it stands three seconds after the worker was killed.
        await Run.objects.filter(pk=run.pk).aupdate(
            lease_until=Now() + timedelta(seconds=2), is_started=True
        )
        await told_of(socket, "waiting")


def test_run_between_two_turns_is_not_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    hub, now = new_hub(), [100.0]
    monkeypatch.setattr(streaming.time, "monotonic", lambda: now[0])
    assert hub._worker("waiting", was_given_back=True) == "driving"
    assert hub._worker("waiting", was_given_back=False) == "waiting"
    now[0] += 2 * streaming.BRIEFLY_SECONDS
    assert hub._worker("waiting", was_given_back=True) == "waiting"
    assert hub._worker("driving", was_given_back=False) == "driving"
    assert hub._worker("waiting", was_given_back=True) == "driving"


def test_a_dead_worker_is_noticed_within_three_seconds() -> None:
    assert leases.SILENT_SECONDS + streaming.POLL_SECONDS <= 3.0
    assert keeper.RENEWAL_SECONDS + keeper.LOOK_SECONDS < leases.SILENT_SECONDS
