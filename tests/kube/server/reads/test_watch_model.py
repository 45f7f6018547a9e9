"""Random clients and watchers of a run that plays, pauses, finishes and is forked, by the model of
tests/chaos/history: no change is missing, comes twice or out of order, and versions only rise.

Here nothing is killed: `make soak` does that with the same clients.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Queue
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from kscope.runs.models import Run
from kscope.runs.services import run_fork, run_transport
from tests.chaos.history.clock import Clock
from tests.chaos.history.link import Answer, Link
from tests.chaos.history.registers import Registers
from tests.kube.server.client import JSON, Kube
from tests.web.conftest import driving, unused

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkHere(Link):
    """The API of a run in this process."""

    kube: Kube
    loop: asyncio.AbstractEventLoop = field(repr=False)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        given = {name.lower(): value for name, value in headers.items()}
        asked = self.kube.ask(
            method, path, body, content_type=given.pop("content_type", JSON), **given
        )
        answer = asyncio.run_coroutine_threadsafe(asked, self.loop).result()
        after = answer.headers.get("retry-after")
        return Answer(answer.status, int(after) if after else None, answer.json)

    def lines(self, path: str) -> Iterator[tuple[int, Any]]:
        found: Queue[bytes | None] = Queue()

        async def read() -> None:
            try:
                async with self.kube.reading(path) as lines:
                    async for line in lines:
                        found.put(line)
            finally:
                found.put(None)

        reading = asyncio.run_coroutine_threadsafe(read(), self.loop)
        try:
            while (line := found.get()) is not None:
                event = json.loads(line)
                yield event["code"] if event.get("kind") == "Status" else 200, event
        finally:
            reading.cancel()


@contextmanager
def served() -> Iterator[Callable[[Run], LinkHere]]:
    """Makes links to runs, whose requests are answered on a loop of their own."""
    loop, made = asyncio.new_event_loop(), list[Kube]()

    def link(run: Run) -> LinkHere:
        made.append(Kube(run.pk))
        return LinkHere(ports=(), run=run.pk, kube=made[-1], loop=loop)

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield link
    finally:
        ends = [*(one.close() for one in made), sync_to_async(connections.close_all)()]
        for one in ends:
            asyncio.run_coroutine_threadsafe(one, loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def moves_of(run: Run) -> dict[str, Callable[[], object]]:
    """What may happen to the clock of a run."""

    def move(**change: Any) -> Callable[[], object]:
        def do() -> None:
            run_transport(run=Run.objects.get(pk=run.pk), **change)
            connections.close_all()

        return do

    def leave() -> None:
        """Nobody uses it for a while, so that it finishes; the next write sets it going again."""
        unused(run.pk)
        connections.close_all()

    return {
        "play": move(action="play"),
        "pause": move(action="pause"),
        "hurry": move(action="speed", speed=Run.Speed.MAX),
        "keep up": move(action="speed", speed=Run.Speed.TEN),
        "leave": leave,
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_watches_of_a_run_miss_nothing(
    runs_here: None, start: Callable[..., Run], seed: int
) -> None:
    run = start(play=True, speed="10")
    with served() as link, driving(run):
        registers, clock = Registers(link(run), seed), Clock(moves_of(run), seed)
        clock.start()
        time.sleep(SECONDS)
        wrong = clock.end()
        moves_of(run)["play"]()
        registers.end()
        parent = Run.objects.get(pk=run.pk)
        fork = run_fork(run=parent, seq=parent.head_seq)
        with driving(fork):
            registers.look_into_fork(link(fork))
        wrong += registers.faults()
        moves_of(run)["hurry"]()  # to its end
    assert not wrong, "\n".join(wrong)
    assert len(registers.history.operations) > 20
    assert len(registers.history.followings) > 3
    assert sum(clock.counts.values()) > 3
