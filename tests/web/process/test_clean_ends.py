"""Clients that leave, frames that are no text, unknown sockets, full disks: no tracebacks."""

import asyncio
import errno
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from channels.routing import URLRouter
from django.core.exceptions import RequestAborted
from django.test import RequestFactory
from starlette.requests import ClientDisconnect
from uvicorn.protocols.utils import ClientDisconnected

from kscope.failures.clean_ends import clean_ends
from kscope.failures.unavailable import handle_server_error
from kscope.logs import ClientsFaults
from kscope.runs.capacity.sending import abort_of
from kscope.runs.stream import consumers
from kscope.runs.stream.routing import websocket_urlpatterns

Application = Callable[[Any, Any, Any], Awaitable[None]]


def raising(problem: BaseException, *, reads: bool = False) -> Application:
    """An application that ends so, after it has read what the client sent."""

    async def application(_scope: Any, receive: Any, _send: Any) -> None:
        if reads:
            await receive()
        raise problem

    return application


async def served(application: Application, *, path: str = "/", said: str = "") -> list[Any]:
    """What the server is given by the application, for a client that said a message of this type."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": said}

    async def send(message: Any) -> None:
        sent.append(message)

    await clean_ends(application)({"type": "http", "path": path}, receive, send)
    return sent


@pytest.mark.parametrize("problem", [ClientDisconnect(), ClientDisconnected(), RequestAborted()])
async def test_a_client_that_leaves_is_no_error(problem: Exception) -> None:
    assert await served(raising(problem)) == []


async def test_break_after_the_client_left_is_no_error() -> None:
    broken = raising(KeyError("half an answer"), reads=True)
    assert await served(broken, said="http.disconnect") == []


async def test_a_mistake_is_still_raised() -> None:
    with pytest.raises(KeyError):
        await served(raising(KeyError("a mistake"), reads=True), said="http.request")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
async def test_body_without_room_is_answered_with_507(number: int) -> None:
    full = raising(OSError(number, "No space left on device"))
    start, body = await served(full, path="/api/v1/scenarios/")
    assert start["status"] == 507
    assert "disk of this server is full" in json.loads(body["body"])["detail"]
    assert (await served(full))[1]["body"].startswith(b"The disk of this server is full")


def test_view_that_finds_no_room_answers_with_507(rf: RequestFactory) -> None:
    try:
        raise OSError(errno.ENOSPC, "No space left on device")
    except OSError:
        answer = handle_server_error(rf.get("/api/v1/runs/"))
    assert (answer.status_code, answer.get("Retry-After")) == (507, None)
    assert "try again once there is room" in json.loads(answer.content)["detail"]  # type: ignore[attr-defined]


async def test_connections_can_still_be_cut_off() -> None:
    class Server:
        transport = type("Transport", (), {"abort": lambda _: cut.append(True)})()

        async def send(self, message: Any) -> None:
            pass

    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        abort_of(send)()

    cut: list[bool] = []
    await clean_ends(application)({"type": "http", "path": "/"}, None, Server().send)
    assert cut == [True]


async def test_a_socket_at_an_unknown_address_gets_404() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/ws/unknown/", "headers": []}
    await URLRouter(websocket_urlpatterns)(scope, receive, send)
    assert sent[0]["status"] == 404


def test_frame_without_text_is_one_quiet_line() -> None:
    found = logging.makeLogRecord(
        {
            "msg": "Invalid UTF-8 sequence received from client.",
            "levelno": 40,
            "exc_info": (1, 2, 3),
        }
    )
    assert ClientsFaults().filter(found)
    assert (found.levelname, found.exc_info) == ("INFO", None)


def test_other_errors_of_the_server_stay_loud() -> None:
    found = logging.makeLogRecord({"msg": "Exception in ASGI application", "exc_info": (1, 2, 3)})
    assert ClientsFaults().filter(found)
    assert found.exc_info == (1, 2, 3)


@pytest.mark.parametrize("problem", [ClientDisconnected(), RuntimeError("after websocket.close")])
async def test_closed_connection_is_a_reader_that_is_gone(
    problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def closed(*_: Any, **__: Any) -> None:
        raise problem

    consumer = consumers.RunConsumer()
    consumer.scope = {}
    monkeypatch.setattr(consumer, "send", closed)
    monkeypatch.setattr(consumer, "close", closed)
    with pytest.raises(consumers.ReaderGone):
        await consumer._say("a frame")
    await asyncio.wait_for(consumer._close(consumers.TRY_AGAIN), 60)
