"""A client of the Kubernetes API of a run, which speaks to the application without a socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from asgiref.testing import ApplicationCommunicator

from kube.server.application import Server, kubernetes_api
from tests.waiting import HANG_SECONDS

JSON = "application/json"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
# How what stands behind the API answers.
NOT_OURS = 418


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def names(self) -> list[str]:
        """Of the objects of a list."""
        return [one["metadata"]["name"] for one in self.json["items"]]


async def not_ours(scope: Any, receive: Any, send: Any) -> None:
    """What stands behind the API."""
    await send({"type": "http.response.start", "status": NOT_OURS, "headers": []})
    await send({"type": "http.response.body", "body": b""})


class Kube:
    """Asks the API of one run, now or, with *instant*, in its past."""

    def __init__(self, run_id: int, instant: str = "") -> None:
        self.root = f"/k8s/runs/{run_id}@{instant}" if instant else f"/k8s/runs/{run_id}"
        self.server = Server()
        self._application = kubernetes_api(not_ours, self.server)

    async def close(self) -> None:
        await self.server.close()

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = JSON,
        **headers: str,
    ) -> Answer:
        """The whole answer to a request; *body* is bytes, or becomes JSON."""
        content = body if isinstance(body, bytes) else b"" if body is None else _json(body)
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = self._scope(method, path, {"content-type": content_type, **headers})
        async with asyncio.timeout(HANG_SECONDS):
            await self._application(scope, _receive(content, asyncio.Event()), send)
        start = next(one for one in sent if one["type"] == "http.response.start")
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], found, b"".join(one.get("body", b"") for one in sent))

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.ask("GET", path, **headers)

    async def leave(self, method: str, path: str, content: bytes) -> list[dict[str, Any]]:
        """What is answered to a client that leaves in the midst of its body."""
        given: list[dict[str, Any]] = [
            {"type": "http.request", "body": content, "more_body": True},
            {"type": "http.disconnect"},
        ]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return given.pop(0)

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = self._scope(method, path, {"content-type": JSON})
        async with asyncio.timeout(HANG_SECONDS):
            await self._application(scope, receive, send)
        return sent

    @asynccontextmanager
    async def socket(self, path: str, *protocols: str) -> AsyncIterator["Socket"]:
        """A WebSocket, once it was accepted or refused."""
        scope = {
            **self._scope("GET", path, {}),
            "type": "websocket",
            "subprotocols": [*protocols],
            "extensions": {"websocket.http.response": {}},
        }
        communicator = ApplicationCommunicator(self._application, scope)
        await communicator.send_input({"type": "websocket.connect"})
        yield Socket(communicator, await communicator.receive_output(HANG_SECONDS))
        await communicator.send_input({"type": "websocket.disconnect", "code": 1001})
        await communicator.wait(HANG_SECONDS)

    @asynccontextmanager
    async def watching(self, path: str) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """The events of a watch, as they come."""

        async def events(lines: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any]]:
            async for line in lines:
                yield json.loads(line)

        async with self.reading(path) as lines:
            yield events(lines)

    @asynccontextmanager
    async def reading(self, path: str, **headers: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of an answer, as they come."""
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        left = asyncio.Event()

        async def send(message: dict[str, Any]) -> None:
            for line in message.get("body", b"").splitlines():
                lines.put_nowait(line)

        async def received() -> AsyncIterator[bytes]:
            while (line := await lines.get()) is not None:
                yield line

        served = asyncio.create_task(
            self._application(self._scope("GET", path, headers), _receive(b"", left), send)
        )
        served.add_done_callback(lambda _: lines.put_nowait(None))
        try:
            async with asyncio.timeout(HANG_SECONDS):
                yield received()
        finally:
            left.set()
            served.cancel()
            await asyncio.gather(served, return_exceptions=True)

    def _scope(self, method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
        parts = urlsplit(self.root + path)
        given = {"host": "localhost", "accept": JSON, **headers}
        return {
            "type": "http",
            "method": method,
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "headers": [
                (name.replace("_", "-").encode(), value.encode()) for name, value in given.items()
            ],
            "client": ("127.0.0.1", 40_000),
            "server": ("localhost", 80),
            "scheme": "http",
            "root_path": "",
        }


@dataclass(frozen=True)
class Socket:
    """A WebSocket; *first* is how the server answered the handshake."""

    communicator: ApplicationCommunicator
    first: dict[str, Any]

    async def send(self, frame: str | bytes) -> None:
        name = "text" if isinstance(frame, str) else "bytes"
        await self.communicator.send_input({"type": "websocket.receive", name: frame})

    async def receive(self) -> dict[str, Any]:
        """The next event, of a frame of text."""
        frame = await self.communicator.receive_output(HANG_SECONDS)
        assert frame["type"] == "websocket.send", frame
        return json.loads(frame["text"])


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()


def _receive(content: bytes, left: asyncio.Event) -> Any:
    """What a client sends: a body, and, once it has left, that it has."""
    given = iter([{"type": "http.request", "body": content, "more_body": False}])

    async def receive() -> dict[str, Any]:
        if message := next(given, None):
            return message
        await left.wait()
        return {"type": "http.disconnect"}

    return receive
