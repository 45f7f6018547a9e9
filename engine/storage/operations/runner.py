"""Named operations that run beside the controller: one at a time per name, with backoff on error.

An operation runs in steps on the event loop; between two steps it waits (for the plugin, or before
it tries again). A name that is running refuses a second start; one that failed refuses until
its backoff has passed. Upstream: pkg/util/goroutinemap.
"""

from dataclasses import dataclass
from typing import Protocol

from engine.api_server.store.answers import Answers
from engine.kernel.errors import SimError
from engine.kernel.loop import EventLoop
from engine.storage.operations.backoff import Backoff, Start


class Operation(Protocol):
    """Work in steps."""

    def step(self) -> int | None:
        """Do the next step; returns the delay in ns until the one after it, None at the end.

        Raises SimError when the operation has failed for now.
        """
        ...


@dataclass(slots=True)
class _Entry:
    backoff: Backoff
    operation: Operation | None


class OperationRunner:
    """Runs operations by name. Upstream: goroutinemap.GoRoutineMap with exponential backoff."""

    __slots__ = ("_answers", "_entries", "_loop")

    def __init__(self, loop: EventLoop, answers: Answers | None = None) -> None:
        """With *answers*, each step waits until the API server has answered what was written."""
        self._loop = loop
        self._answers = answers
        self._entries: dict[str, _Entry] = {}

    @property
    def now(self) -> int:
        """Virtual time in ns."""
        return self._loop.now

    def run(self, name: str, operation: Operation) -> Start:
        """Start *operation* under *name*, unless that name is running or backing off."""
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = _Entry(Backoff(), None)
        elif entry.operation is not None:
            return Start.RUNNING
        elif entry.backoff.holds(self._loop.now):
            return Start.BACKING_OFF
        entry.operation = operation
        self._loop.call_after(0, self._try_step, name)
        return Start.STARTED

    def backoff(self, name: str) -> Backoff | None:
        """The backoff that holds *name* back, or None."""
        entry = self._entries.get(name)
        if entry is None or entry.operation or not entry.backoff.holds(self._loop.now):
            return None
        return entry.backoff

    def running(self) -> list[str]:
        """Names under way, in the order they were first started."""
        return [name for name, entry in self._entries.items() if entry.operation is not None]

    def _try_step(self, name: str) -> None:
        self._loop.tried(self._step, name)

    def _step(self, name: str) -> None:
        if self._answers is not None and self._answers.until > self._loop.now:
            self._loop.call_at(self._answers.until, self._try_step, name)
            return
        entry = self._entries[name]
        assert entry.operation is not None, name
        try:
            delay = entry.operation.step()
        except SimError as error:
            entry.operation = None
            entry.backoff.failed(str(error), self._loop.now)
            return
        if delay is None:
            del self._entries[name]
        else:
            self._loop.call_after(delay, self._try_step, name)
