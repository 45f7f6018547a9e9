"""The outermost ASGI application: a request that ends without a mistake of kscope leaves no traceback.

A client may leave at any moment, and the folder for temporary files may be full. Any other
exception reaches the server, which logs it.
"""

import errno
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from django.core.exceptions import RequestAborted
from django.utils.translation import gettext_lazy
from starlette.requests import ClientDisconnect
from starlette.websockets import WebSocketDisconnect
from uvicorn.protocols.utils import ClientDisconnected

from kscope.runs.errors import PROBLEM_JSON, problem

FULL = gettext_lazy("The disk of this server is full: nothing was saved.")
INSUFFICIENT_STORAGE = 507
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_LEFT = (ClientDisconnect, ClientDisconnected, WebSocketDisconnect, RequestAborted)
log = logging.getLogger(__name__)

Message = dict[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[None]]


def is_disk_full(problem: BaseException | None) -> bool:
    """Whether a file could not be written for want of room."""
    return isinstance(problem, OSError) and problem.errno in _DISK_FULL


def clean_ends(application: Application) -> Application:
    """*application*, without tracebacks for clients that leave and for a disk that is full."""

    async def served(scope: dict[str, Any], receive: Any, send: Any) -> None:
        ends = _Ends(receive, send)
        try:
            await application(scope, ends.receive, ends.send)
        except Exception as problem:
            if ends.client_left or isinstance(problem, _LEFT):
                log.debug("%s: its client has left: %r", scope["path"], problem)
            elif is_disk_full(problem) and scope["type"] == "http" and not ends.has_begun:
                log.error("%s: %s", scope["path"], problem)
                await _refuse(scope, send)
            else:
                raise

    return served


class _Ends:
    """What passed between the server and the application, as far as it tells how that ended."""

    def __init__(self, receive: Any, send: Any) -> None:
        self._receive = receive
        self._send = send
        self.client_left = self.has_begun = False
        # Who closes connections without waiting looks for it here: see capacity/sending.py.
        self.transport = getattr(getattr(send, "__self__", None), "transport", None)

    async def receive(self) -> Message:
        message: Message = await self._receive()
        if message["type"] in ("http.disconnect", "websocket.disconnect"):
            self.client_left = True
        return message

    async def send(self, message: Message) -> None:
        self.has_begun = True
        await self._send(message)


async def _refuse(scope: dict[str, Any], send: Any) -> None:
    is_api = scope["path"].startswith("/api/")
    words = problem(INSUFFICIENT_STORAGE, str(FULL))
    body = orjson.dumps(words) if is_api else f"{FULL}\n".encode()
    kind = PROBLEM_JSON.encode() if is_api else b"text/plain"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": INSUFFICIENT_STORAGE, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
