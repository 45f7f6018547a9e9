"""A database that cannot be reached for a while: who needs it asks again, and keeps what it has.

A driver keeps its run and its engine meanwhile. Nobody else could have gone on, and fencing holds:
where another process has taken the run after the outage, what is written then is refused.
"""

import time

from django.db import Error, connection

from kscope.runs.drive.ending.stopping import is_stopping
from kscope.runs.nudges import note_if_full

PATIENCE_SECONDS = 20.0
PAUSE_SECONDS = 0.2


class Outage:
    """An outage, as one that wants an answer of the database sees it."""

    def __init__(self) -> None:
        self._until: float | None = None

    @property
    def is_on(self) -> bool:
        """Whether something was asked in vain."""
        return self._until is not None

    def meet(self, problem: Error) -> None:
        """Be ready to ask again, on a new connection. Raises *problem* where that is no use any more."""
        note_if_full(problem)
        connection.close()
        now = time.monotonic()
        if self._until is None:
            self._until = now + PATIENCE_SECONDS
        if is_stopping() or now >= self._until:
            raise problem
