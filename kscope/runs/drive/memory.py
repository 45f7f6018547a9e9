"""What a run has used of its budget; memory is that of this process, measured now and then."""

import ctypes
import gc
import time

import psutil

from engine.cluster.cluster import Cluster
from engine.input.budget import Budget, Stop
from kscope.runs.drive.engines import engines_forget

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


class BudgetGuard:
    """Holds one engine to the budget of its run."""

    def __init__(self, engine: Cluster) -> None:
        self._engine = engine
        self.memory = Memory()
        # A kept engine may still be limited to an older budget.
        engine.limit(None)
        self._held_to: Budget | None = None

    def hold(self, budget: Budget | None) -> None:
        """Let the engine stop where *budget* is used up; with None nowhere."""
        if budget != self._held_to:
            self._engine.limit(budget)
            self._held_to = budget

    def stop(self, budget: Budget) -> Stop | None:
        """The part of *budget* that is used up, if one is and there is more to do."""
        if self._engine.next_at is None:
            return None
        if self.memory.is_over(budget.memory) and self._freed() > budget.memory:
            return Stop.at("memory", budget.memory, f"It takes {self.memory.text}")
        stop = self._engine.budget_stop
        if stop is not None and stop.part == "time":
            # At every speed it stops at the very moment.
            self._engine.advance(budget.time)
        return stop

    def _freed(self) -> int:
        """Forget the engines of other runs; returns how much memory is still taken."""
        engines_forget()
        return self.memory.measure_again()
