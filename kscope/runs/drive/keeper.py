"""The keeper: renews the leases of all runs of a loop, and ends a process that hangs.

A commit renews the lease of its run; the others are renewed here, by one statement for all of them. A
thread of its own does that, because one step of a run may take seconds: one scheduling cycle of
thousands of nodes.

    the loop gets on, or computes ─▶ leases are renewed
    it waits for 5 s              ─▶ they are not: other processes may take the runs
    it waits for 120 s            ─▶ the process ends
    300 s of CPU, and no further  ─▶ the run has an error that says so, and the process ends
    a slice is written for 5 s    ─▶ the lease of its run is not renewed, unless the database works on it
    a slice is written for 120 s  ─▶ the process ends; ten times as long while the database works on it
"""

import faulthandler
import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, Protocol

import orjson
from django.db import Error, connection

from engine.kernel.sentences import grouped, say
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
        return say(
            "The first state could not be built: {count} processes that built it ended without a "
            "word, the last one after {seconds} s, at object {done} of {all}, with {memory} MiB. "
            "Most likely this machine has too little memory for it.",
            count=self.lost,
            seconds=round(found["seconds"]),
            done=grouped(found["objects"]),
            all=grouped(found["of"]),
            memory=grouped(found["memory"] // _MIB),
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


class Owner(Protocol):
    """A driver, as the keeper sees it. What the keeper sets, another thread reads."""

    run_id: int
    epoch: int
    build: Build | None
    controls: slices.Controls | None
    renewed_at: float
    writing_since: float | None

    @property
    def progress(self) -> Hashable:
        """Changes whenever the run gets on."""
        ...


class Owners(Protocol):
    """The runs of a loop, for its keeper, whose thread is another one."""

    def owned(self) -> Sequence[Owner]:
        """All of them."""
        ...

    def current(self) -> Owner | None:
        """The one whose turn it is."""
        ...

    def lose(self, run_id: int, epoch: int) -> None:
        """Another process has the run, or it is gone; it was ours in that epoch."""
        ...

    def nudge(self, run_id: int) -> None:
        """The user wants something else, or there are commands."""
        ...


class Keeper:
    """Keeps the runs of the thread that makes it, until it is stopped."""

    def __init__(self, owners: Owners) -> None:
        self._owners = owners
        self._cpu_clock = _cpu_clock_of_this_thread()
        self._looked_at = 0.0
        self._locked: set[int] = set()
        self.judge = stuck.Judge(monotonic(), self._cpu_clock(), self._progress())
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keep", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._end.set()
        # It may wait for a database that has gone; it ends by itself then.
        self._thread.join(LOOK_SECONDS)

    def _run(self) -> None:
        try:
            while not self._end.wait(LOOK_SECONDS):
                self.look()
        finally:
            connection.close()

    def look(self) -> None:
        """Judge the loop, and renew its leases or end it as is due."""
        now = monotonic()
        owners = self._owners.owned()
        self.judge.look(now, self._cpu_clock(), self._progress())
        if owners and self.judge.computes_in_vain:
            self._fail()
            _end_process()
        elif owners and (self.judge.waits_in_vain or self._writes_in_vain(owners, now)):
            log.critical("the driver waits in vain")
            _end_process()
        stuck.is_watched()
        if self.judge.waited < leases.LEASE_SECONDS and now - self._looked_at >= RENEWAL_SECONDS:
            self._looked_at = now
            self._renew(now, [one for one in owners if self._is_kept(one, now)])

    def _progress(self) -> Hashable:
        current = self._owners.current()
        return stuck.moves(), current and (current.run_id, current.progress)

    def _is_kept(self, owner: Owner, now: float) -> bool:
        """Whether others are kept from the run: not if its slice seems to be lost on the way."""
        since = owner.writing_since
        waited = 0.0 if since is None else now - since
        return waited < leases.LEASE_SECONDS or owner.run_id in self._locked

    def _writes_in_vain(self, owners: Sequence[Owner], now: float) -> bool:
        for owner in owners:
            times = stuck.WRITING_TIMES if owner.run_id in self._locked else 1
            since = owner.writing_since
            if since is not None and now - since >= stuck.STUCK_SECONDS * times:
                return True
        return False

    def _renew(self, now: float, owners: Sequence[Owner]) -> None:
        if not owners:
            return
        try:
            found = leases_keep(owners)
        except Error as problem:
            log.debug("leases were not renewed: %s", problem)
            connection.close()
            self._locked = set()
            return
        self._locked = {owner.run_id for owner in owners if found[owner.run_id] == "locked"}
        for owner in owners:
            kept = found[owner.run_id]
            if kept == "lost":
                self._owners.lose(owner.run_id, owner.epoch)
            elif kept == "locked":
                continue
            else:
                owner.renewed_at = now
                if kept.has_commands or kept.controls != owner.controls:
                    self._owners.nudge(owner.run_id)

    def _fail(self) -> None:
        owner = self._owners.current()
        if owner is None:
            return
        seconds = round(stuck.STUCK_CPU_SECONDS)
        if owner.build:
            error = say(
                "The run got no further for {seconds} s of CPU time while its first state was built, "
                "at object {done}. The log of the worker says what it was doing.",
                seconds=seconds,
                done=grouped(owner.build.objects),
            )
        else:
            error = say(
                "The run got no further for {seconds} s of CPU time while it was computed. The log of "
                "the worker says what it was doing.",
                seconds=seconds,
            )
        log.critical("run %s: %s", owner.run_id, error)
        try:
            slices.run_fail(run_id=owner.run_id, epoch=owner.epoch, error=error)
        except Error as problem:
            log.warning("run %s: its error was not written: %s", owner.run_id, problem)


@dataclass(frozen=True, slots=True)
class Polled:
    """What a user wants of a run, and whether there are commands for it."""

    has_commands: bool
    controls: slices.Controls


# A long lease stays as it is, and one that was given back meanwhile is not taken again. A row that somebody writes is left out: its owner most likely, who
# renews the lease with that.
_KEEP = (
    "WITH mine AS (SELECT * FROM jsonb_to_recordset(%(mine)s::jsonb)"
    "  AS mine (id bigint, epoch bigint, building jsonb)),"
    " unlocked AS (SELECT r.id, mine.building FROM runs_run r JOIN mine USING (id)"
    "  WHERE r.lease_epoch = mine.epoch AND r.lease_until IS NOT NULL"
    "  ORDER BY r.id FOR NO KEY UPDATE OF r SKIP LOCKED)"
    " UPDATE runs_run r SET lease_until = greatest(clock_timestamp() + %(lease)s::interval,"
    f"  least(lease_until, clock_timestamp() + interval '{slices.LONG_LEASE}')),"
    " building = CASE WHEN is_started THEN NULL ELSE coalesce(unlocked.building, r.building) END"
    " FROM unlocked WHERE r.id = unlocked.id"
    f" RETURNING r.id, EXISTS (SELECT FROM runs_command c WHERE c.run_id = r.id"
    f"  AND c.status = 'pending'), {slices.CONTROLS}"
)


def leases_keep(
    owners: Sequence[Owner], lease: str = slices.LEASE
) -> dict[int, "Polled | Literal['locked', 'lost']"]:
    """Renew the leases of many runs by one statement, which waits for no lock.

    For each run what its user wants; "locked" where somebody writes its row at this moment; "lost"
    where another process has it, or it is gone.
    """
    mine = [
        {
            "id": owner.run_id,
            "epoch": owner.epoch,
            "building": owner.build.to_dict() if owner.build else None,
        }
        for owner in owners
    ]
    with connection.cursor() as cursor:
        # If a crash loses a renewal, the lease ends early.
        cursor.execute("SET synchronous_commit = off")
        cursor.execute(_KEEP, {"mine": orjson.dumps(mine).decode(), "lease": lease})
        kept = {row[0]: Polled(row[1], slices.Controls(*row[2:])) for row in cursor.fetchall()}
        cursor.execute("RESET synchronous_commit")
        rest = [owner.run_id for owner in owners if owner.run_id not in kept]
        epochs: dict[int, int] = {}
        if rest:
            cursor.execute("SELECT id, lease_epoch FROM runs_run WHERE id = ANY(%s)", [rest])
            epochs = dict(cursor.fetchall())
    return {
        owner.run_id: kept.get(owner.run_id)
        or ("locked" if epochs.get(owner.run_id) == owner.epoch else "lost")
        for owner in owners
    }


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
