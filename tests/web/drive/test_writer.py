"""Slices written by a process of their own, as those of big runs are."""

import signal
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest

from kscope.runs.drive import committer, runner, slices
from kscope.runs.drive.beginning.clusters import cluster_create
from kscope.runs.drive.writer import Writer
from kscope.runs.models import Run, RunEvent
from scheduling.models import Pod, SchedulingAttempt
from tests.waiting import wait_for
from tests.web.drive.workers import begun, committed

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., Run]


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Writer]:
    """The process, ready, and wanted for every slice."""
    monkeypatch.setattr(committer, "BIG_SLICE", 1)
    found = Writer()
    monkeypatch.setattr(committer, "_writer", found)
    wait_for(lambda: found.is_ready)
    yield found
    found.close()


def not_here(*_slice: Any) -> NoReturn:
    raise AssertionError("written by the worker itself")


def played_alone(run: Run) -> str:
    cluster = cluster_create(run)
    cluster.advance(60 * 10**9)
    cluster.take()
    return cluster.digest()


@pytest.mark.usefixtures("writer")
def test_a_run_is_written_whole_by_the_process(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "slice_commit", not_here)
    run = start(play=True, speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.Status.FINISHED, "")
    assert run.head_digest == played_alone(run)
    seqs = RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True)
    assert list(seqs) == list(range(1, run.head_seq + 1))
    assert Pod.objects.get(run=run, key="default/web").phase == "Running"
    attempt = SchedulingAttempt.objects.filter(run=run, pod="default/giant").first()
    assert attempt is not None
    assert attempt.evidence


@pytest.mark.usefixtures("writer")
def test_the_process_reports_a_lost_lease(start: Start) -> None:
    run = start()
    epoch = slices.lease_take(run.pk, "first")
    assert epoch is not None
    with begun(run.pk, epoch) as driver:
        Run.objects.filter(pk=run.pk).update(lease_until=None)
        assert slices.lease_take(run.pk, "second") == epoch + 1
        driver.engine.advance(10**10)
        with pytest.raises(slices.LostLease):
            committed(driver)
    assert not RunEvent.objects.filter(run=run).exists()


def test_a_run_outlives_its_killed_writer(
    start: Start, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Writer.send

    def send_and_kill(self: Writer, *slice_: Any) -> None:
        send(self, *slice_)
        self._child.send_signal(signal.SIGKILL)
        self._child.wait()

    run = start(play=True, speed="max")
    monkeypatch.setattr(Writer, "send", send_and_kill)
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert (run.status, run.error, run.lease_epoch) == (Run.Status.FINISHED, "", 1)
    assert not writer.is_alive
    assert run.head_digest == played_alone(run)


def test_an_unwritable_slice_gives_the_cause(writer: Writer) -> None:
    writer.send(1, 1, "no commit")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="has no attribute"):
        writer.answer()


def test_a_small_run_starts_no_process(start: Start) -> None:
    run = start(play=True, speed="max")
    runner.run_drive(run.pk)
    assert committer._writer is None
