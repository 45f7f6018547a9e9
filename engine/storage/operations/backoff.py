"""The answer to a request to run an operation, and the delay after one that failed.

Upstream: pkg/util/goroutinemap/exponentialbackoff.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from engine.kernel.units import MILLISECOND, SECOND

INITIAL_BACKOFF: Final = 500 * MILLISECOND
MAX_BACKOFF: Final = 2 * 60 * SECOND + 2 * SECOND


class Start(Enum):
    """How a request to run an operation was answered."""

    STARTED = "started"
    RUNNING = "already running"
    BACKING_OFF = "backing off"


@dataclass(slots=True)
class Backoff:
    """An exponential delay after errors. Upstream: exponentialbackoff.ExponentialBackoff."""

    error: str = ""
    at: int = 0
    delay: int = 0

    def failed(self, error: str, now: int) -> None:
        """Note an error at *now*: the delay begins at 500 ms and doubles up to 2 m 2 s."""
        self.delay = min(self.delay * 2, MAX_BACKOFF) if self.delay else INITIAL_BACKOFF
        self.error, self.at = error, now

    def holds(self, now: int) -> bool:
        """Whether it is too early to try again."""
        return self.delay > 0 and now - self.at <= self.delay
