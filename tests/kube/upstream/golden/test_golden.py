"""Specs of upstream's suite that have passed are answered as they were, without the suite."""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections

from kscope.runs.app_registry import registry
from kscope.runs.drive.hosting.loop import Loop
from kscope.runs.models import Run
from kube.clusters.answers import Answers
from tests.kube.server.client import Kube
from tests.kube.upstream.golden.playing import Player
from tests.kube.upstream.golden.steps import Golden, goldens_kept
from tests.kube.upstream.recorder import BEGINS_SECONDS
from tests.kube.upstream.trying import DECIDES, scenario
from tests.web.conftest import answer_here

pytestmark = pytest.mark.django_db(transaction=True)

_SECOND = 1_000_000_000
Play = Callable[[Golden], Awaitable[list[str]]]


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A thread drives runs."""
    loop = Loop(is_alone=False)

    def drive() -> None:
        try:
            loop.run(forever=True)
        finally:
            connection.close()

    thread = threading.Thread(target=drive)
    monkeypatch.setattr(registry, "enqueue", lambda run_id: loop.put(partial(loop.adopt, run_id)))
    answer_here(monkeypatch)
    thread.start()
    yield
    loop.end()
    thread.join()


@pytest.fixture
async def play(drivers: None) -> AsyncIterator[Play]:
    """Plays what was said on a run of its own."""
    made: list[Kube] = []

    async def played(golden: Golden) -> list[str]:
        answers = Answers("http://localhost")
        files = [("scenario.yaml", scenario(golden.name, is_scripted=golden.is_scripted))]
        options: dict[str, Any] = {**DECIDES, "external_scheduler": False}
        run = (await sync_to_async(answers.create)(files, options))["run"]

        begins = datetime.fromisoformat(golden.begins)
        await Run.objects.filter(pk=run).aupdate(created=begins)

        async def move(at: float) -> None:
            await sync_to_async(answers.move)(run, round(at * _SECOND))

        await move(BEGINS_SECONDS)
        made.append(Kube(run))
        return await Player(made[-1], move, BEGINS_SECONDS).play(golden.steps)

    yield played
    for one in made:
        await one.close()
    await sync_to_async(connections.close_all)()


@pytest.mark.parametrize("name", goldens_kept(), ids=str)
async def test_spec_is_answered_as_it_was_recorded(name: str, play: Play) -> None:
    wrong = await play(goldens_kept()[name])
    assert not wrong, "\n".join(wrong)
