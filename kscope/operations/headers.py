"""Headers that every answer has, whoever gives it: Django, static files, the Kubernetes API, a refusal.

Django's middleware adds what a page needs. This wraps the whole ASGI application and adds what is
missing, so that no way out of it is without: an answer that has a header keeps it, but for
`Cache-Control`, where what is not meant to be kept must say so.
"""

import re
import uuid
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from django.conf import settings

from kscope.glossary import EXPLANATIONS

Message = dict[str, Any]
Scope = dict[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]

REQUEST_ID = "X-Request-ID"
KUBERNETES = "/k8s/"
# The digest of what a catalogue holds is in its address, as that of static files is.
CATALOGUES = "/words/"
# An id that a proxy may have set. Other text is not accepted: a client could forge log lines.
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
_STARTS = ("http.response.start", "websocket.http.response.start")
_DENIAL = "websocket.http.response"


def answer_headers(application: Application) -> Application:
    """The ASGI application, each of whose answers has the headers."""

    async def answered(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await application(scope, receive, send)
            return
        found = request_id_of(dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1"))
        others = [pair for pair in scope["headers"] if pair[0] != b"x-request-id"]
        scope = {**scope, "headers": [*others, (b"x-request-id", found.encode())]}
        await application(scope, receive, _Sender(scope, send, found).send)

    return answered


def request_id_of(given: str) -> str:
    """The id that came with a request, if it may be one; else a new one."""
    return given if _GIVEN.fullmatch(given) else uuid.uuid4().hex


class _Sender:
    """Sends the messages of one answer, with its headers."""

    def __init__(self, scope: Scope, send: Any, request_id: str) -> None:
        self._scope = scope
        self._send = send
        self._request_id = request_id
        self._is_begun = False

    @property
    def transport(self) -> Any:
        """That of the server, which `kscope/runs/capacity/sending.py` looks for here."""
        return getattr(getattr(self._send, "__self__", None), "transport", None)

    async def send(self, message: Message) -> None:
        """Send *message*."""
        kind = message["type"]
        if kind == "websocket.close" and not self._is_begun and self._can_deny():
            # The server would answer without a word of ours.
            await self._deny()
            return
        if kind in _STARTS:
            message = {**message, "headers": self._settled(message)}
        elif kind == "websocket.accept":
            own = (b"x-request-id", self._request_id.encode())
            message = {**message, "headers": [*message.get("headers", ()), own]}
        self._is_begun = self._is_begun or kind != "websocket.close"
        await self._send(message)

    def _can_deny(self) -> bool:
        return _DENIAL in (self._scope.get("extensions") or {})

    async def _deny(self) -> None:
        start: Message = {"type": f"{_DENIAL}.start", "status": 403, "headers": []}
        await self.send(start)
        await self._send({"type": f"{_DENIAL}.body", "body": b""})

    def _settled(self, message: Message) -> list[tuple[bytes, bytes]]:
        given = [(name.lower(), value) for name, value in message.get("headers", ())]
        has = dict(given)
        caching = has.get(b"cache-control", b"").decode("latin-1")
        kept = self._cache_control(message["status"], caching)
        headers = [pair for pair in given if pair[0] != b"cache-control"]
        headers.append((b"cache-control", kept.encode()))
        added = (*_SAME_FOR_ALL, *self._of_transport(), (REQUEST_ID, self._request_id))
        for name, value in added:
            if name.lower().encode() not in has:
                headers.append((name.lower().encode(), value.encode()))
        return headers

    def _cache_control(self, status: int, given: str) -> str:
        """Static files, catalogues and the words of the glossary say how long they are kept; the rest is not."""
        path = self._scope["path"]
        if path.startswith(KUBERNETES):
            # As an API server says it. What is refused is not kept, whatever its address.
            return given if given and status < 300 else "no-cache, private"
        kept = (settings.STATIC_URL, CATALOGUES, EXPLANATIONS)
        if path.startswith(kept) and status < 400 and given:
            return given
        return "no-store"

    def _of_transport(self) -> Iterable[tuple[str, str]]:
        if not settings.SECURE_HSTS_SECONDS or not self._is_secure():
            return ()
        return (("Strict-Transport-Security", f"max-age={settings.SECURE_HSTS_SECONDS}"),)

    def _is_secure(self) -> bool:
        if self._scope.get("scheme") in ("https", "wss"):
            return True
        # Set together with SECURE_PROXY_SSL_HEADER.
        told = dict(self._scope["headers"]).get(b"x-forwarded-proto", b"")
        return settings.SECURE_PROXY_SSL_HEADER is not None and told == b"https"


# The policy is the strictest there is: what has no page's policy, such as a picture, loads nothing.
_SAME_FOR_ALL = (
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Cross-Origin-Opener-Policy", settings.SECURE_CROSS_ORIGIN_OPENER_POLICY),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    (
        "Permissions-Policy",
        ", ".join(f"{name}=()" for name in settings.PERMISSIONS_POLICY),
    ),
    ("Referrer-Policy", settings.SECURE_REFERRER_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", settings.X_FRAME_OPTIONS),
)
