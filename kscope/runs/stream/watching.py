"""Who may go on watching a run: asked when a socket opens, and again for as long as it is open."""

import time
from collections import Counter

from django.conf import settings

from kscope.accounts.access import Visitor
from kscope.accounts.limits import visitor_key
from kscope.accounts.sockets import Credential
from kscope.runs.models import Run

# A logout, a revoked token or a run made private closes sockets within twice this time.
RECHECK_SECONDS = 2.0
_MOST_KNOWN = 2_000

_known: dict[tuple[Credential, int], tuple[float, Visitor | None]] = {}


def watcher_of(credential: Credential, run_id: int) -> Visitor | None:
    """The visitor behind the credential, if the run is there for them to see, else None.

    Sockets that were opened alike share an answer for a moment. Asks the database.
    """
    now = time.monotonic()
    found = _known.get((credential, run_id))
    if found is not None and now - found[0] < RECHECK_SECONDS / 2:
        return found[1]
    visitor = credential.visitor()
    if visitor is not None and not Run.objects.readable_by(visitor).filter(pk=run_id).exists():
        visitor = None
    while len(_known) >= _MOST_KNOWN:
        del _known[next(iter(_known))]
    _known.pop((credential, run_id), None)
    _known[credential, run_id] = now, visitor
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
        """One less."""
        self._open[name] -= 1
        if not self._open[name]:
            del self._open[name]


open_sockets = OpenSockets()
