"""A client of the whole ASGI application, as a server would call it, without a socket."""

from dataclasses import dataclass, field
from typing import Any

from asgiref.testing import ApplicationCommunicator

from tests.waiting import HANG_SECONDS


@dataclass
class Answer:
    """What came back; of each header the last value, and their names as they came."""

    status: int
    headers: dict[str, str]
    names: list[str]
    body: bytes = b""


@dataclass
class Asgi:
    """Asks *application*; *headers* go with each request."""

    application: Any
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(
        self, path: str, method: str = "GET", body: bytes = b"", until: bytes = b"", **headers: str
    ) -> Answer:
        """The answer to a request; "_" in the name of a header stands for "-".

        The client leaves as soon as it has read *until*, if that is given.
        """
        asked, _, query = path.partition("?")
        scope = self._scope("http", asked, query, headers) | {"method": method}
        link = ApplicationCommunicator(self.application, scope)
        await link.send_input({"type": "http.request", "body": body, "more_body": False})
        answer = _answer_of(await link.receive_output(HANG_SECONDS))
        has_more = True
        while has_more and not (until and until in answer.body):
            message = await link.receive_output(HANG_SECONDS)
            answer.body += message.get("body", b"")
            has_more = message.get("more_body", False)
        if has_more:
            await link.send_input({"type": "http.disconnect"})
        await link.wait(HANG_SECONDS)
        return answer

    async def open(self, path: str, **headers: str) -> Answer:
        """What a handshake for a socket is refused with, or 101 and what it is accepted with."""
        asked, _, query = path.partition("?")
        scope = self._scope("websocket", asked, query, headers)
        scope |= {"extensions": {"websocket.http.response": {}}, "subprotocols": []}
        link = ApplicationCommunicator(self.application, scope)
        await link.send_input({"type": "websocket.connect"})
        start = await link.receive_output(HANG_SECONDS)
        if start["type"] == "websocket.accept":
            await link.send_input({"type": "websocket.disconnect", "code": 1000})
            await link.wait(HANG_SECONDS)
            return _answer_of({**start, "status": 101})
        assert start["type"] == "websocket.http.response.start", start
        return _answer_of(start)

    async def frames(self, path: str, **headers: str) -> str:
        """The texts that come over a socket, up to the snapshot of the run."""
        asked, _, query = path.partition("?")
        scope = self._scope("websocket", asked, query, headers) | {"subprotocols": []}
        link = ApplicationCommunicator(self.application, scope)
        await link.send_input({"type": "websocket.connect"})
        texts: list[str] = []
        while not texts or '"snapshot"' not in texts[-1]:
            texts.append((await link.receive_output(HANG_SECONDS)).get("text") or "")
        await link.send_input({"type": "websocket.disconnect", "code": 1000})
        await link.wait(HANG_SECONDS)
        return "\n".join(texts)

    def _scope(self, kind: str, path: str, query: str, headers: dict[str, str]) -> dict[str, Any]:
        given = {"host": "testserver", **self.headers, **headers}
        return {
            "type": kind,
            "http_version": "1.1",
            "scheme": "http" if kind == "http" else "ws",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [
                (name.replace("_", "-").encode(), value.encode()) for name, value in given.items()
            ],
            "client": ("127.0.0.1", 4711),
            "server": ("testserver", 80),
            "extensions": {},
        }


def _answer_of(start: dict[str, Any]) -> Answer:
    pairs = [(name.decode().lower(), value.decode()) for name, value in start.get("headers", ())]
    return Answer(start["status"], dict(pairs), [name for name, _ in pairs])
