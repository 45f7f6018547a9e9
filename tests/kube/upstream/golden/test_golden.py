"""Specs of upstream's suite that have passed are answered as they were, without the suite."""

import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections

from kscope.runs.app_registry import registry
from kscope.runs.drive.committer import writer_close
from kscope.runs.drive.hosting.loop import Loop
from kscope.runs.models import Run
from kscope.runs.services import run_delete
from kube.clusters.answers import Answers
from kube.server.watches.changes import Changes
from kube.server.watches.endpoints import EndpointsWatcher
from kube.server.watches.feed import Feed
from kube.server.watches.watching import Watcher
from tests.kube.server.client import Kube
from tests.kube.upstream.golden.playing import Player
from tests.kube.upstream.golden.steps import Golden, goldens_kept
from tests.kube.upstream.recorder import BEGINS_SECONDS
from tests.kube.upstream.trying import DECIDES, scenario
from tests.samples import one_of_each
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
    writer_close()


class Followed:
    """The feed of one watch, and the event up to which the watch has told it."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.told = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._feed, name)

    async def after(self, cursor: int) -> AsyncIterator[Changes]:
        async for changes in self._feed.after(cursor):
            yield changes
            cursor = changes.upto
        self.told = cursor


class Watches:
    """The watches that have begun, as far as each has told its run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._begun = 0
        self._open: list[Followed] = []
        for kind in (Watcher, EndpointsWatcher):
            monkeypatch.setattr(kind, "texts", self._followed(kind.texts))

    def _followed(self, texts: Callable[..., AsyncGenerator[bytes]]) -> Any:
        async def followed(watcher: Any, feed: Feed, *rest: Any) -> AsyncGenerator[bytes]:
            place = Followed(feed)
            self._begun += 1
            self._open.append(place)
            try:
                async for text in texts(watcher, place, *rest):
                    yield text
            finally:
                self._open.remove(place)

        return followed

    async def have_told(self, run: int, count: int) -> bool:
        """Whether *count* watches have begun, and those that are open have told all of the run."""
        head = await Run.objects.values_list("head_seq", flat=True).aget(pk=run)
        return self._begun >= count and all(one.told >= head for one in self._open)


@pytest.fixture
async def play(drivers: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Play]:
    """Plays what was said on a run of its own."""
    watches = Watches(monkeypatch)
    made: list[Kube] = []
    runs: list[int] = []

    async def played(golden: Golden) -> list[str]:
        answers = Answers("http://localhost")
        files = [("scenario.yaml", scenario(golden.name, is_scripted=golden.is_scripted))]
        options: dict[str, Any] = {**DECIDES, "external_scheduler": False}
        run = (await sync_to_async(answers.create)(files, options))["run"]
        runs.append(run)
        begins = datetime.fromisoformat(golden.begins)
        await Run.objects.filter(pk=run).aupdate(created=begins)

        async def move(at: float) -> None:
            await sync_to_async(answers.move)(run, round(at * _SECOND))

        await move(BEGINS_SECONDS)
        made.append(Kube(run))
        have_told = partial(watches.have_told, run)
        return await Player(made[-1], move, have_told, BEGINS_SECONDS).play(golden.steps)

    yield played
    for one in made:
        await one.close()
    # The driver would keep them for a while, as clients may come back.
    for run in await sync_to_async(list)(Run.objects.filter(pk__in=runs)):
        await sync_to_async(run_delete)(run=run)
    await sync_to_async(connections.close_all)()


def subject(name: str) -> str:
    """What a spec is about: its words before what should be, and before its tags."""
    return re.split(r" \[| should ", name)[0]


@pytest.mark.parametrize("name", one_of_each(goldens_kept(), subject), ids=str)
async def test_spec_is_answered_as_it_was_recorded(name: str, play: Play) -> None:
    wrong = await play(goldens_kept()[name])
    assert not wrong, "\n".join(wrong)
