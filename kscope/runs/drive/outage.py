"""A database that cannot be reached for a while: who needs it asks again, and keeps what it has.

A driver keeps its run and its engine meanwhile. Nobody else could have gone on, and fencing holds:
where another process has taken the run after the outage, what is written then is refused.
"""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import Error, InterfaceError, OperationalError, connection

from kscope.runs.drive.ending.stopping import is_stopping
from kscope.runs.drive.turns.stint import Turns
from kscope.runs.nudges import note_if_full

T = TypeVar("T")
PATIENCE_SECONDS = 20.0
PAUSE_SECONDS = 0.2
log = logging.getLogger(__name__)


class Outage:
    """An outage, as one that wants an answer of the database sees it; *who* it is, for the log."""

    def __init__(self, who: str) -> None:
        self._who = who
        self._until: float | None = None

    def meet(self, problem: Error) -> float:
        """Be ready to ask again, on a new connection; until when to wait, by the monotonic clock.

        Raises *problem* where that is no use any more.
        """
        note_if_full(problem)
        connection.close()
        now = time.monotonic()
        if self._until is None:
            log.warning("%s waits for the database: %s", self._who, problem)
            self._until = now + PATIENCE_SECONDS
        if is_stopping() or now >= self._until:
            raise problem
        return now + PAUSE_SECONDS


def answered(ask: Callable[[], T], who: str) -> Turns[T]:
    """What *ask* returns; it is called again for some time where the database cannot be reached.

    Yields until when to wait before each of these calls, by the monotonic clock.
    """
    away = Outage(who)
    while True:
        try:
            return ask()
        except (OperationalError, InterfaceError) as problem:
            until = away.meet(problem)
        yield until


def waited_for(ask: Callable[[], T], who: str) -> T:
    """The same, in a thread that can sleep meanwhile."""
    asking = answered(ask, who)
    while True:
        try:
            until = next(asking)
        except StopIteration as end:
            return end.value
        time.sleep(max(until - time.monotonic(), 0.0))
