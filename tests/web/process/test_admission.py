"""How many requests are served at once, in whose turn, and how their responses are sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.conf import settings

from kscope.runs.capacity import askers, places
from kscope.runs.capacity import requests_at_once as gate
from kscope.runs.capacity.places import Places
from kscope.runs.capacity.requests_at_once import admission, request_key
from kscope.runs.capacity.sending import Sending
from kscope.runs.errors import ApplicationError
from tests.waiting import HANG_SECONDS

Message = dict[str, Any]


def scope(path: str = "/api/v1/runs/", address: str = "1.1.1.1", cookie: str = "") -> Message:
    headers = [(b"cookie", cookie.encode())] if cookie else []
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "client": (address, 1),
        "headers": headers,
    }


class Reader:
    """A client: what it has received, and whether it takes more."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.takes = asyncio.Event()
        self.takes.set()

    async def receive(self) -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: Message) -> None:
        await self.takes.wait()
        self.messages.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


async def request(application: Any, reader: Reader, **where: str) -> None:
    await application(scope(**where), reader.receive, reader.send)


@pytest.fixture
async def busy(
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[tuple[Any, list[str], asyncio.Event]]:
    """An application with one place that serves until it may end, and the paths it has served."""
    monkeypatch.setattr(settings, "WEB_PLACES", 1)
    served: list[str] = []
    may_end = asyncio.Event()

    async def serve(scope: Message, receive: Any, send: Any) -> None:
        await receive()
        served.append(scope["path"])
        await may_end.wait()
        start = {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"Content-Length", b"2")],
        }
        await send(start)
        await send({"type": "http.response.body", "body": b"ok"})

    yield admission(serve), served, may_end
    may_end.set()


async def turns() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_requests_beyond_the_places_wait_for_their_turn(busy: Any) -> None:
    application, served, may_end = busy
    first, second = (
        asyncio.create_task(request(application, Reader(), path=path)) for path in "ab"
    )
    await turns()
    assert served == ["a"]
    may_end.set()
    await asyncio.gather(first, second)
    assert served == ["a", "b"]


async def test_one_busy_address_does_not_delay_another(busy: Any) -> None:
    application, served, may_end = busy
    asked = [
        asyncio.create_task(request(application, Reader(), path=f"a{place}")) for place in range(9)
    ]
    await turns()
    asked.append(asyncio.create_task(request(application, Reader(), path="b", address="2.2.2.2")))
    await turns()
    may_end.set()
    await asyncio.gather(*asked)
    assert served.index("b") <= 2


async def test_long_computations_leave_places_for_other_requests(busy: Any) -> None:
    application, served, may_end = busy
    heavy = [
        asyncio.create_task(request(application, Reader(), path=f"/api/v1/runs/{run}/state/"))
        for run in range(5)
    ]
    light = asyncio.create_task(request(application, Reader()))
    await turns()
    assert served == ["/api/v1/runs/0/state/", "/api/v1/runs/"]
    may_end.set()
    await asyncio.gather(light, *heavy)


async def test_requests_without_a_run_pass_a_busy_run() -> None:
    runs = [request_key(scope(path)) for path in ("/api/v1/runs/7/state/", "/api/v1/runs/")]
    assert runs[0][:3] == runs[1][:3]
    assert [key[3] for key in runs] == ["7", ""]
    assert request_key(scope(cookie="a"))[2] != request_key(scope(cookie="b"))[2]


def test_credentials_that_nobody_accepted_count_as_one_account() -> None:
    invented = [request_key(scope(cookie=f"sessionid={text}"))[1] for text in "abc"]
    assert invented == ["nobody at 1.1.1.1"] * 3


def test_one_account_counts_once_at_all_addresses() -> None:
    for address in ("1.1.1.1", "2.2.2.2"):
        askers.remember(scope(address=address, cookie=f"sessionid={address}"), 7)
    keys = [
        request_key(scope(address=each, cookie=f"sessionid={each}"))
        for each in ("1.1.1.1", "2.2.2.2")
    ]
    assert [key[1] for key in keys] == ["account 7", "account 7"]


async def taken(line: Places, *keys: tuple[str, ...]) -> list[bool]:
    """Which of those who ask for a place have one at once."""
    tasks = [asyncio.ensure_future(line.take(key)) for key in keys]
    await turns()
    found = [task.done() for task in tasks]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return found


async def test_an_account_leaves_half_of_the_places() -> None:
    line = Places(8)
    account = [(str(address), "account 1") for address in range(5)]
    assert await taken(line, *account) == [True] * 4 + [False]
    others = [(str(address), f"account {address}") for address in range(2, 7)]
    assert await taken(line, *others) == [True] * 4 + [False]


async def test_an_address_leaves_a_quarter_of_the_places() -> None:
    line = Places(8)
    accounts = [("1.1.1.1", f"account {number}") for number in range(7)]
    assert await taken(line, *accounts) == [True] * 6 + [False]
    assert await taken(line, ("2.2.2.2", "account 9")) == [True]


async def test_who_has_a_share_waits_for_own_places() -> None:
    line = Places(4)
    one, other = ("1.1.1.1", "account 1"), ("2.2.2.2", "account 2")
    assert await taken(line, one, one) == [True, True]
    third = asyncio.ensure_future(line.take(one))
    await turns()
    assert await taken(line, other) == [True]
    line.give_back(other)
    await turns()
    assert not third.done()
    line.give_back(one)
    await asyncio.wait_for(third, HANG_SECONDS)


async def test_health_stands_outside_the_line(busy: Any) -> None:
    application, served, may_end = busy
    paths = [*"abc", *["/readyz"] * 9]
    asked = [asyncio.create_task(request(application, Reader(), path=each)) for each in paths]
    await turns()
    assert served == ["a", "/readyz", "/readyz"]  # half of its places are left to others
    alive = Reader()
    await request(application, alive, path="/healthz")
    assert (alive.messages[0]["status"], alive.body) == (200, b"ok")
    may_end.set()
    await asyncio.gather(*asked)


