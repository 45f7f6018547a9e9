"""Who asks, known before a request is served: so that places can be counted for each account.

A credential in a header proves nothing until somebody has looked it up, and with a new one in each
request a client could count as many accounts. So all whose credential has not yet been accepted here
count as one account of their address.
"""

from collections.abc import Mapping
from hashlib import blake2s
from typing import Any

from django.conf import settings
from django.http.cookie import parse_cookie

from kscope.runs.capacity.fair_queue import Key

_MOST_KNOWN = 10_000
_known: dict[bytes, int] = {}


def asker_key(scope: Mapping[str, Any], *more: str) -> Key:
    """Whose turn a request needs: address, account, what else tells clients apart, and *more*."""
    address = address_of(scope)
    credential = _credential(scope)
    account_id = _known.get(credential)
    account = f"nobody at {address}" if account_id is None else f"account {account_id}"
    return (address, account, credential.hex(), *more)


def address_of(scope: Mapping[str, Any]) -> str:
    """The address of the client, as the server knows it."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def remember(scope: Mapping[str, Any], account_id: int | None) -> None:
    """The credential of a request was accepted as that of an account."""
    if account_id is None:
        return
    credential = _credential(scope)
    _known.pop(credential, None)
    while len(_known) >= _MOST_KNOWN:
        del _known[next(iter(_known))]
    _known[credential] = account_id


def _credential(scope: Mapping[str, Any]) -> bytes:
    headers = dict(scope["headers"])
    cookies = headers.get(b"cookie", b"")
    session = parse_cookie(cookies.decode("latin-1")).get(settings.SESSION_COOKIE_NAME, "")
    # Without a session, what else is in the cookies still tells two browsers apart.
    told = headers.get(b"authorization", b"") + (session.encode() or cookies)
    return blake2s(told, digest_size=8).digest()
