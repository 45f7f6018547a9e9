"""A loop over the drivers of many runs: the one whose time has come has the next turn.

Everything that others want of it goes through one inbox: nudges of users, slices that were written,
leases that were lost, and runs to be taken. Its thread sleeps there until the next run is due, so
that a run which waits for the clock holds nothing but its engine.
"""

import contextvars
import heapq
import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue

import redis
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from engine.cluster.cluster import Cluster
from engine.kernel.garbage import collector_paused
from kscope.database_format import WrongFormat
from kscope.logs import bind
from kscope.runs import measures
from kscope.runs.drive import garbage, slices
from kscope.runs.drive.committer import Committer
from kscope.runs.drive.driver import Driver
from kscope.runs.drive.ending.stopping import is_stopping
from kscope.runs.drive.ending.stuck import moved_on
from kscope.runs.drive.engines import (
    MOST_BYTES,
    engine_kept_of,
    engine_memory,
    engines_forget,
    engines_memory,
    engines_rest,
)
from kscope.runs.drive.garbage import Collector, GrowthCollector
from kscope.runs.drive.hosting.ownership import run_own, run_take
from kscope.runs.drive.keeper import Keeper, leases_keep
from kscope.runs.drive.turns.stint import AT_ONCE, Turns
from kscope.runs.nudges import WakeListener

LOOK_SECONDS = 0.25  # between two looks whether the loop is to stop
# So many slices a second may be written only because time passes, of all runs together.
QUIET_COMMITS = 20
QUIET_SECONDS = 0.2
# The runs of a loop that keep up with the clock have together at most so many slices a second.
PACED_SLICES = 500
GAP_SECONDS = 0.005
# A process that gave a run away waits for so long until it looks at its memory again.
FREEING_SECONDS = 5.0
LONG_TURN_SECONDS = 0.002
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Hosted:
    """A run of the loop: its driver, when its next turn is, and what it has used."""

    driver: Driver
    turns: Turns[str]
    context: contextvars.Context
    due: float = AT_ONCE
    ticket: int = 0
    seconds: float = 0.0
    """Of its turns."""
    since: float = field(default_factory=time.monotonic)

    @property
    def share(self) -> float:
        """Its part of the time since it was taken."""
        return self.seconds / max(time.monotonic() - self.since, 1.0)


