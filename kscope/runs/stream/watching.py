"""Who may watch a run: checked when a socket opens, and repeatedly while it is open."""

import asyncio
import time
from collections import Counter

from channels.db import database_sync_to_async
from django.conf import settings

from kscope.accounts.access import Visitor
from kscope.accounts.limits import visitor_key
from kscope.accounts.sockets import Credential
from kscope.runs.models import Run

# A logout, a revoked token or a run made private closes sockets within twice this time.
RECHECK_SECONDS = 2.0
_MOST_KNOWN = 2_000

Watch = tuple[Credential, int]  # and the id of the run

_known: dict[Watch, tuple[float, Visitor | None]] = {}
_asked: dict[Watch, "asyncio.Task[Visitor | None]"] = {}


async def watcher_of(credential: Credential, run_id: int) -> Visitor | None:
    """The visitor behind the credential, if the run exists for them to see, else None.

    Sockets with the same credential and run share one database query, and briefly its answer.
    """
    watch = credential, run_id
    known = _known.get(watch)
    if known is not None and time.monotonic() - known[0] < RECHECK_SECONDS / 2:
        return known[1]
    asked = _asked.get(watch)
    if asked is None or asked.get_loop() is not asyncio.get_running_loop():
        asked = _asked[watch] = asyncio.create_task(_ask(watch))
    # A socket that closes while it waits must not cancel the query for the others.
    return await asyncio.shield(asked)


async def _ask(watch: Watch) -> Visitor | None:
    began = time.monotonic()
    try:
        visitor: Visitor | None = await database_sync_to_async(_watcher_now)(*watch)
    finally:
        _asked.pop(watch, None)
    while len(_known) >= _MOST_KNOWN:
        del _known[next(iter(_known))]
    _known.pop(watch, None)
    _known[watch] = began, visitor
    return visitor


def _watcher_now(credential: Credential, run_id: int) -> Visitor | None:
    visitor = credential.visitor()
    if visitor is not None and not Run.objects.filter(visitor.readable(), pk=run_id).exists():
        return None
    return visitor


class OpenSockets:
    """How many sockets each account, or each address without one, has open in this process."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def enter(self, visitor: Visitor, address: str) -> str | None:
        """Count one more, and return the name to leave under; None when that would be too many."""
        name = visitor_key(visitor, address)
        if self._open[name] >= settings.SOCKETS_PER_ACCOUNT:
            return None
        self._open[name] += 1
        return name

    def leave(self, name: str) -> None:
        """Count one socket less under *name*."""
        self._open[name] -= 1
        if not self._open[name]:
            del self._open[name]


open_sockets = OpenSockets()
