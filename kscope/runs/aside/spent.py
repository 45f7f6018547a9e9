"""How much of its time a question has used up: what is computed counts by CPU, not by the clock.

On a machine that does much else, an answer that comes late is no answer that takes long.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path

import psutil

# A process that takes less than this of a core stands still, and its time counts by the clock.
LEAST_SHARE = 0.01
LOOK_SECONDS = 1.0


class Spent:
    """The time of a process, and of those that it forks, since `begin`."""

    def __init__(self, pid: int | None, clock: Callable[[], float]) -> None:
        """*pid* is None where there is no process to look at: then the clock counts."""
        self._pid = pid
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        self._seconds = 0.0
        self._looked, self._cpu = self._clock(), self._cpu_now()

    def look(self) -> float:
        """Seconds that count."""
        before, cpu = self._looked, self._cpu
        self._looked, self._cpu = self._clock(), self._cpu_now()
        passed, computed = self._looked - before, max(self._cpu - cpu, 0.0)
        self._seconds += computed if computed > passed * LEAST_SHARE else passed
        return self._seconds

    def _cpu_now(self) -> float:
        return 0.0 if self._pid is None else sum(map(_cpu_of, (self._pid, *_children(self._pid))))


def _cpu_of(pid: int) -> float:
    with contextlib.suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return times.user + times.system + times.children_user + times.children_system
    return 0.0


def _children(pid: int) -> list[int]:
    """Without a look at all processes of the machine, which takes milliseconds."""
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []
