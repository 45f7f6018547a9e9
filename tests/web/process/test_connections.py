"""Connections: heads that come slowly, are too long, or are too many from one address."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn

from kscope.runs.capacity import connections
from kscope.runs.capacity.connections import HEAD_BYTES, HttpProtocol
from tests.waiting import HANG_SECONDS

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
UPGRADE = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answers at once, without the body; a WebSocket stays open."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            pass
        return
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


@contextlib.asynccontextmanager
async def served(**options: Any) -> AsyncIterator[int]:
    """The port at which the application is served."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            application, http=HttpProtocol, lifespan="off", log_level="warning", **options
        )
        server = uvicorn.Server(config)
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        yield listening.getsockname()[1]
        server.should_exit = server.force_exit = True
        await serving


Link = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connected(port: int, *pieces: bytes) -> Link:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"".join(pieces))  # Python 3.13 never closes after an empty piece
    return reader, writer


async def received(link: Link) -> bytes:
    """All that comes until the server closes the connection."""
    found = b""
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(HANG_SECONDS):
            while piece := await link[0].read(65_536):
                found += piece
    link[1].close()
    return found


@pytest.mark.parametrize(
    "head", [b"", b"GET / HT", HEAD, b"\r\n\r\n", HEAD + UPGRADE.removesuffix(b"\r\n")]
)
async def test_head_that_does_not_come_is_not_awaited(
    head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.01)
    async with served() as port:
        assert await received(await connected(port, head)) == b""


async def test_a_rest_that_nobody_reads_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REST_SECONDS", 0.01)
    async with served() as port:
        link = await connected(port, HEAD, b"Content-Length: 999999\r\n\r\nbegun")
        assert b"200 OK" in await link[0].readuntil(b"ok")
        link[1].write(b"goes on")
        assert await received(link) == b""


async def test_a_head_may_only_be_so_long() -> None:
    async with served() as port:
        link = await connected(port, HEAD, b"X-Long: ", b"x" * (2 * HEAD_BYTES))
        assert b"431 " in await received(link)


async def test_requests_after_one_another_are_served() -> None:
    async with served() as port:
        link = await connected(port, HEAD, b"\r\n")
        for _ in range(3):
            await link[0].readuntil(b"ok")
            link[1].writelines([HEAD, b"\r\n"])
        await link[0].readuntil(b"ok")
        link[1].close()


async def test_an_open_socket_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    async with served() as port:
        link = await connected(port, HEAD, UPGRADE)
        assert b"101 " in await link[0].readuntil(b"\r\n\r\n")
        # A head that began after it is given up before it.
        assert await received(await connected(port, b"GET")) == b""
        assert not link[0].at_eof()
        assert not HttpProtocol._open
        link[1].close()


async def test_one_address_leaves_connections_to_others() -> None:
    async with served(limit_concurrency=8) as port:
        links = [await connected(port, HEAD) for _ in range(6)]
        refused = await received(await connected(port, HEAD, b"\r\n"))
        assert b"503 " in refused
        links[0][1].writelines([b"\r\n"])
        assert b"200 OK" in await links[0][0].readuntil(b"ok")
        for _, writer in links:
            writer.close()
