"""Slices that a bench commits as a worker does, at a steady pace."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.kernel.recorder import EventRow

Manifest = dict[str, Any]


class Committer:
    """Commits slices of a run, whose lease it takes."""

    def __init__(self, run: Any) -> None:
        from kscope.runs.drive.slices import lease_take

        epoch = lease_take(run.pk, "bench")
        assert epoch is not None
        self._owned: tuple[int, int] = run.pk, epoch
        self._slices = 0

    def commit(self, rows: Sequence[EventRow], objects: Mapping[str, Manifest | None]) -> float:
        """Commit a slice of events, the last of which writes the *objects*, and tell of it.

        Returns when it was committed, by the monotonic clock.
        """
        from engine.api_server.store.write_record import Written
        from engine.cluster.cluster import Slice
        from kscope.runs.drive.slices import Commit, Head, slice_commit, slice_packed
        from kscope.runs.nudges import publish_slice

        last = rows[-1]
        written = dict.fromkeys(objects, Written(1, last.seq))
        piece = Slice([], [*rows], {**objects}, written, [], [])
        head = Head(
            seq=last.seq, at=last.at, steps=self._slices, commands=0, digest="", next_at=None
        )
        slice_commit(*self._owned, Commit(packed=slice_packed(piece), head=head))
        committed = time.monotonic()
        publish_slice(self._owned[0], [])
        self._slices += 1
        return committed


def paced(count: int, per_second: int) -> Iterator[int]:
    """The numbers below *count*, so many a second."""
    due = time.monotonic()
    for number in range(count):
        yield number
        due += 1 / per_second
        time.sleep(max(0.0, due - time.monotonic()))
