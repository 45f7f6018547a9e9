"""How clients hear what came of their commands: from the slice, or else from the database."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from kscope.runs import nudges
from kscope.runs.models import Run
from kscope.runs.nudges import Outcome
from kube.server.writes import engine_line
from kube.server.writes.engine_line import EngineLine, SliceNews

RUN = 7


class Server:
    """A database that numbers commands from 1, and what it says of them when it is asked."""

    def __init__(self) -> None:
        self.stored = asyncio.Event()
        self.numbered = asyncio.Event()
        self.numbered.set()
        self.rows: list[tuple[int, str, str, int]] = []
        self.asked = 0

    @property
    def links(self) -> "Server":
        return self

    async def submit(self, _run_id: int, commands: Sequence[Any], _pledge: Any) -> list[int]:
        self.stored.set()
        await self.numbered.wait()
        return [number for number, _ in enumerate(commands, 1)]

    @asynccontextmanager
    async def link(self) -> AsyncIterator["Server"]:
        yield self

    async def execute(self, _query: str, _values: Any) -> "Server":
        self.asked += 1
        return self

    async def fetchall(self) -> list[tuple[int, str, str, int]]:
        return self.rows

    async def fetchone(self) -> tuple[str, str]:
        return Run.Status.PLAYING, ""


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(engine_line, "command_prepare", lambda run, body: body)
    monkeypatch.setattr(engine_line, "LOOK_SECONDS", 3600)
    return Server()


@pytest.fixture
async def line(server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EngineLine]:
    """A line that hears the messages that a test lets it hear."""

    async def nothing(_: Any) -> None:
        pass

    monkeypatch.setattr(SliceNews, "_listen", nothing)
    news = SliceNews({})
    line = EngineLine(RUN, cast("Any", server), news)
    line.start()
    yield line
    await line.stop()
    await news.close()


def started(line: EngineLine) -> "asyncio.Task[Outcome]":
    """A client that waits for what comes of its command."""

    async def carried_out() -> Outcome:
        [outcome] = await line.carry_out(Run(pk=RUN), [{}], None)
        return outcome

    return asyncio.create_task(carried_out())


async def test_message_of_a_slice_answers_without_the_database(
    server: Server, line: EngineLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = started(line)
    await server.stored.wait()
    await asyncio.sleep(0)
    mine = Outcome(1, True, "", 12, (13, 12, {"kind": "Pod"}))
    message = published(monkeypatch, Outcome(2, True, "", 4), mine)
    SliceNews({RUN: line}).hear(RUN, message)
    found = await client
    assert (found.seq, found.left) == (12, [13, 12, {"kind": "Pod"}])
    assert server.asked == 0


def published(monkeypatch: pytest.MonkeyPatch, *outcomes: Outcome) -> bytes:
    """The message of a slice with these outcomes."""
    said: list[str] = []
    monkeypatch.setattr(nudges, "_publish", lambda _channel, text: said.append(text))
    nudges.publish_slice(RUN, outcomes)
    return said[0].encode()


def test_long_messages_leave_out_their_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = Outcome(1, True, "", 12, (12, 12, {"data": "x" * nudges.LONGEST_MESSAGE}))
    message = published(monkeypatch, long)
    assert nudges.outcomes_of(message) == [Outcome(1, True, "", 12)]


async def test_slice_may_arrive_before_its_command_is_numbered(
    server: Server, line: EngineLine
) -> None:
    server.numbered.clear()
    client = started(line)
    await server.stored.wait()
    line.hear([Outcome(1, False, "NotFound: there is none", 0)])
    server.numbered.set()
    assert await client == Outcome(1, False, "NotFound: there is none", 0)
    assert server.asked == 0


async def test_the_database_is_asked_when_no_message_comes(
    server: Server, line: EngineLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_line, "LOOK_SECONDS", 0.01)
    await line.stop()
    line.start()
    server.rows = [(1, "applied", "", 9)]
    assert await started(line) == Outcome(1, True, "", 9)
    assert server.asked == 1


async def test_message_about_the_run_makes_the_line_ask(server: Server, line: EngineLine) -> None:
    client = started(line)
    await server.stored.wait()
    server.rows = [(1, "applied", "", 9)]
    line.news.hear(RUN, b"0")
    assert await client == Outcome(1, True, "", 9)
