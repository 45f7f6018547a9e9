"""When to collect garbage, and how much memory is taken: an engine is half a million objects in cycles."""

import ctypes
import gc
import os
import time
from collections.abc import Callable
from functools import lru_cache

import psutil

COLLECT_SECONDS = 60.0  # between two looks for garbage that only the collector finds
# Memory may grow by half, and by so much, before somebody looks whether that is garbage.
GROWTH_BYTES = 256 * 1024 * 1024
MEASURE_SECONDS = 1.0  # between two measurements
_MIB = 1024 * 1024


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

    def expect(self, used: int) -> None:
        """It grows for a first state, of which nothing is garbage: *used* bytes are no reason."""
        self._kept = used

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


def resident_bytes() -> int:
    """The memory of this process that is in the machine's main memory."""
    return _process(os.getpid()).memory_info().rss


@lru_cache(maxsize=1)
def _process(pid: int) -> psutil.Process:
    """To make one costs as much as to ask it."""
    return psutil.Process(pid)


def give_back() -> None:
    """Free what nothing refers to, and return it to the operating system as far as that is possible."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):  # another C library
        return


class Memory:
    """The memory of this process without what *others* take, as it was when last measured."""

    def __init__(self, others: Callable[[], int] = lambda: 0) -> None:
        self.used = 0
        self._measured = 0.0
        self._others = others

    def is_over(self, most: int) -> bool:
        """Whether more than *most* bytes are taken."""
        if time.monotonic() - self._measured >= MEASURE_SECONDS:
            self.used = resident_bytes() - self._others()
            self._measured = time.monotonic()
        return self.used > most

    def measure_again(self) -> int:
        """How many bytes are taken once everything was freed that can be."""
        give_back()
        self.used = resident_bytes() - self._others()
        return self.used

    @property
    def text(self) -> str:
        """In words."""
        return f"{self.used // _MIB:,} MiB"
