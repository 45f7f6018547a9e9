"""The turns of a driver, and the computing of one slice between them."""

import time
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
# The times, by the monotonic clock, until which a driver waits; it may be woken earlier.
Turns = Generator[float, None, T]
AT_ONCE = 0.0  # after the others whose time has come
WHEN_WOKEN = float("inf")

SLICE_SECONDS = 0.1  # of computing between two commits


class Stint:
    """The computing of one slice, in which others have turns; what they do does not count."""

    def __init__(self) -> None:
        self._left = SLICE_SECONDS
        self._since = time.monotonic()

    def pause(self) -> Turns[bool]:
        """Let others have a turn, unless SLICE_SECONDS are over; whether they are not."""
        self._left -= time.monotonic() - self._since
        if self._left <= 0:
            return False
        yield AT_ONCE
        self._since = time.monotonic()
        return True
