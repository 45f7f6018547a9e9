"""When to collect garbage: an engine is half a million long-lived objects in cycles."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

COLLECT_SECONDS = 60.0  # between two looks for garbage that only the collector finds


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
