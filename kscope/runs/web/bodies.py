"""Whether, when and how fast the body of a request may come, asked before it is received.

    first piece is wanted ──▶ short: received at once
                          └─▶ large: asked (`senders`) ──▶ waits for its turn ──▶ received
                                       └──────▶ refused ◀──────┘ too long, or too slow

Django writes a body to disk before it looks at the request, so this stands in front of it. Of a body
that is refused, the application gets no more: it sees an empty or cut one, and the refusal in the
scope. Then the middleware (`body_limit`) or the Kubernetes API answers in words.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.utils.translation import gettext

from kscope.accounts.limits import most_of_all
from kscope.runs.capacity.askers import asker_key
from kscope.runs.capacity.places import Places
from kscope.runs.errors import ApplicationError
from kscope.runs.web.senders import refuse_sender

MULTIPART_BYTES = 1_048_576  # what a form puts around its files
# Up to here a body is received without a question; it stays in memory.
SHORT_BYTES = 65_536
# Large bodies that are no uploads and are being received.
LARGE_AT_ONCE = 64
WAIT_SECONDS = 300.0  # of a large body for its turn
# A sender may take so long, and besides as long as so many bytes a second take.
GRACE_SECONDS = 15.0
BYTES_PER_SECOND = 32_768
REFUSED = "kscope.body_refused"  # in the scope of a request: the ApplicationError
MOST = "kscope.body_most"  # likewise: how many bytes the body may have at most, if fewer than usual
UPLOADS = ("/scenarios/upload/", "/api/v1/scenarios/")
KUBERNETES = "/k8s/"
_MIB = 1_048_576

Message = dict[str, Any]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_END: Message = {"type": "http.request", "body": b"", "more_body": False}


def bodies(application: Application) -> Application:
    """The ASGI application, which receives only bodies that may be sent."""
    lines = Lines()

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        body = _Body(scope, receive, lines)
        try:
            await application(scope, body.receive, send)
        finally:
            body.leave()

    return limited


@dataclass(slots=True)
class Lines:
    """Where large bodies wait: uploads, which lie on the disk until they are read, and others."""

    uploads: Places = field(
        default_factory=lambda: Places(settings.WEB_UPLOADS, wait_seconds=WAIT_SECONDS)
    )
    others: Places = field(default_factory=lambda: Places(LARGE_AT_ONCE, wait_seconds=WAIT_SECONDS))


class _Body:
    """The body of one request."""

    def __init__(self, scope: Scope, receive: Receive, lines: Lines) -> None:
        self._scope = scope
        self._receive = receive
        self._is_upload = is_upload(scope["method"], scope["path"])
        self._line = lines.uploads if self._is_upload else lines.others
        self._key = asker_key(scope)
        self._announced = announced_of(dict(scope["headers"]).get(b"content-length", b""))
        self._length = 0
        self._waited = 0.0
        self._is_allowed = self._has_place = self._is_cut = self._is_over = False

    async def receive(self) -> Message:
        """See ASGI."""
        if self._is_cut:
            # The rest stays unread. Django only asks whether the client has left.
            await asyncio.Event().wait()
        if self._is_over:
            return await self._receive()
        try:
            await self._check(self._announced)
            message = await self._next()
            self._length += len(message.get("body", b""))
            await self._check(self._length)
        except ApplicationError as refusal:
            self._is_cut, self._scope[REFUSED] = True, refusal
            self.leave()
            return _END
        self._is_over = not message.get("more_body", False)
        if self._is_over and not self._is_upload:
            self.leave()
        return message

    def leave(self) -> None:
        """Let another body come."""
        if self._has_place:
            self._has_place = False
            self._line.give_back(self._key)

    async def _check(self, length: int) -> None:
        """Return when so many bytes may come. Raises ApplicationError if they may not."""
        self._refuse_longer(length)
        if length <= SHORT_BYTES or self._is_allowed:
            return
        self._is_allowed = True
        if not self._scope["path"].startswith(KUBERNETES):  # which has asked for itself by now
            most = await database_sync_to_async(refuse_sender)(
                self._scope, upload_bytes=self._announced if self._is_upload else None
            )
            if self._is_upload:
                self._scope[MOST] = most + MULTIPART_BYTES
                self._refuse_longer(length)
        await self._line.take(self._key)
        self._has_place = True

    def _refuse_longer(self, length: int) -> None:
        """Raise ApplicationError for a body of so many bytes if that is too much."""
        method, path = self._scope["method"], self._scope["path"]
        most = self._scope.get(MOST, limit_of(method, path))
        if length > most:
            raise too_long(method, path, self._announced, most)

    async def _next(self) -> Message:
        """The next message. Raises ApplicationError when the body comes too slowly."""
        patience = GRACE_SECONDS + self._length / BYTES_PER_SECOND - self._waited
        if patience < 0:
            raise _too_slow()
        began = monotonic()
        try:
            async with asyncio.timeout(patience):
                message = await self._receive()
        except TimeoutError:
            raise _too_slow() from None
        self._waited += monotonic() - began
        return message


def _too_slow() -> ApplicationError:
    words = gettext("fewer than {number} KiB of it came in a second")
    return ApplicationError(words.format(number=BYTES_PER_SECOND // 1024), status=408)


def announced_of(text: str | bytes) -> int:
    """The length in a header Content-Length; 0 where there is none."""
    return int(text) if text.isascii() and text.isdigit() else 0


def is_upload(method: str, path: str) -> bool:
    """Whether files may come with the request."""
    return method == "POST" and path in UPLOADS


def limit_of(method: str, path: str) -> int:
    """How many bytes the body of such a request may have."""
    if is_upload(method, path):
        return most_of_all() + MULTIPART_BYTES
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def too_long(method: str, path: str, announced: int, most: int | None = None) -> ApplicationError:
    """The refusal of a body that has more, or more than *most*."""
    limit = limit_of(method, path) if most is None else most
    limit -= MULTIPART_BYTES if is_upload(method, path) else 0
    allowed = limit // _MIB
    if is_upload(method, path):
        known = gettext("{size} MiB were sent; an upload may hold {allowed} MiB in all")
        least = gettext("more than {size} MiB were sent; an upload may hold {allowed} MiB in all")
    else:
        known = gettext(
            "{size} MiB were sent; a request to this address may hold {allowed} MiB in all"
        )
        least = gettext(
            "more than {size} MiB were sent; a request to this address may hold {allowed} MiB in all"
        )
    size = f"{announced / _MIB:.1f}" if announced else str(allowed)
    words = (known if announced else least).format(size=size, allowed=allowed)
    return ApplicationError(words, status=413)
