"""The clock of a run that clients use: it goes on for them, and says where it stands."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async

from engine.kernel.units import SECOND
from kscope.runs import services
from kscope.runs.models import Run, RunEvent
from tests.kube.server.client import Kube
from tests.waiting import HANG_SECONDS
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@database_sync_to_async
def read(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


@database_sync_to_async
def played(run: Run, action: str = "play", speed: str = "") -> None:
    services.run_transport(run=run, action=action, speed=speed)


@database_sync_to_async
def events(run: Run, upto: int) -> list[Any]:
    found = RunEvent.objects.filter(run=run, seq__lte=upto).order_by("seq")
    return list(found.values_list("seq", "at", "kind", "object", "message"))


async def until(run: Run, holds: Callable[[Run], Any]) -> Run:
    """The run once that holds; the thread that asks the database is free for others meanwhile."""
    async with asyncio.timeout(HANG_SECONDS):
        while not holds(found := await read(run)):
            await asyncio.sleep(0.05)
    return found


async def made(kube: Kube, name: str) -> dict[str, Any]:
    answer = await kube.ask("POST", CONFIG_MAPS, {"metadata": {"name": name}})
    assert answer.status == 201
    return answer.json["metadata"]


async def test_a_write_sets_the_clock_going_again(kube: Kube, driven: Run) -> None:
    await played(driven, "speed", "1")
    with driving(driven):
        assert (await read(driven)).status == "finished"
        await made(kube, "a")
        before = await until(driven, lambda run: run.status == "playing")
        later = await until(driven, lambda run: run.head_at > before.head_at + SECOND)
        assert (later.status, later.head_seq) == ("playing", before.head_seq)
        await made(kube, "b")
        assert (await read(driven)).head_at > later.head_at
        await played(driven, "speed", "max")
    assert (await read(driven)).status == "finished"


async def test_at_full_speed_an_idle_clock_stands(kube: Kube, driven: Run) -> None:
    await played(driven, "speed", "max")
    with driving(driven):
        await made(kube, "a")
        before = await until(driven, lambda run: run.status == "playing" and run.next_at is None)
        await asyncio.sleep(1.5)
        after = await read(driven)
        assert (after.status, after.head_at) == ("playing", before.head_at)


async def test_a_watch_keeps_the_clock_going(
    kube_of: Callable[..., Kube], start: Callable[..., Run], driven: Run
) -> None:
    run = await sync_to_async(start)(play=True, speed="100")
    await database_sync_to_async(Run.objects.filter(pk=run.pk).update)(duration=None)
    async with kube_of(run).watching(f"{CONFIG_MAPS}?watch=1&resourceVersion=0"):
        await until(run, lambda run: run.used_at)
        with driving(run):
            later = await until(run, lambda run: run.head_at > driven.head_at + 200 * SECOND)
            assert later.status == "playing"
            await played(run, "speed", "max")
    assert await events(run, driven.head_seq) == await events(driven, driven.head_seq)


async def test_reading_alone_does_not_keep_a_run(kube: Kube, driven: Run) -> None:
    await kube.get(CONFIG_MAPS)
    assert (await read(driven)).used_at is None


@pytest.mark.parametrize("path", [CONFIG_MAPS, "/version", "/api", "/nothing", "/openapi/v2"])
async def test_every_answer_says_that_the_clock_stands(
    kube_of: Callable[..., Kube], driven: Run, path: str
) -> None:
    finished = (await kube_of(driven).get(path)).headers["warning"]
    assert finished == (
        f'299 - "run {driven.pk} is finished: its clock stands until something is written"'
    )
    await database_sync_to_async(Run.objects.filter(pk=driven.pk).update)(status="paused")
    paused = (await kube_of(driven).get(path)).headers["warning"]
    assert paused.startswith(f'299 - "run {driven.pk} is paused: its clock stands')
    await database_sync_to_async(Run.objects.filter(pk=driven.pk).update)(status="playing")
    assert "warning" not in (await kube_of(driven).get(path)).headers
