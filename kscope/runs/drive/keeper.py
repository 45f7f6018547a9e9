"""The keeper: renews the lease of a run while its driver computes for long, and ends one that hangs.

A driver renews the lease with each slice, and between two of them. It cannot while one call takes
seconds or minutes: the first state of a large cluster, a replay, one scheduling cycle of thousands of
nodes. Meanwhile a thread of its own does, for as long as the driver's thread gets on or computes.

    computes, or gets on ─▶ the lease is renewed
    waits for 5 s        ─▶ it is not: another worker may take the run
    waits for 120 s      ─▶ the process ends
    300 s of CPU, and no further ─▶ the run has an error that says so, and the process ends
"""

import faulthandler
import logging
import os
import threading
import time
from collections.abc import Callable
from time import monotonic
from typing import Any

from django.db import Error, connection

from engine.cluster.cluster import Cluster
from kscope.runs import leases
from kscope.runs.drive import slices
from kscope.runs.drive.ending import stuck
from kscope.runs.drive.garbage import resident_bytes

LOOK_SECONDS = 0.5
RENEWAL_SECONDS = 1.0
# Who builds for so long, and then ends without a word, has been killed for it: by the system, for
# its memory, or for hanging.
LONG_BUILD_SECONDS = 10.0
MOST_LOST_BUILDS = 3
_MIB = 1024 * 1024
log = logging.getLogger(__name__)


class Build:
    """How far the first state of a run is, and how often it was begun in vain."""

    def __init__(self, before: dict[str, Any] | None) -> None:
        """*before* is how the run's row describes the attempt before; None without one."""
        found = before or {}
        was_long = found.get("seconds", 0) >= LONG_BUILD_SECONDS
        self.lost: int = found.get("lost", 0) + was_long
        self.before = found
        self.objects = self.of = 0
        self._began = monotonic()

    @property
    def why_not(self) -> str:
        """Why it is not begun once more; "" if it is."""
        if self.lost < MOST_LOST_BUILDS:
            return ""
        found = self.before
        return (
            f"The first state could not be built: {self.lost} processes that built it ended without "
            f"a word, the last one after {found['seconds']:.0f} s, at object {found['objects']:,} of "
            f"{found['of']:,}, with {found['memory'] // _MIB:,} MiB. Most likely this machine has too "
            "little memory for it."
        )

    def to_dict(self) -> dict[str, Any]:
        """As the run's row describes it."""
        return {
            "lost": self.lost,
            "objects": self.objects,
            "of": self.of,
            "seconds": round(monotonic() - self._began, 1),
            "memory": resident_bytes(),
        }


class Keeper:
    """Keeps the run of the thread that makes it, until it is stopped."""

    def __init__(self, run_id: int, epoch: int, build: Build | None) -> None:
        """*build* is what the driver builds; None for a run that has begun."""
        self._run_id, self._epoch = run_id, epoch
        self.build = build
        self.engine: Cluster | None = None
        self.is_lost = False
        self._cpu_clock = _cpu_clock_of_this_thread()
        # The driver reads the run's row again before anything else, and may as well renew then.
        self._renewed_at = monotonic() - RENEWAL_SECONDS
        self._writes = False
        self.judge = stuck.Judge(monotonic(), self._cpu_clock(), self._progress())
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"keep-{run_id}", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._end.set()
        # It may wait for a database that has gone; it ends by itself then.
        self._thread.join(LOOK_SECONDS)

    def renewed(self) -> None:
        """The driver has just renewed the lease itself."""
        self._renewed_at = monotonic()

    @property
    def renewed_ago(self) -> float:
        """The seconds since the lease was renewed."""
        return monotonic() - self._renewed_at

    def _run(self) -> None:
        try:
            while not self._end.wait(LOOK_SECONDS):
                self.look()
        finally:
            connection.close()

    def look(self) -> None:
        """Judge the driver, and renew its lease or end it as is due."""
        now = monotonic()
        self.judge.look(now, self._cpu_clock(), self._progress(), writes=self._writes)
        if self.judge.computes_in_vain:
            self._fail()
            _end_process()
        elif self.judge.waits_in_vain:
            log.critical("run %s: the driver waits in vain", self._run_id)
            _end_process()
        stuck.is_watched()
        is_due = now - self._renewed_at >= RENEWAL_SECONDS
        if is_due and (self.judge.waited < leases.LEASE_SECONDS or self._writes):
            self._renew(now)

    def _progress(self) -> tuple[int, int, int]:
        engine, build = self.engine, self.build
        return stuck.moves(), engine.steps if engine else 0, build.objects if build else 0

    def _renew(self, now: float) -> None:
        building = self.build.to_dict() if self.build and self.engine is None else None
        try:
            kept = slices.lease_keep(self._run_id, self._epoch, building)
        except Error as problem:
            log.debug("run %s: the lease was not renewed: %s", self._run_id, problem)
            connection.close()
            self._writes = False
            return
        self._writes = kept == "locked"
        self.is_lost = kept == "lost"
        if kept == "kept":
            self._renewed_at = now

    def _fail(self) -> None:
        where = "while it was computed"
        if self.build and self.engine is None:
            where = f"while its first state was built, at object {self.build.objects:,}"
        error = (
            f"The run got no further for {stuck.STUCK_CPU_SECONDS:.0f} s of CPU time {where}. The "
            "log of the worker says what it was doing."
        )
        log.critical("run %s: %s", self._run_id, error)
        try:
            slices.run_fail(run_id=self._run_id, epoch=self._epoch, error=error)
        except Error as problem:
            log.warning("run %s: its error was not written: %s", self._run_id, problem)


def _cpu_clock_of_this_thread() -> Callable[[], float]:
    thread = threading.current_thread().ident
    assert thread is not None
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


def _end_process() -> None:
    faulthandler.dump_traceback(file=2)
    os._exit(1)
