"""When to collect garbage: an engine is half a million long-lived objects in cycles."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

COLLECT_SECONDS = 60.0  # between two looks for garbage that only the collector finds
# Memory may grow by half, and by so much, before somebody looks whether that is garbage.
GROWTH_BYTES = 256 * 1024 * 1024


@contextmanager
def uncollected() -> Iterator[None]:
    """While an engine computes, is frozen or thawed: hardly any of what it makes is garbage."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class Collector:
    """Frees discarded engines at a time when no slice waits."""

    def __init__(self) -> None:
        self._collected = time.monotonic()

    def look(self) -> None:
        """Collect, unless that was done a short while ago."""
        if time.monotonic() - self._collected > COLLECT_SECONDS:
            gc.collect()
            self._collected = time.monotonic()


class GrowthCollector:
    """Collects while an engine computes on and on: seldom, and the more seldom the larger it is.

    What an engine makes is hardly ever garbage that only the collector finds, but "hardly ever" has
    no end in a run of many hours.
    """

    def __init__(self) -> None:
        self._kept = 0

    def look(self, used: int) -> bool:
        """Collect if memory, *used* bytes now, has grown much since that was done; whether it was.

        0 stands for memory that was not measured yet.
        """
        if not self._kept:
            self._kept = used
        if used <= self._kept + self._kept // 2 + GROWTH_BYTES:
            return False
        gc.collect()
        # The next look measures the memory that it takes afterwards, which may be the same.
        self._kept = used
        return True
