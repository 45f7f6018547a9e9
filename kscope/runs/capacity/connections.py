"""HTTP connections whose clients send slowly, or open too many.

uvicorn waits for a head for ever, and keeps whatever comes of it. So `--http` names the protocol
here, which is uvicorn's with three bounds: how long a head may take (that of a WebSocket, too), how
long it may be, and how many connections one address may have. Bytes that a client still sends after its
answer are thrown away for a while, so that it comes to read the answer.

How fast the body of a request must come is bounded where it is asked for: see `web.body_limit`.
"""

import asyncio
import sys
from collections import Counter
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
HEAD_BYTES = 65_536
REST_SECONDS = 30.0  # of a body whose request was answered without it
_REFUSAL = (
    b"HTTP/1.1 %s\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
)


class HttpProtocol(HttpToolsProtocol):
    """One connection."""

    _open: ClassVar[Counter[str]] = Counter()  # by address, WebSockets apart

    def connection_made(self, transport: Any) -> None:
        """See asyncio. Refuses an address that has three quarters of all connections."""
        super().connection_made(transport)
        self._is_in_head, self._head_bytes = False, 0
        self._waiting: asyncio.TimerHandle | None = None
        self._address: str | None = self.client[0] if self.client else ""
        self._open[self._address] += 1
        limit = self.limit_concurrency
        if limit is not None and self._open[self._address] > limit * 3 // 4:
            self._refuse(b"503 Service Unavailable", b"This address has too many connections.\n")
        else:
            self._wait(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio. Whatever comes between two requests is to become a head soon."""
        super().data_received(data)
        if self._address is None or self.transport.is_closing():
            return
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                words = b"The head of a request may hold %d bytes.\n" % HEAD_BYTES
                self._refuse(b"431 Request Header Fields Too Large", words)
        if self._waiting is None and (self.cycle is None or self.cycle.response_complete):
            has_rest = self.cycle is not None and self.cycle.more_body
            self._wait(REST_SECONDS if has_rest else HEAD_SECONDS)

    def on_message_begin(self) -> None:
        """See httptools."""
        super().on_message_begin()
        self._is_in_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        """See httptools."""
        self._is_in_head = False
        self._wait_no_longer()
        super().on_headers_complete()

    def handle_websocket_upgrade(self) -> None:
        """See uvicorn: from here on, another protocol has the connection."""
        self._leave()
        super().handle_websocket_upgrade()

    def _wait(self, seconds: float) -> None:
        self._waiting = self.loop.call_later(seconds, self.transport.abort)

    def _wait_no_longer(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _leave(self) -> None:
        """Count the connection no longer."""
        self._wait_no_longer()
        if self._address is not None:
            self._open[self._address] -= 1
            if not self._open[self._address]:
                del self._open[self._address]
            self._address = None

    def _refuse(self, status: bytes, words: bytes) -> None:
        self.transport.write(_REFUSAL % (status, len(words), words))
        self.transport.close()


def serve() -> None:
    """Be the web process of `up`, at the host and port of the words, with kscope's own log."""
    host, port = sys.argv[1:]
    uvicorn.run(
        "kscope.asgi:application",
        host=host,
        port=int(port),
        http=HttpProtocol,
        lifespan="off",
        log_config=None,
        access_log=False,
        limit_concurrency=4096,
        # Pages send next to nothing over a socket. Sockets are bounded by kscope itself.
        ws_max_size=16384,
        # Deflating every frame for every client costs more than loopback ever saves.
        ws_per_message_deflate=False,
        # Sockets of open pages do not close by themselves.
        timeout_graceful_shutdown=1,
    )
