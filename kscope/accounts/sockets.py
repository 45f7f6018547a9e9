"""The account behind a WebSocket: found when it opens, and checked again while it is open."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.cookie import parse_cookie
from django.http.request import split_domain_port, validate_host
from rest_framework.exceptions import AuthenticationFailed

from kscope.accounts.access import Visitor, visitor_for
from kscope.accounts.authentication import BEARER, TokenAuthentication, is_own_origin

Scope = Mapping[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Credential:
    """What a socket was opened with: a token, or the key of a session; "" for none."""

    token: str = ""
    session: str = ""

    def visitor(self) -> Visitor | None:
        """The visitor that the credential stands for now; None when the token is refused.

        Reads the database each time, so that an open socket notices a logout or a revoked token.
        """
        if self.token:
            try:
                user, token = TokenAuthentication().authenticate_credentials(self.token.encode())
            except AuthenticationFailed:
                return None
            return visitor_for(user, scope=token.scope)
        if not self.session:
            return visitor_for(AnonymousUser())
        request = HttpRequest()
        store = import_module(settings.SESSION_ENGINE).SessionStore
        request.session = store(self.session)
        return visitor_for(cast("User | AnonymousUser", get_user(request)))


def credential_of(scope: Scope) -> Credential:
    """The credential in the headers of a handshake."""
    words = _header(scope, b"authorization").split()
    if len(words) == 2 and words[0].lower() in ("token", BEARER):
        return Credential(token=words[1])
    cookies = parse_cookie(_header(scope, b"cookie"))
    return Credential(session=cookies.get(settings.SESSION_COOKIE_NAME, ""))


def address_of(scope: Scope) -> str:
    """The address of the client, as the server knows it."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def own_origin_only(application: Application) -> Application:
    """The ASGI application, limited to sockets that this site's own pages or non-browsers open.

    A browser always sends the origin of the page. The host must be in ALLOWED_HOSTS, so that a
    foreign name whose DNS points here (DNS rebinding) is refused.
    """

    async def guarded(scope: Scope, receive: Any, send: Any) -> None:
        host, origin = _header(scope, b"host"), _header(scope, b"origin")
        if not is_allowed_host(host) or (origin and not is_own_origin(origin, host)):
            await receive()
            await send({"type": "websocket.close", "code": 4403})
            return
        await application(scope, receive, send)

    return guarded


def is_allowed_host(host: str) -> bool:
    """Whether requests to *host* are meant for this server."""
    try:
        domain, _ = split_domain_port(host)
    except DisallowedHost:
        return False
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def _header(scope: Scope, name: bytes) -> str:
    return dict(scope["headers"]).get(name, b"").decode("latin-1")
