"""The processes of a worker that host runs, one a core, and which run is given to which of them.

A run goes to the process that had it last, whose engine may still be there, unless that is busy and
another is not; else to the one that is least busy. The runs of one that dies go to others at once:
nobody else can have committed for it.

Where a loader forks a process in milliseconds, there are none while there is nothing to drive: one is
started for a run that would else share a process, and ends when it has had no run for a while.
"""

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

import orjson
from django.conf import settings

from kscope.runs.drive.hosting.at_work import AtWork
from kscope.runs.record.work import Work
from kscope.up.processes import Call, Process, has_loader, start_function

MAIN = "kscope.runs.drive.hosting.process:main"
# A process that is that busy, in hundredths of a core, gets a run back only if all others are, too.
BUSY = 60
# A process has lived for so long before another one is started in its place.
PAUSE_SECONDS = 1.0
MOST_REMEMBERED = 10_000
# A lease is not renewed for longer by one that does not get on.
SILENT_SECONDS = 5.0
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Death:
    """A process of the fleet has ended that was not asked to."""

    pid: int
    runs: list[int]
    """Those that it had."""
    at_work: int
    """The one of these that it worked on just then; 0 for none."""
    memory_mib: int
    """What it had when it last said so."""


@dataclass(slots=True, eq=False)
class Member:
    """A process of the fleet, as the worker knows it."""

    process: Process
    orders: IO[bytes]
    at_work: AtWork
    runs: set[int] = field(default_factory=set[int])
    done: dict[int, Counter[str]] = field(default_factory=dict[int, "Counter[str]"])
    """What it did for each of its runs since it has that."""
    is_ready: bool = False
    busy: int = 0
    memory_mib: int = 0
    heard: float = field(default_factory=time.monotonic)
    """When it said something."""
    began: float = field(default_factory=time.monotonic)
    ends: bool = False
    """It was told to end, for want of runs."""

    @property
    def is_silent(self) -> bool:
        """Whether it does not get on: others may have its runs."""
        return self.is_ready and time.monotonic() - self.heard > SILENT_SECONDS

    @property
    def is_full(self) -> bool:
        """Whether it takes no further runs."""
        return self.is_large and bool(self.runs)

    @property
    def is_large(self) -> bool:
        """Whether it has much memory; without runs it can free that."""
        return self.memory_mib > settings.DRIVER_MEMORY_MIB * 9 // 10

    @property
    def load(self) -> tuple[bool, int, int]:
        """The lower, the sooner it gets a run."""
        return self.is_large, self.busy, len(self.runs)


