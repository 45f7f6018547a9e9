"""Workers that a test kills, each a process of its own."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

from engine.kernel.stepwise import finished
from engine.kernel.units import SECOND
from kscope.runs.drive import slices
from kscope.runs.drive.driver import Driver
from kscope.runs.drive.hosting.loop import Loop
from kscope.runs.models import Run
from kscope.up.processes import Call, ForkedProcess, forked
from tests.loaders import loader


@contextmanager
def begun(run_id: int, epoch: int) -> Iterator[Driver]:
    """A driver that has its engine, and has written nothing; its turns are the test's."""
    loop = Loop()
    driver = Driver(run_id, epoch, loop)
    finished(driver._begin())
    try:
        yield driver
    finally:
        loop._committer.close()


def committed(driver: Driver) -> None:
    """Have the driver commit what its engine has recorded. Raises what comes of it."""
    finished(driver._commit())
    assert driver._writing is not None
    driver._writing.result()


@contextmanager
def behind(run: Run) -> Iterator[Driver]:
    """A driver that has written the first state with its rows, and then a slice without any."""
    epoch = slices.lease_take(run.pk, "first")
    assert epoch is not None
    with begun(run.pk, epoch) as driver:
        finished(driver._commit(writes_rows=True))
        driver.engine.advance(SECOND)
        committed(driver)
        yield driver
    run.refresh_from_db()


def left_behind(run: Run) -> Run:
    """The run, whose driver has died before it wrote rows of objects."""
    with behind(run):
        pass
    Run.objects.filter(pk=run.pk).update(lease_until=None)
    return Run.objects.get(pk=run.pk)


class Worker:
    """A process that drives a run and commits often, or writes a first state; it has begun."""

    def __init__(self, run_id: int, chunk: int, hash_seed: int, *, does: str = "drive") -> None:
        """*chunk* callbacks are computed, or rows are written, between two commits at most."""
        words = (str(connection.settings_dict["NAME"]), str(run_id), str(chunk))
        extenders = os.environ.get("KSCOPE_EXTENDERS", "")
        call = Call("killed worker", f"tests.web.drive.workers:{does}", (*words, extenders))
        ours, theirs = os.pipe()
        with Path(os.devnull).open("rb") as nothing, os.fdopen(theirs, "wb") as output:
            files = (nothing.fileno(), output.fileno(), sys.__stderr__.fileno())
            self._process: ForkedProcess = forked(loader(str(hash_seed)), call, files)
        self._said = os.fdopen(ours, "rb")
        self._said.readline()

    def wait_for_step(self) -> None:
        """Until it has committed once more; only a process that writes a first state says so."""
        assert self._said.readline() == b"a step\n"

    def kill(self) -> bool:
        """Kill -9 it and wait until it is gone; whether that hit it, for it may have ended before."""
        self._process.send_signal(signal.SIGKILL)
        self._said.close()
        return self._process.wait() == -signal.SIGKILL


def drive() -> None:
    """What such a process does."""
    from kscope.runs.drive import checkpoints, driver, runner
    from kscope.runs.drive.moving import clock
    from kscope.runs.drive.same_database import database_use
    from kscope.runs.drive.turns import stint

    database, run_id, chunk, extenders = sys.argv[1:]
    os.environ["KSCOPE_EXTENDERS"] = extenders
    database_use(database)
    stint.SLICE_SECONDS, clock.CHUNK, driver.LINGER_SECONDS = 0.002, int(chunk), 0
    checkpoints.CHECKPOINT_EVENTS, checkpoints.CHECKPOINT_SHARE = 300, 0
    print("it begins", flush=True)
    runner.run_drive(int(run_id))


def build() -> None:
    """The same of a process that writes a first state in steps, and rests after each of them."""
    from kscope.runs.drive import runner
    from kscope.runs.drive.same_database import database_use
    from kscope.runs.drive.tables import unwritten

    database, run_id, step, _ = sys.argv[1:]
    database_use(database)
    unwritten.STEP = int(step)
    commit = slices.slice_commit

    def slowly(run: int, epoch: int, one: slices.Commit) -> slices.Controls:
        controls = commit(run, epoch, one)
        if one.rows_are_new:
            print("a step", flush=True)
            time.sleep(1.0)
        return controls

    slices.slice_commit = slowly
    print("it begins", flush=True)
    runner.run_drive(int(run_id))
