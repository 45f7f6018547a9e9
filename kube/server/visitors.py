"""Who sends a request to the API of a run, and whether they may.

A client proves its account by a token: `Authorization: Bearer TOKEN`, or, where it speaks plain HTTP
and so keeps its token to itself, by `http://any:TOKEN@host` in its kubeconfig, which arrives as Basic.
A program in a browser, which sets no header of a WebSocket, offers it among the protocols. Cookies do
not count: a page of another site could make a browser send them.
"""

import binascii
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Mapping, Sequence

from channels.db import database_sync_to_async
from starlette.datastructures import Headers
from starlette.requests import Request

from kscope.accounts import limits
from kscope.accounts.access import Visitor
from kscope.accounts.authentication import is_own_origin
from kscope.accounts.sockets import Credential, is_allowed_host
from kscope.runs.access import may_see_values
from kscope.runs.capacity.askers import address_of, remember
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.runs import Run, runs_read
from kube.server.objects.together import Together
from kube.status import ApiError, forbidden, too_many_requests, unauthorized

_OWN_SITE = ("", "none", "same-origin")
_TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io."


def check_origin(headers: Headers) -> None:
    """Raise ApiError when a browser sends the request for a page of another site.

    Clients of Kubernetes name no origin. The host must be one of ours, so that a foreign name whose
    DNS points here (DNS rebinding) is refused.
    """
    # Of two, a proxy may have looked at the other one.
    host, origin = ", ".join(headers.getlist("host")), headers.get("origin", "")
    if not is_allowed_host(host):
        raise forbidden(f"the host {host!r} is not one of this server")
    site = headers.get("sec-fetch-site", "")
    if (origin and not is_own_origin(origin, host)) or site not in _OWN_SITE:
        raise forbidden("the request came from a page of another site")


def credential_of(request: Request) -> Credential:
    """The token of a request."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    match scheme.lower():
        case "":
            offered: Sequence[str] = request.scope.get("subprotocols") or ()
            return Credential(token=_offered(offered))
        case "bearer" | "token":
            return Credential(token=value.strip())
        case "basic":
            return Credential(token=_password(value))
        case _:
            return Credential()


def without_token(protocols: Sequence[str]) -> list[str]:
    """The protocols that a WebSocket may be answered with."""
    return [one for one in protocols if not one.startswith(_TOKEN_PROTOCOL)]


def _offered(protocols: Sequence[str]) -> str:
    """The token among the protocols; "" where there is none, "-" for what is no token.

    Upstream: apiserver/pkg/authentication/request/websocket/protocol.go, AuthenticateRequest().
    """
    found = [one for one in protocols if one.startswith(_TOKEN_PROTOCOL)]
    if not found:
        return ""
    value = found[0].removeprefix(_TOKEN_PROTOCOL)
    try:
        text = urlsafe_b64decode(value + "=" * (-len(value) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        text = ""
    # One token, and a protocol that is not taken away again.
    is_well_formed = len(found) == 1 and len(protocols) > 1
    return text if text and is_well_formed else "-"


def _password(value: str) -> str:
    """What comes after the colon; "-" for what is no Basic credential, which no token is."""
    try:
        return b64decode(value, validate=True).decode().partition(":")[2] or "-"
    except (binascii.Error, UnicodeDecodeError):
        return "-"


class Runs:
    """Finds the runs that requests are for, with the columns that every request asks for."""

    def __init__(self, links: SnapshotLinks) -> None:
        self._links = links
        self._rows = Together(self._read)

    async def find(self, visitor: Visitor, run_id: int, *, to_change: bool) -> tuple[Run, bool]:
        """The run, and whether values in it are hidden from the visitor.

        Raises ApiError when there is none for the visitor to see, or to change.
        """
        found = await self._rows.of(run_id)
        if found is None or not visitor.may_read(found[0]):
            raise ApiError(404, "NotFound", f"there is no run {run_id}")
        run, sources = found
        if to_change and not visitor.may_change(run):
            raise forbidden(f"run {run_id} may only be read by you")
        return run, not may_see_values(visitor, run, sources)

    async def _read(self, run_ids: Sequence[int]) -> Mapping[int, tuple[Run, Sequence[int | None]]]:
        async with self._links.link() as link:
            return await runs_read(link, run_ids)


class Visitors:
    """Finds out who asks, and counts how often they do."""

    def __init__(self) -> None:
        self._batches = limits.Batches()

    async def find(self, request: Request, *, to_change: bool) -> Visitor:
        """Who asks. Raises ApiError for a wrong token, and for those who ask too often."""
        address = address_of(request.scope)
        credential = credential_of(request)
        visitor = await _visitor_of(credential)
        if visitor is None:
            wait = await self._batches.take("login", f"token {address}")
            raise _too_often(wait) if wait else unauthorized()
        remember(request.scope, visitor.account_id)
        kind = "write" if to_change else "read"
        name = f"anonymous_{kind}" if visitor.role is None else f"kube_{kind}"
        wait = await self._batches.take(name, limits.visitor_key(visitor, address))
        if wait:
            raise _too_often(wait)
        return visitor


async def _visitor_of(credential: Credential) -> Visitor | None:
    if credential == Credential():
        return credential.visitor()  # without a question to the database
    return await database_sync_to_async(credential.visitor)()


def _too_often(wait: int) -> ApiError:
    """Upstream: NewTooManyRequests()."""
    message = "The server has received too many requests and has asked us to try again later"
    return too_many_requests(message, wait)
