"""The runner: takes a run under a lease, has it driven, and gives it back.

Killing it at any moment loses at most what was not committed (see committer.py), which the next
owner computes again identically (see replay.py).
"""

import logging
import os
import socket
from contextlib import suppress

from django.db import InterfaceError, OperationalError, connection

from kscope.database_format import WrongFormat, check_connection
from kscope.logs import bound
from kscope.runs import measures
from kscope.runs.app_registry import registry
from kscope.runs.drive import slices
from kscope.runs.drive.driver import Driver, EngineEnded
from kscope.runs.drive.ending.stopping import Stopping
from kscope.runs.drive.engines import Live, engine_forget, engine_keep
from kscope.runs.drive.garbage import Collector
from kscope.runs.drive.replay import RecordedOtherwise
from kscope.runs.models import Run
from kscope.runs.nudges import note_if_full, publish_head

log = logging.getLogger(__name__)


def run_drive(run_id: int) -> None:
    """Take the run if it has no owner, and drive it until it has nothing to do for a while.

    Raises WrongFormat where the database is a newer version's.

    When other runs wait for a worker it stops after a turn and queues up again behind them; when
    this worker is asked to stop, another one goes on.
    """
    check_connection(connection, afresh=True)
    epoch = slices.lease_take(run_id, f"{socket.gethostname()}:{os.getpid()}")
    if epoch is None:
        return
    try:
        # Again: a newer version may have migrated the database just before the lease was taken. One
        # that does so afterwards takes the lease away.
        check_connection(connection, afresh=True)
    except WrongFormat:
        slices.lease_release(run_id, epoch)
        raise
    with bound(run=run_id, epoch=epoch, seq=None):
        end = _drive_owned(run_id, epoch)
        log.info("given back: %s", end)
    measures.OWNERSHIPS.labels(end).inc()
    _collector.look()


def _drive_owned(run_id: int, epoch: int) -> str:
    """Drive the run until it is to be given back; says in a word why it was."""
    try:
        driver = Driver(run_id, epoch)
        try:
            driver.drive()
        finally:
            driver.close()
        slices.lease_release(run_id, epoch)
        if driver.controls.stopped_by != "memory":
            engine_keep(run_id, Live(driver.engine, epoch))
        if driver.yielded:
            registry.enqueue(run_id)
        return "turn" if driver.yielded else "idle"
    except slices.LostLease as lost:
        log.warning("%s", lost)
        engine_forget(run_id)
        return "lost"
    except Stopping:
        slices.lease_release(run_id, epoch)
        registry.enqueue(run_id)
        return "stopping"
    except (OperationalError, InterfaceError) as problem:
        # The database cannot be reached, or ended our transaction to resolve a deadlock. The run
        # itself is intact: its lease expires, and the sweeper gives it to a worker again.
        note_if_full(problem)
        log.warning("run %s is left to the sweeper: %s", run_id, problem)
        engine_forget(run_id)
        connection.close()
        return "database"
    except RecordedOtherwise as found:
        log.warning("%s", found)
        engine_forget(run_id)
        _stop_continuing(run_id, epoch, found)
        return "other_version"
    except EngineEnded as ended:
        engine_forget(run_id)
        slices.run_fail(run_id=run_id, epoch=epoch, error=str(ended))
        publish_head(run_id, 0)
        return "failed"
    except Exception as broken:
        log.exception("run %s failed", run_id)
        engine_forget(run_id)
        slices.run_fail(run_id=run_id, epoch=epoch, error=f"{type(broken).__name__}: {broken}")
        publish_head(run_id, 0)
        return "failed"


_collector = Collector()


def _stop_continuing(run_id: int, epoch: int, found: RecordedOtherwise) -> None:
    """The run stays as it was recorded; a fork that was to begin there cannot be made."""
    fork = Run.objects.filter(pk=run_id, goal_at__isnull=False).first()
    if fork is not None:
        error = (
            f"Run {fork.parent_id} was recorded by another version of kscope, which decided "
            f"differently from event {found.seq:,} on. It cannot be forked there; start a new run."
        )
        slices.run_fail(run_id=run_id, epoch=epoch, error=error)
    else:
        with suppress(slices.LostLease):
            slices.run_stop_continuing(
                run_id=run_id, epoch=epoch, differs_from=found.seq, reason=str(found)
            )
    publish_head(run_id, 0)