async def test_too_many_waiting_requests_are_refused_for_now(busy: Any) -> None:
    application, _, may_end = busy
    readers = [Reader() for _ in range(places.WAITING + 2)]
    asked = [asyncio.create_task(request(application, reader)) for reader in readers]
    await turns()
    start, body = readers[-1].messages
    assert start["status"] == 503
    assert (b"Retry-After", b"2") in start["headers"]
    assert json.loads(body["body"]) == {
        "type": "about:blank",
        "title": "Service Unavailable",
        "status": 503,
        "detail": "kscope is busy; try again in a moment.",
        "retry_after": 2,
    }
    may_end.set()
    await asyncio.gather(*asked)
    assert {reader.body for reader in readers[:-1]} == {b"ok"}


async def test_the_place_of_a_departed_client_is_reused() -> None:
    line = Places(1)
    await line.take(("a",))
    left, stays = (asyncio.create_task(line.take((name,))) for name in "bc")
    await turns()
    line.give_back(("a",))
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    await asyncio.wait_for(stays, 5)


async def test_waiting_too_long_for_a_place_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WAIT_SECONDS", 0.01)
    line = Places(1)
    await line.take(("a",))
    with pytest.raises(ApplicationError, match="busy"):
        await line.take(("b",))
    line.give_back(("a",))
    await asyncio.wait_for(line.take(("c",)), 5)


async def test_a_slow_reader_holds_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "WEB_PLACES", 1)
    content = bytes(300_000)

    async def serve(scope: Message, receive: Any, send: Any) -> None:
        await receive()
        length = str(len(content)).encode()
        headers = [(b"Content-Length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    application = admission(serve)
    slow, quick = Reader(), Reader()
    slow.takes.clear()
    waiting = asyncio.create_task(request(application, slow))
    await request(application, quick)
    assert quick.body == content
    slow.takes.set()
    await waiting
    assert slow.body == content
    assert max(len(message.get("body", b"")) for message in slow.messages) == gate.PIECE_BYTES
    assert [message.get("more_body", False) for message in slow.messages[1:]] == [True] * 4 + [
        False
    ]


async def test_a_response_that_streams_holds_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "WEB_PLACES", 1)
    streaming: list[str] = []
    may_end = asyncio.Event()

    async def stream(scope: Message, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()  # listens for the client's leaving
        streaming.append(scope["path"])
        await may_end.wait()

    application = admission(stream)
    several = [asyncio.create_task(request(application, Reader())) for _ in range(3)]
    await turns()
    assert len(streaming) == 3
    may_end.set()
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.gather(*several)


async def test_a_place_that_comes_too_late_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "WEB_PLACES", 1)
    may_start, may_end = asyncio.Event(), asyncio.Event()

    async def serve(scope: Message, receive: Any, send: Any) -> None:
        if scope["path"] == "/streams/":
            listening = asyncio.create_task(receive())
            await turns()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            may_start.set()
            await listening
            await may_end.wait()
        else:
            await receive()
            await may_start.wait()

    application = admission(serve)
    first = asyncio.create_task(request(application, Reader(), path="/first/"))
    await turns()
    streams = asyncio.create_task(request(application, Reader(), path="/streams/"))
    async with asyncio.timeout(HANG_SECONDS):
        await first
        await turns()
        last = Reader()
        await request(application, last, path="/last/")
    assert last.messages == []  # not refused
    assert not streams.done()
    may_end.set()
    await streams


async def test_waiting_for_an_engine_holds_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "WEB_PLACES", 1)
    answered = asyncio.Event()

    async def serve(scope: Message, receive: Any, send: Any) -> None:
        await receive()
        if scope["path"] == "why":
            gate.leave()
            await answered.wait()

    application = admission(serve)
    asking = [asyncio.create_task(request(application, Reader(), path="why")) for _ in range(5)]
    await asyncio.wait_for(request(application, Reader()), 5)
    assert not any(task.done() for task in asking)
    answered.set()
    await asyncio.gather(*asking)


def test_the_slowest_readers_are_cut_off_first() -> None:
    cut: list[str] = []
    sending = Sending(limit=250_000)
    with (
        sending.hold(100_000, lambda: cut.append("a")),
        sending.hold(100_000, lambda: cut.append("b")),
    ):
        assert cut == []
        with sending.hold(100_000, lambda: cut.append("c")):
            assert cut == ["a"]
            assert sending.size == 200_000
    assert (sending.size, sending.readers_cut) == (0, 1)


def test_all_middleware_runs_in_one_go() -> None:
    """The last one decides whether Django changes threads between them."""
    assert settings.MIDDLEWARE[-1] == "kscope.runs.capacity.requests_at_once.OneThreadMiddleware"
    assert not gate.OneThreadMiddleware.async_capable


async def test_one_address_leaves_sockets_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "WEB_SOCKETS", 4)
    may_end = asyncio.Event()

    async def serve(scope: Message, receive: Any, send: Any) -> None:
        await may_end.wait()

    application = admission(serve)
    readers = [Reader() for _ in range(6)]
    addresses = ["1.1.1.1"] * 4 + ["2.2.2.2"] * 2
    asked = [
        asyncio.create_task(
            application({**scope(address=each), "type": "websocket"}, one.receive, one.send)
        )
        for one, each in zip(readers, addresses, strict=True)
    ]
    await turns()
    refused = [one.messages[0]["status"] if one.messages else 0 for one in readers]
    assert refused == [0, 0, 0, 503, 0, 503]
    may_end.set()
    await asyncio.gather(*asked)
