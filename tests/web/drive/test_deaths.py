"""Processes that are killed while they compute a run, again and again."""

import os
from collections.abc import Callable

from kscope.runs.drive import slices
from kscope.runs.drive.hosting.at_work import AtWork
from kscope.runs.drive.hosting.fleet import Death
from kscope.runs.drive.hosting.loop import Loop
from kscope.runs.drive.hosting.ownership import owner_of, runs_release
from kscope.runs.models import Run
from tests.web.conftest import drive

Start = Callable[..., Run]
PID = os.getpid()


def die(*runs: Run, at_work: Run | None) -> None:
    """A process takes the runs and is killed while it works on one of them, or waits."""
    for run in runs:
        assert slices.lease_take(run.pk, owner_of(PID)) is not None
    runs_release(Death(PID, [run.pk for run in runs], at_work.pk if at_work else 0, 512))
    for run in runs:
        run.refresh_from_db()


def test_run_that_kills_three_drivers_fails(start: Start) -> None:
    run = start(play=True)
    die(run, at_work=run)
    die(run, at_work=run)
    assert (run.status, run.driver_deaths, run.lease_until) == (Run.Status.PLAYING, 2, None)
    die(run, at_work=run)
    assert run.status == Run.Status.FAILED
    assert run.error.startswith("3 processes in a row ended without a word while they computed")
    assert "512 MiB" in run.error


def test_runs_beside_the_deadly_one_play_on(start: Start) -> None:
    deadly, other = start(play=True), start(play=True)
    for _ in range(3):
        die(deadly, other, at_work=deadly)
    assert deadly.status == Run.Status.FAILED
    assert (other.status, other.driver_deaths, other.lease_until) == (Run.Status.PLAYING, 0, None)


def test_a_run_that_gets_on_is_forgiven(start: Start) -> None:
    run = start(play=True, speed="max")
    die(run, at_work=run)
    die(run, at_work=run)
    drive(run.pk)
    run.refresh_from_db()
    assert (run.status, run.driver_deaths) == (Run.Status.FINISHED, 0)


def test_run_of_another_process_is_not_blamed(start: Start) -> None:
    run = start(play=True)
    assert slices.lease_take(run.pk, "another:1") is not None
    runs_release(Death(PID, [run.pk], run.pk, 512))
    run.refresh_from_db()
    assert run.driver_deaths == 0
    assert run.lease_until is not None


def test_worker_reads_which_run_was_computed() -> None:
    of_worker = AtWork.new()
    of_process = AtWork(of_worker.path)
    of_worker.forget_file()
    assert not of_worker.path.exists()
    of_process.note(2**40)
    assert of_worker.run_id == 2**40


def test_loop_notes_whose_turn_it_is(start: Start) -> None:
    run, noted = start(play=True, speed="max"), list[int]()
    loop = Loop(at_work=noted.append, is_alone=False)
    loop.adopt(run.pk)
    loop.run()
    assert noted[:2] == [run.pk, 0]
    assert noted[-1] == 0
