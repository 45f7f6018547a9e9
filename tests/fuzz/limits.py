"""One input at a time, with a look at how long it took and how much memory."""

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

SECONDS = 2.0
BYTES = 512 * 1024 * 1024
# An input that takes this long is interrupted, so that its traceback says where.
_HANGS_AFTER = 15.0
FEW = 60
"""So many inputs of each kind are tried where the environment names no number."""
_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


class Hangs(BaseException):
    """An input has used so much processor time that it would rather not be waited for."""


@dataclass(slots=True)
class Tally:
    """What came of the inputs of one kind."""

    kind: str
    # The processor time that is spent on an input, in seconds: of the process, where all that it
    # does is ours.
    spent: Callable[[], float] = time.process_time
    inputs: int = 0
    accepted: int = 0
    worst_seconds: float = 0.0
    worst_bytes: int = 0
    # By where it happened, so that one fault is told once: the first number and its traceback.
    findings: dict[str, str] = field(default_factory=dict)
    found: int = 0

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.inputs:,} inputs, {self.accepted:,} accepted, worst "
            f"{self.worst_seconds:.2f} s and {self.worst_bytes / 2**20:.0f} MiB, "
            f"{self.found} with findings in {len(self.findings)} places"
        )

    def watch(self, number: int, give: Callable[[], bool]) -> None:
        """Give one input; *give* says whether it was accepted, and raises for what must not be."""
        before = _resident("VmRSS") if _forget_peak() else 0
        started = self.spent()
        signal.signal(signal.SIGPROF, _interrupt)
        signal.setitimer(signal.ITIMER_PROF, _HANGS_AFTER)
        place = ""
        try:
            self.accepted += give()
        except (Exception, Hangs) as problem:  # noqa: BLE001 - that is what is looked for
            place, text = _place(problem), "".join(traceback.format_exception(problem)[-8:])
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = self.spent() - started
        grown = _resident("VmHWM") - before if before else 0
        self.inputs += 1
        self.worst_seconds = max(self.worst_seconds, seconds)
        self.worst_bytes = max(self.worst_bytes, grown)
        if not place and seconds > SECONDS:
            place, text = "slow", f"{seconds:.1f} s\n"
        if not place and grown > BYTES:
            place, text = "large", f"{grown:,} bytes\n"
        if place:
            self.found += 1
            self.findings.setdefault(place, f"{self.kind} {number}: {text}")


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise Hangs


def _place(problem: BaseException) -> str:
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__} at {frame.filename}:{frame.lineno}"


def _forget_peak() -> bool:
    """Have the kernel measure the highest memory anew; not every kernel can."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return False
    return True


def _resident(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


def numbers_of(kind: str, few: int = FEW) -> Iterator[int]:
    """The numbers of the inputs of *kind* that the environment asks for, until its time is up.

    Where the environment names none these are the same *few*, however long they take.
    """
    if os.environ.get("FUZZ_KIND", kind) != kind:
        return
    first, count = int(os.environ.get("FUZZ_FIRST", 0)), int(os.environ.get("FUZZ_COUNT", few))
    deadline = time.monotonic() + float(os.environ.get("FUZZ_SECONDS", "inf"))
    for number in range(first, first + count):
        if time.monotonic() > deadline:
            return
        yield number
