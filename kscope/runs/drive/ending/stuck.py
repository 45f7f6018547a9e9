"""Ending a task that hangs, with what each of its threads was doing in the log.

A driver waits for the database, for Redis, and for the process that writes its slices. Should one of
them never answer, then the run's lease expires and another worker goes on with it, but the process
that hangs would do no other task. So it ends, and the worker starts another one in its place.

To compute for long is not to hang: on a busy machine a large cluster takes minutes to be built. So
what counts is the time that a task waits, and the time of CPU that it takes without getting further.
"""

import contextlib
import faulthandler
import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

# Four times as long as a lease lasts without being renewed.
STUCK_SECONDS = 120.0
# Of CPU, without progress: of a task that computes.
STUCK_CPU_SECONDS = 300.0
# A database that works on our own slice is given so many times as long as one that says nothing.
WRITING_TIMES = 10
# Of the time that passes; a thread that takes less of it waits.
_COMPUTING_SHARE = 0.01
_STDERR = 2  # Celery puts something in the place of sys.stderr that has no descriptor
_moved_at: float | None = None
_moves = 0


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


def unwatched() -> None:
    """In a fork: what watches the process that it was forked from is not here."""
    global _moved_at
    _moved_at = None


def moved_on() -> None:
    """Something was done, so nothing hangs. Cheap enough to be called for everything that is done."""
    global _moves
    _moves += 1
    is_watched()


def moves() -> int:
    """How often something was done."""
    return _moves


def is_watched() -> None:
    """Somebody who judges whether this process hangs says that it does not."""
    if _moved_at is not None and time.monotonic() - _moved_at > 1:
        _begin()


def _begin() -> None:
    global _moved_at
    _moved_at = time.monotonic()
    # Of the interpreter's own clock: a thread of Python would hang with the others.
    faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True, file=_STDERR)


@dataclass(slots=True)
class Judge:
    """Whether a thread hangs, by its progress and the CPU time that it takes, both in seconds."""

    now: float
    cpu: float
    progress: Hashable
    waited: float = 0.0
    """Since its last progress, without computing."""
    computed: float = 0.0
    """Since its last progress, of CPU."""

    def look(self, now: float, cpu: float, progress: Hashable, *, writes: bool = False) -> None:
        """Take in how things stand at *now*; *writes* if the database works on what it was given."""
        passed, used = now - self.now, cpu - self.cpu
        self.now, self.cpu = now, cpu
        if progress != self.progress:
            self.progress, self.waited, self.computed = progress, 0.0, 0.0
        elif used > passed * _COMPUTING_SHARE:
            self.computed += used
            self.waited = 0.0
        else:
            self.waited += passed / (WRITING_TIMES if writes else 1)

    @property
    def waits_in_vain(self) -> bool:
        """Whether it waits for something that seems never to come."""
        return self.waited >= STUCK_SECONDS

    @property
    def computes_in_vain(self) -> bool:
        """Whether it computes and gets no further."""
        return self.computed >= STUCK_CPU_SECONDS
