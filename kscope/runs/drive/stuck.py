"""Ending a task that hangs, with what each of its threads was doing in the log.

A driver waits for the database, for Redis, and for the process that writes its slices. Should one of
them never answer, then the run's lease expires and another worker goes on with it, but the process
that hangs would do no other task. So it ends, and the worker starts another one in its place.
"""

import contextlib
import faulthandler
import time
from collections.abc import Iterator

# Four times as long as a lease lasts without being renewed.
STUCK_SECONDS = 120.0
_STDERR = 2  # Celery puts something in the place of sys.stderr that has no descriptor
_moved_at: float | None = None


@contextlib.contextmanager
def ended_when_stuck() -> Iterator[None]:
    """Within it, the process ends unless `moved_on` is called again and again."""
    global _moved_at
    _begin()
    try:
        yield
    finally:
        _moved_at = None
        faulthandler.cancel_dump_traceback_later()


def moved_on() -> None:
    """Something was done, so nothing hangs. Cheap enough to be called for everything that is done."""
    if _moved_at is not None and time.monotonic() - _moved_at > 1:
        _begin()


def _begin() -> None:
    global _moved_at
    _moved_at = time.monotonic()
    # Of the interpreter's own clock: a thread of Python would hang with the others.
    faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True, file=_STDERR)
