"""Bounds of a web process that need a database: lists, waits, exports, connections."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kscope.runs import services
from kscope.runs.capacity import connections as web_connections
from kscope.runs.capacity import waiting
from kscope.runs.contents import document_of
from kscope.runs.models import Command, Run, Scenario
from kscope.runs.selectors import EventFilter
from kscope.runs.stream import export
from kscope.runs.stream.stream_room import CONNECTIONS, Links
from kscope.up import supervisor
from tests.waiting import HANG_SECONDS

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
    first = client.get("/api/v1/runs/?limit=2").json()
    assert [run["id"] for run in first["items"]] == [ids[2], ids[1]]
    second = client.get(f"/api/v1/runs/?limit=2&continue={first['continue']}").json()
    assert ([run["id"] for run in second["items"]], second["continue"]) == ([ids[0]], None)


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


async def test_exports_of_one_account_leave_places(start: Start) -> None:
    run = await sync_to_async(start)()
    query = await sync_to_async(export.event_query)(
        run, EventFilter(), descending=False, limit=None
    )
    one, other = ("1.1.1.1", "account 1"), ("2.2.2.2", "account 2")
    for _ in range(export.AT_ONCE // 2):
        await export._turns().take(one)
    waiting = asyncio.ensure_future(anext(export.event_lines(query, "ndjson", one), b"none"))
    assert await anext(export.event_lines(query, "ndjson", other), b"none") == b"none"
    assert not waiting.done()
    export._turns().give_back(one)
    assert await asyncio.wait_for(waiting, HANG_SECONDS) == b"none"
    await sync_to_async(connections.close_all)()


def test_new_run_leaves_the_objects_of_its_scenario(start: Start, scenario: Scenario) -> None:
    with CaptureQueriesContext(connections["default"]) as asked:
        run = services.run_create(scenario=scenario)
        assert services.run_fork(run=run).name == run.name
    assert not [one for one in asked if "piece" in one["sql"]]
    assert set(document_of(scenario)) - set(scenario.header) == {"objects", "steps"}


@pytest.mark.parametrize("page", ["runs/scenario", "runs/run", "runs/command"])
def test_the_admin_reads_nothing_large(admin_client: Client, start: Start, page: str) -> None:
    services.command_submit(run=start(), body={"verb": "cordon", "object": "node/n1"})
    with CaptureQueriesContext(connections["default"]) as asked:
        assert admin_client.get(f"/admin/{page}/").status_code == 200
    large = [one for one in asked if re.search(r'"(lines|body)"', one["sql"])]
    assert large == []


def test_every_start_of_the_web_process_bounds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda _application, **given: asked.update(given))
    monkeypatch.setattr(sys, "argv", ["web", "127.0.0.1", "8000"])
    web_connections.serve()
    assert (asked["ws_max_size"], asked["limit_concurrency"]) == (16_384, 4_096)
    assert asked["http"] is web_connections.HttpProtocol
    for name in ("docker-compose.yml", "Dockerfile", "bench/servers.py"):
        words = re.sub(r'[",\\\s]+', " ", (ROOM / name).read_text())
        assert "--ws-max-size 16384 --limit-concurrency 4096" in words, name
        assert "--http kscope.runs.capacity.connections:HttpProtocol" in words, name
