"""The memory of this process, measured now and then."""

import ctypes
import gc
import time

import psutil

MEASURE_SECONDS = 1.0  # between two measurements
_MIB = 1024 * 1024


def resident_bytes() -> int:
    """The memory of this process that is in the machine's main memory."""
    return psutil.Process().memory_info().rss


def _give_back() -> None:
    """Free what nothing refers to, and return it to the operating system as far as that is possible."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):  # another C library
        return


class Memory:
    """The memory of this process, as it was when last measured."""

    def __init__(self) -> None:
        self.used = 0
        self._measured = 0.0

    def is_over(self, most: int) -> bool:
        """Whether more than *most* bytes are taken."""
        if time.monotonic() - self._measured >= MEASURE_SECONDS:
            self.used = resident_bytes()
            self._measured = time.monotonic()
        return self.used > most

    def measure_again(self) -> int:
        """How many bytes are taken once everything was freed that can be."""
        _give_back()
        self.used = resident_bytes()
        return self.used

    @property
    def text(self) -> str:
        """In words."""
        return f"{self.used // _MIB:,} MiB"