class Fleet:
    """Starts the processes, gives them runs, and replaces those that end."""

    def __init__(
        self,
        size: int,
        gone: Callable[[Death], None],
        did: Callable[[int, dict[int, Work]], None] = lambda pid, done: None,
        *,
        rests: bool = False,
    ) -> None:
        """*gone* is told of each process that ends, *did* once a second what one did for which run.

        One that *rests* has processes only while there are runs.
        """
        self._size = size
        self._least = 0 if rests else size
        self._gone = gone
        self._did = did
        self._members: list[Member] = []
        self._last: dict[int, Member] = {}
        """Who had a run last."""
        self._lock = threading.RLock()
        self.drains = False
        """It takes no more runs, and gives back those that it has."""
        self._ready = threading.Event()

    def start(self) -> None:
        """Start the processes that there are always."""
        with self._lock:
            while len(self._members) < self._least and not self.drains:
                self._add()

    def wait_until_ready(self, seconds: float) -> bool:
        """Whether one of the processes takes runs by then, or is started for the first run."""
        return not self._least or self._ready.wait(seconds)

    def adopt(self, run_id: int) -> None:
        """Give the run to a process, or wake it in the one that has it; nothing where all are full."""
        with self._lock:
            if self.drains:
                return
            member = self._holder(run_id) or self._chosen(run_id)
            if member is None:
                log.warning("run %s waits: no process has room for it", run_id)
                return
            member.runs.add(run_id)
            self._note_last(run_id, member)
            if not member.is_ready:
                return  # it is told when it is
        self._order(member, f"adopt {run_id}")

    def drain(self) -> None:
        """Have all processes give their runs back, and end."""
        with self._lock:
            self.drains = True
            members = list(self._members)
        for member in members:
            self._order(member, "drain")

    def stop(self, seconds: float) -> None:
        """Drain, and wait for the ends for so long; who has not ended then is killed."""
        self.drain()
        deadline = time.monotonic() + seconds
        for member in list(self._members):
            try:
                member.process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                member.process.send_signal(signal.SIGKILL)

    def describe(self) -> list[dict[str, object]]:
        """The processes, for those who ask what this worker does."""
        with self._lock:
            return [
                {
                    "pid": one.process.pid,
                    "busy_percent": one.busy,
                    "memory_mib": one.memory_mib,
                    "runs": sorted(one.runs),
                    "done": {str(run): dict(done) for run, done in one.done.items()},
                }
                for one in self._members
            ]

    # Choosing

    def _holder(self, run_id: int) -> Member | None:
        holder = next((one for one in self._members if run_id in one.runs), None)
        if holder is not None and holder.is_silent:
            holder.runs.discard(run_id)
            return None
        return holder

    def _chosen(self, run_id: int) -> Member | None:
        roomy = [one for one in self._members if not (one.is_full or one.is_silent or one.ends)]
        least = min(roomy, key=lambda one: one.load, default=None)
        last = self._last.get(run_id)
        if last in roomy and (last.busy < BUSY or (least and least.busy >= BUSY)):
            return last
        if (least is None or least.runs) and len(self._members) < self._size:
            return self._add()
        return least

    def _note_last(self, run_id: int, member: Member) -> None:
        self._last.pop(run_id, None)
        self._last[run_id] = member
        while len(self._last) > MOST_REMEMBERED:
            del self._last[next(iter(self._last))]

    def _order(self, member: Member, line: str) -> None:
        with contextlib.suppress(OSError):  # it has ended; who keeps it finds that out
            member.orders.write(f"{line}\n".encode())
            member.orders.flush()

    # Keeping one, in a thread of its own

    def _add(self) -> Member:
        """Start a process; it takes runs once it says that it is ready."""
        member, answers = _started()
        self._members.append(member)
        keeping = (member, answers)
        threading.Thread(target=self._keep, args=keeping, name="fleet", daemon=True).start()
        return member

    def _keep(self, member: Member, answers: IO[bytes]) -> None:
        """Listen to a process until it ends."""
        with answers:
            for line in answers:
                self._hear(member, line.decode().split())
        code = member.process.wait()
        if not (self.drains or member.ends):
            log.error("a process that hosts runs ended, with status %s", code)
            time.sleep(max(0.0, PAUSE_SECONDS - (time.monotonic() - member.began)))
        with self._lock:
            self._members.remove(member)
            death = _death(member)
            self._last = {run: last for run, last in self._last.items() if last is not member}
        member.at_work.forget_file()
        with contextlib.suppress(OSError):
            member.orders.close()
        if not (self.drains or member.ends):
            self._gone(death)
            self.start()

    def _let_end(self, member: Member) -> None:
        """End a process that has had no runs for a while, unless it has just been given one."""
        with self._lock:
            if member.runs or len(self._members) <= self._least:
                return
            member.ends = True
        self._order(member, "drain")

    def _hear(self, member: Member, words: list[str]) -> None:
        match words:
            case ["ready"]:
                member.at_work.forget_file()
                with self._lock:
                    member.is_ready, member.heard = True, time.monotonic()
                    waiting = sorted(member.runs)
                for run_id in waiting:
                    self._order(member, f"adopt {run_id}")
                self._ready.set()
            case ["rests"]:
                self._let_end(member)
            case ["left", run_id, _]:
                with self._lock:
                    member.runs.discard(int(run_id))
                    member.done.pop(int(run_id), None)
            case ["did", text]:
                done = {int(run_id): work for run_id, work in orjson.loads(text).items()}
                with self._lock:
                    for run_id in member.runs & done.keys():
                        member.done.setdefault(run_id, Counter()).update(done[run_id])
                self._did(member.process.pid, done)
            case ["busy", share, memory]:
                member.busy, member.memory_mib = int(share), int(memory)
                member.heard = time.monotonic()
            case _:
                log.warning("a process that hosts runs said %s", words)


def _death(member: Member) -> Death:
    run_id = member.at_work.run_id
    at_work = run_id if run_id in member.runs else 0  # it may have given that back
    return Death(member.process.pid, sorted(member.runs), at_work, member.memory_mib)


def _started() -> tuple[Member, IO[bytes]]:
    orders, answers = os.pipe(), os.pipe()
    at_work = AtWork.new()
    call = Call("driver", MAIN, (str(at_work.path),))
    process = start_function(call, stdin=orders[0], stdout=answers[1])
    os.close(orders[0])
    os.close(answers[1])
    return Member(process, os.fdopen(orders[1], "wb"), at_work), os.fdopen(answers[0], "rb")


fleet: Fleet | None = None
"""Of this worker."""


def begin(
    size: int, gone: Callable[[Death], None], did: Callable[[int, dict[int, Work]], None]
) -> Fleet:
    """Make the fleet of this worker, and have it started; for *gone* and *did* see Fleet."""
    global fleet
    fleet = Fleet(size, gone, did, rests=has_loader())
    fleet.start()
    return fleet
