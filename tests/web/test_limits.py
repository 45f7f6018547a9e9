"""Bounds of a web process that need a database: lists, waits, exports, connections."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import Client

from kscope.runs import services
from kscope.runs.capacity import waiting
from kscope.runs.models import Command, Run
from kscope.runs.selectors import EventFilter
from kscope.runs.stream import export
from kscope.runs.stream.stream_room import CONNECTIONS, Links
from kscope.up import supervisor

pytestmark = pytest.mark.django_db(transaction=True)
ROOM = Path(supervisor.__file__).resolve().parents[2]
Start = Callable[..., Run]


@pytest.fixture
async def links() -> AsyncIterator[Links]:
    shared = Links()
    yield shared
    await shared.close()
    await sync_to_async(connections.close_all)()


def test_the_list_of_runs_comes_in_pages(client: Client, start: Start) -> None:
    ids = [start().pk for _ in range(3)]
    first = client.get("/api/runs/?limit=2").json()
    assert [run["id"] for run in first["runs"]] == [ids[2], ids[1]]
    second = client.get(f"/api/runs/?limit=2&before={first['next']}").json()
    assert ([run["id"] for run in second["runs"]], second["next"]) == ([ids[0]], None)


def test_many_requests_do_not_wait_for_workers(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(waiting.MOST):
        waiting._threads.acquire()
    try:
        command = services.command_submit(run=start(), body={"verb": "cordon", "object": "node/n1"})
        answered = services.command_wait(command=command, seconds=3_600)
    finally:
        for _ in range(waiting.MOST):
            waiting._threads.release()
    assert answered.status == Command.Status.PENDING


def test_who_has_waited_makes_room_for_others(start: Start) -> None:
    command = services.command_submit(run=start(), body={"verb": "cordon", "object": "node/n1"})
    for _ in range(2 * waiting.MOST):
        services.command_wait(command=command, seconds=0.0)
    assert waiting._threads.acquire(blocking=False)
    waiting._threads.release()


async def test_streams_share_a_few_connections(links: Links) -> None:
    async with AsyncExitStack() as readings:
        for _ in range(CONNECTIONS):
            await readings.enter_async_context(links.link())
        one_more = asyncio.create_task(readings.enter_async_context(links.link()))
        assert links._pool
        while not links._pool.get_stats().get("requests_waiting"):
            await asyncio.sleep(0.01)
        assert links._pool.get_stats()["pool_size"] == CONNECTIONS
        one_more.cancel()
        await asyncio.wait([one_more])


async def test_an_export_beyond_the_limit_waits(start: Start) -> None:
    run = await sync_to_async(start)()
    query = await sync_to_async(export.event_query)(
        run, EventFilter(), descending=False, limit=None
    )
    for _ in range(export.AT_ONCE):
        await export._turns().acquire()
    lines = asyncio.ensure_future(anext(export.event_lines(query, "ndjson"), b"none"))
    await asyncio.wait([lines], timeout=0.1)
    assert not lines.done()
    export._turns().release()
    assert await asyncio.wait_for(lines, 60) == b"none"
    await sync_to_async(connections.close_all)()


def test_every_start_of_the_web_process_bounds_it() -> None:
    files = ("kscope/up/services.py", "docker-compose.yml", "Dockerfile", "bench/servers.py")
    for name in files:
        words = re.sub(r'[",\\\s]+', " ", (ROOM / name).read_text())
        assert "--ws-max-size 16384 --limit-concurrency 4096" in words, name
        assert "--http kscope.runs.capacity.connections:HttpProtocol" in words, name
