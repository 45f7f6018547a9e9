"""Freezing and restoring an engine in pieces, between which other runs have turns."""

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from engine.cluster.cluster import Cluster
from engine.input.generate import synthetic
from engine.kernel.stepwise import finished
from kscope.runs.drive import checkpoints, runner, slices
from kscope.runs.drive.engines import engines_forget
from kscope.runs.drive.hosting.loop import Loop
from kscope.runs.drive.turns import pieces
from kscope.runs.drive.turns.pieces import in_pieces
from kscope.runs.models import Checkpoint, Run


@pytest.fixture(autouse=True)
def every_pause_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_SECONDS", 0.0)


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name == "pieces"]


def test_others_have_turns_between_two_pieces() -> None:
    told: list[str] = []

    def compute(pause: Callable[[], None]) -> int:
        for piece in ("first", "second"):
            told.append(piece)
            pause()
        return 7

    steps = in_pieces(compute)
    next(steps)
    told.append("others")
    next(steps)
    told.append("others")
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert (told, end.value.value) == (["first", "others", "second", "others"], 7)


def test_what_a_piece_raises_is_raised() -> None:
    def compute(pause: Callable[[], None]) -> None:
        pause()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        finished(in_pieces(compute))
    assert threads() == []


def test_pieces_that_nobody_awaits_end() -> None:
    told: list[str] = []

    def compute(pause: Callable[[], None]) -> None:
        pause()
        told.append("more")

    steps = in_pieces(compute)
    next(steps)
    assert threads() == ["pieces"]
    steps.close()
    assert (told, threads()) == ([], [])


def test_an_engine_is_frozen_in_many_pieces() -> None:
    cluster = Cluster.create(synthetic(nodes=60, pods=600))
    cluster.take()
    steps = in_pieces(cluster.checkpoint)
    assert sum(1 for _ in steps) > 5
    blob = finished(in_pieces(cluster.checkpoint))
    assert blob == cluster.checkpoint()
    restored = finished(in_pieces(partial(Cluster.restore, blob)))
    assert (restored.digest(), restored.seq) == (cluster.digest(), cluster.seq)


# The lease of a run is lost in the middle.


@pytest.fixture
def loop(runs_here: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    """Its turns are the test's. Checkpoints come often."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_EVENTS", 1)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SHARE", 0)
    made = Loop()
    yield made
    made._committer.close()


def computes(loop: Loop, run: Run) -> int:
    """Take turns until the engine of the run is being frozen or restored; returns the epoch."""
    engines_forget()
    loop.adopt(run.pk)
    while not threads():
        loop._hear(loop._pause())
        loop._take_turn()
    return loop.owned()[0].epoch


def taken_by_another(run: Run) -> None:
    """Another process has the run, as after a lease that was not renewed."""
    Run.objects.filter(pk=run.pk).update(lease_until=None)
    assert slices.lease_take(run.pk, "another")


def goes_on(run: Run) -> Run:
    """The run, which the other process has played to its end."""
    Run.objects.filter(pk=run.pk).update(lease_until=None)
    engines_forget()
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["freezing", "restoring"])
def test_lost_lease_ends_what_is_frozen_or_restored(
    loop: Loop, start: Callable[..., Run], driven: Run, what: str
) -> None:
    run = start(play=True, speed="max")
    if what == "restoring":
        runner.run_drive(run.pk)
    kept = list(Checkpoint.objects.filter(run=run).values_list("seq", flat=True))
    epoch = computes(loop, run)
    taken_by_another(run)
    loop.lose(run.pk, epoch)
    loop._hear(0)
    assert (loop.hosts, threads()) == (False, [])
    assert list(Checkpoint.objects.filter(run=run).values_list("seq", flat=True)) == kept
    found = goes_on(run)
    assert (found.status, found.head_digest) == (Run.Status.FINISHED, driven.head_digest)


@pytest.mark.django_db(transaction=True)
def test_lost_lease_ends_a_driver_without_a_turn(loop: Loop, start: Callable[..., Run]) -> None:
    run = start()
    loop.adopt(run.pk)
    loop.lose(run.pk, loop.owned()[0].epoch)
    loop._hear(0)
    assert not loop.hosts


@pytest.mark.django_db(transaction=True)
def test_loss_of_an_earlier_lease_ends_nothing(loop: Loop, start: Callable[..., Run]) -> None:
    run = start()
    loop.adopt(run.pk)
    loop.lose(run.pk, loop.owned()[0].epoch - 1)
    loop._hear(0)
    assert loop.hosts
