"""Freezing and restoring an engine in pieces, between which other runs have turns."""

import threading
from collections.abc import Callable
from functools import partial

import pytest

from engine.cluster.cluster import Cluster
from engine.input.generate import synthetic
from engine.kernel.stepwise import finished
from kscope.runs.drive.turns import pieces
from kscope.runs.drive.turns.pieces import in_pieces


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
