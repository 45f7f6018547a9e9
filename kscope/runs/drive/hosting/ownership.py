"""One run from when its lease is taken until it is given back, and what is done when it breaks.

Killing the process at any moment loses at most what was not committed (see committer.py), which the
next owner computes again identically (see replay.py).
"""

import logging
import os
import socket
from contextlib import suppress

from django.db import InterfaceError, OperationalError, connection, transaction

from engine.kernel.sentences import grouped, say
from kscope.database_format import WrongFormat, check_connection
from kscope.runs.app_registry import registry
from kscope.runs.drive import slices
from kscope.runs.drive.driver import Driver, EngineEnded
from kscope.runs.drive.ending.stopping import Stopping
from kscope.runs.drive.engines import Live, engine_forget, engine_keep
from kscope.runs.drive.hosting.fleet import Death
from kscope.runs.drive.replay import RecordedOtherwise
from kscope.runs.drive.turns.stint import Turns
from kscope.runs.languages.kept import sentence_kept
from kscope.runs.models import Run
from kscope.runs.nudges import note_if_full, publish_head

log = logging.getLogger(__name__)


def owner_of(pid: int) -> str:
    """How the process of this machine signs leases."""
    return f"{socket.gethostname()}:{pid}"


def run_take(run_id: int) -> int | None:
    """Take the run under a lease, of a new epoch; None when another process has it.

    Raises WrongFormat where the database is a newer version's, and errors of the database.
    """
    check_connection(connection, afresh=True)
    epoch = slices.lease_take(run_id, owner_of(os.getpid()))
    if epoch is None:
        return None
    try:
        # Again: a newer version may have migrated the database just before the lease was taken. One
        # that does so afterwards takes the lease away.
        check_connection(connection, afresh=True)
    except WrongFormat:
        slices.lease_release(run_id, epoch)
        raise
    return epoch


def runs_release(death: Death) -> None:
    """Others may have the runs of a process of this machine that has ended, before their leases do.

    The run that it worked on has an error when that has happened MOST_DEATHS times in a row.
    """
    owner = owner_of(death.pid)
    try:
        if death.at_work:
            _note_death(death, owner)
        with connection.cursor() as cursor:
            cursor.execute(_RELEASE, [death.runs, owner])
    except (OperationalError, InterfaceError) as problem:
        log.warning("the runs of a process that ended are left to the sweeper: %s", problem)
        return
    finally:
        connection.close()
    for run_id in death.runs:
        registry.enqueue(run_id)


def _note_death(death: Death, owner: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        cursor.execute(_COUNT_DEATH, [death.at_work, owner])
        found = cursor.fetchone()
        if found is None or found[0] < MOST_DEATHS:
            return
        deaths, head = found
        error = say(
            "{count} processes in a row ended without a word while they computed this run, the last "
            "one at event {seq}, with {memory} MiB. Most likely this machine has too little memory "
            "for it; the log of the worker says more.",
            count=deaths,
            seq=grouped(head),
            memory=grouped(death.memory_mib),
        )
        cursor.execute(_FAIL, [sentence_kept(error), death.at_work, owner])
    publish_head(death.at_work, head)


MOST_DEATHS = 3
# What the process was writing when it ended is over by then, one way or the other.
LOCK_TIMEOUT = "5s"
_COUNT_DEATH = (
    "UPDATE runs_run SET driver_deaths = driver_deaths + 1"
    " WHERE id = %s AND lease_owner = %s RETURNING driver_deaths, head_seq"
)
_FAIL = (
    "UPDATE runs_run SET status = 'failed', error = %s, lease_until = NULL, steps_wanted = 0,"
    " building = NULL WHERE id = %s AND lease_owner = %s"
)
# What it was writing when it ended may hold the row of its run for a moment.
_RELEASE = (
    "UPDATE runs_run SET lease_until = NULL WHERE id IN (SELECT id FROM runs_run"
    "  WHERE id = ANY(%s) AND lease_owner = %s FOR NO KEY UPDATE SKIP LOCKED)"
)


def run_own(driver: Driver) -> Turns[str]:
    """Drive the run until it is to be given back; says in a word why it was."""
    try:
        return (yield from _owned(driver))
    except (OperationalError, InterfaceError) as problem:
        # The database has been away for too long. The run itself is intact: its lease expires, and
        # the sweeper gives it to a worker again.
        note_if_full(problem)
        log.warning("run %s is left to the sweeper: %s", driver.run_id, problem)
        engine_forget(driver.run_id)
        connection.close()
        return "database"


def _owned(driver: Driver) -> Turns[str]:
    run_id, epoch = driver.run_id, driver.epoch
    try:
        end = yield from driver.turns()
        slices.lease_release(run_id, epoch)
        if end == "idle" and driver.wanted.stopped_by != "memory":
            engine_keep(run_id, Live(driver.engine, epoch, driver.grown))
        # A command that came while the driver was leaving has only tried to wake it.
        if end != "idle" or _needs_driver(run_id):
            registry.enqueue(run_id)
        return end
    except slices.LostLease as lost:
        log.warning("%s", lost)
        engine_forget(run_id)
        return "lost"
    except Stopping:
        slices.lease_release(run_id, epoch)
        registry.enqueue(run_id)
        return "stopping"
    except (OperationalError, InterfaceError):
        raise
    except RecordedOtherwise as found:
        log.warning("%s", found)
        engine_forget(run_id)
        yield from driver.settled()
        _stop_continuing(run_id, epoch, found)
        return "other_version"
    except EngineEnded as ended:
        engine_forget(run_id)
        yield from driver.settled()
        slices.run_fail(run_id=run_id, epoch=epoch, error=ended.args[0])
        publish_head(run_id, 0)
        return "failed"
    except Exception as broken:
        log.exception("run %s failed", run_id)
        engine_forget(run_id)
        yield from driver.settled()
        yield from driver.rows_of_broken()
        slices.run_fail(run_id=run_id, epoch=epoch, error=f"{type(broken).__name__}: {broken}")
        publish_head(run_id, 0)
        return "failed"


def _needs_driver(run_id: int) -> bool:
    with connection.cursor() as cursor:
        return bool(slices.run_needs_driver(cursor, [run_id]))


def _stop_continuing(run_id: int, epoch: int, found: RecordedOtherwise) -> None:
    """The run stays as it was recorded; a fork that was to begin there cannot be made."""
    fork = Run.objects.filter(pk=run_id, goal_at__isnull=False).first()
    if fork is not None:
        error = say(
            "Run {id} was recorded by another version of kscope, which decided differently from "
            "event {seq} on. It cannot be forked there; start a new run.",
            id=fork.parent_id,
            seq=grouped(found.seq),
        )
        slices.run_fail(run_id=run_id, epoch=epoch, error=error)
    else:
        with suppress(slices.LostLease):
            slices.run_stop_continuing(
                run_id=run_id, epoch=epoch, differs_from=found.seq, reason=str(found)
            )
    publish_head(run_id, 0)