class Loop:
    """Hosts the drivers of runs in the thread that calls `run`; others may call what says so."""

    def __init__(
        self,
        *,
        threads: int = 1,
        left: Callable[[int, str], None] = lambda run_id, why: None,
        at_work: Callable[[int], None] = lambda run_id: None,
        is_alone: bool = True,
    ) -> None:
        """*threads* write slices. *left* is told of each run that it has no longer, and why.
        *at_work* is told whose turn it is, and 0 after it.

        Where the loop is not alone in its process, others need the garbage collector.
        """
        self._is_alone = is_alone
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._hosted: dict[int, Hosted] = {}
        self._due: list[tuple[float, int, int]] = []
        """A heap of (time, ticket, run); of a run the newest ticket counts."""
        self._tickets = 0
        self._current: Hosted | None = None
        self._committer = Committer(threads)
        self._left = left
        self._at_work = at_work
        self._ends = threading.Event()
        self._has_stopped = False
        self._collector = Collector()
        self._growth = GrowthCollector()
        self._looked_at_memory = time.monotonic()
        self._memory = garbage.resident_bytes()

    # What other threads call

    def put(self, what: Callable[[], None]) -> None:
        """Have the loop's thread call *what* soon."""
        self._inbox.put(what)

    def owned(self) -> Sequence[Driver]:
        """The drivers, for the keeper."""
        return [one.driver for one in list(self._hosted.values())]

    @property
    def hosts(self) -> bool:
        """Whether it has runs."""
        return bool(self._hosted)

    def current(self) -> Driver | None:
        """The driver whose turn it is, for the keeper."""
        current = self._current
        return current.driver if current else None

    def lose(self, run_id: int, epoch: int) -> None:
        """Another process has the run, for the keeper; it was ours in that epoch."""
        self.put(partial(self._throw, run_id, epoch))

    def nudge(self, run_id: int) -> None:
        """The user wants something else of the run, or there are commands."""
        if run_id in self._hosted:
            self.put(partial(self._nudged, run_id))

    def end(self) -> None:
        """Have `run` return once it has no runs."""
        self._ends.set()
        self.put(lambda: None)

    def engine_at_head(self, run_id: int) -> Cluster | None:
        """The engine of a run, if it stands where the record of the run does."""
        hosted = self._hosted.get(run_id)
        return hosted.driver.engine_at_head() if hosted else engine_kept_of(run_id)

    # What drivers ask

    @property
    def quiet_seconds(self) -> float:
        """See Host."""
        return max(QUIET_SECONDS, len(self._hosted) / QUIET_COMMITS)

    @property
    def gap_seconds(self) -> float:
        """See Host."""
        return max(GAP_SECONDS, len(self._hosted) / PACED_SLICES)

    def write(self, run_id: int, epoch: int, commit: slices.Commit) -> "Future[slices.Controls]":
        """See Host."""
        written = partial(self.put, partial(self._wake, run_id))
        return self._committer.write(run_id, epoch, commit, written)

    def before_long_step(self, run_id: int, epoch: int) -> None:
        """See Host."""
        try:
            slices.lease_renew(run_id, epoch, lease=slices.LONG_LEASE)
            others = [one for one in self.owned() if one.run_id != run_id]
            if others:
                leases_keep(others, slices.LONG_LEASE)
        except (OperationalError, InterfaceError) as problem:
            # Nobody else can take them either. What is written after the step waits for it.
            log.warning("leases were not renewed: %s", problem)
            connection.close()

    def memory_of_others(self, run_id: int) -> int:
        """See Host."""
        others = sum(one.driver.grown for key, one in self._hosted.items() if key != run_id)
        return others + engines_memory()

    # The loop's thread

    def adopt(self, run_id: int) -> None:
        """Take the run, unless another process has it; one that is here already is only woken."""
        if run_id in self._hosted:
            self._nudged(run_id)
            return
        try:
            epoch = None if is_stopping() else run_take(run_id)
        except WrongFormat as refusal:
            log.warning("nothing is done: %s", refusal)
            epoch = None
        except (OperationalError, InterfaceError) as problem:
            log.warning("run %s is left to the sweeper: %s", run_id, problem)
            connection.close()
            epoch = None
        if epoch is None:
            self._left(run_id, "refused")
            return
        driver = Driver(run_id, epoch, self)
        driver.grown = engine_memory(run_id)
        context = contextvars.copy_context()
        context.run(bind, run=run_id, epoch=epoch, seq=None)
        self._hosted[run_id] = Hosted(driver, run_own(driver), context)
        self._wake(run_id)

    def run(self, *, forever: bool = False) -> None:
        """Host runs until there are none any more; *forever* until this process is to stop, or `end`."""
        # The threads that write need the interpreter a dozen times per slice, for a moment each.
        # With Python's default they would wait 5 ms for it after every answer of the database.
        sys.setswitchinterval(0.001)
        keeper = Keeper(self)
        keeper.start()
        listening = threading.Thread(target=self._listen, name="nudges", daemon=True)
        listening.start()
        try:
            # An engine has half a million long-lived objects and makes hardly any cyclic garbage:
            # the garbage collector took a tenth of the time.
            with collector_paused() if self._is_alone else nullcontext():
                while self._hosted or (forever and not (is_stopping() or self._ends.is_set())):
                    self._look()
                    self._hear(self._pause())
                    self._take_turn()
        finally:
            self._ends.set()
            keeper.stop()
            self._committer.close()

    def _listen(self) -> None:
        """Pass on nudges; what came while there was no connection is found by a look at all runs."""
        listener = WakeListener()
        has_missed = False
        while not self._ends.is_set():
            try:
                for run_id in listener.wait(1.0):
                    self.nudge(run_id)
                if has_missed:
                    has_missed = False
                    self._nudge_all()
            except redis.RedisError as problem:
                if self._ends.is_set():
                    break
                if not has_missed:
                    log.warning("no nudges: %s", problem)
                has_missed = True
                self._ends.wait(LOOK_SECONDS)
                self._nudge_all()
        listener.close()

    def _nudge_all(self) -> None:
        for run_id in list(self._hosted):
            self.nudge(run_id)

    def _pause(self) -> float:
        """Seconds until the next run is due."""
        while self._due:
            due, ticket, run_id = self._due[0]
            hosted = self._hosted.get(run_id)
            if hosted is not None and hosted.ticket == ticket:
                return min(max(due - time.monotonic(), 0.0), LOOK_SECONDS)
            heapq.heappop(self._due)
        return LOOK_SECONDS

    def _hear(self, seconds: float) -> None:
        """Do what others want, waiting for that for *seconds*."""
        try:
            what = self._inbox.get(timeout=seconds) if seconds > 0 else self._inbox.get_nowait()
            while True:
                what()
                what = self._inbox.get_nowait()
        except Empty:
            return

    def _look(self) -> None:
        """Whether the process is to stop, or is full."""
        moved_on()
        if is_stopping() and not self._has_stopped:
            self._has_stopped = True
            for run_id in list(self._hosted):
                self._wake(run_id)
        now = time.monotonic()
        if now - self._looked_at_memory > garbage.MEASURE_SECONDS:
            self._looked_at_memory = now
            self._look_at_memory(now)

    def _look_at_memory(self, now: float) -> None:
        """Give the run away that is used least, if the process is full and has others."""
        used = self._memory = garbage.resident_bytes()
        if any(hosted.driver.build for hosted in self._hosted.values()):
            self._growth.expect(used)
        else:
            self._growth.look(used)
        # Of a large run that is alone there is nothing to free: to look takes seconds each time.
        if used <= settings.DRIVER_MEMORY_MIB * 2**20 or self._is_alone_with_one():
            return
        engines_forget()
        garbage.give_back()
        if garbage.resident_bytes() > settings.DRIVER_MEMORY_MIB * 2**20 and len(self._hosted) > 1:
            run_id, hosted = min(self._hosted.items(), key=lambda item: item[1].share)
            log.warning("run %s is given away: this process is full", run_id)
            hosted.driver.is_unwanted = True
            self._wake(run_id)
            self._looked_at_memory = now + FREEING_SECONDS

    def _is_alone_with_one(self) -> bool:
        """Whether the process has a single run, or engines of runs that may soon be asked about."""
        if len(self._hosted) > 1:
            return False
        return not engines_memory() or engines_rest(self._hosted.keys())

    def _take_turn(self) -> None:
        """The turn of the run that is due, if one is."""
        if not self._due or self._due[0][0] > time.monotonic():
            return
        _, ticket, run_id = heapq.heappop(self._due)
        hosted = self._hosted.get(run_id)
        if hosted is None or hosted.ticket != ticket:
            return
        began = time.monotonic()
        self._current = hosted
        self._at_work(run_id)
        try:
            due = hosted.context.run(next, hosted.turns)
        except StopIteration as end:
            self._give_back(run_id, end.value)
            return
        finally:
            self._current = None
            self._at_work(0)
        took = time.monotonic() - began
        hosted.seconds += took
        if took > LONG_TURN_SECONDS:
            self._note_growth(hosted.driver)
        self._plan(run_id, max(due, time.monotonic()))

    def _note_growth(self, driver: Driver) -> None:
        """The process has grown for this run: in short turns it hardly does."""
        before, self._memory = self._memory, garbage.resident_bytes()
        driver.grown = max(driver.grown + self._memory - before, 0)

    def _give_back(self, run_id: int, why: str) -> None:
        hosted = self._hosted.pop(run_id)
        hosted.context.run(log.info, "given back: %s", why)
        measures.OWNERSHIPS.labels(why).inc()
        self._left(run_id, why)
        del hosted
        # Of a large engine that is kept there is nothing to free, and to look takes seconds.
        if engine_memory(run_id) <= MOST_BYTES:
            self._collector.look()

    def _plan(self, run_id: int, due: float) -> None:
        self._tickets += 1
        hosted = self._hosted[run_id]
        hosted.due, hosted.ticket = due, self._tickets
        heapq.heappush(self._due, (due, self._tickets, run_id))

    def _wake(self, run_id: int) -> None:
        hosted = self._hosted.get(run_id)
        if hosted is not None:
            self._plan(run_id, min(hosted.due, time.monotonic()))

    def _nudged(self, run_id: int) -> None:
        hosted = self._hosted.get(run_id)
        if hosted is not None:
            hosted.driver.nudge()
            self._wake(run_id)

    def _throw(self, run_id: int, epoch: int) -> None:
        """Have the driver learn that its lease is lost, unless the run was taken anew since."""
        hosted = self._hosted.get(run_id)
        if hosted is None or hosted.driver.epoch != epoch:
            return
        lost = slices.LostLease(f"run {run_id} has another owner than epoch {epoch}")
        try:
            due = hosted.context.run(hosted.turns.throw, lost)
        except StopIteration as end:
            self._give_back(run_id, end.value)
        except slices.LostLease:
            # It has had no turn yet in which to notice.
            self._give_back(run_id, "lost")
        else:
            self._plan(run_id, due)
