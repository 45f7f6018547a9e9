"""Saving an engine and its view at a committed head, and getting the engine back."""

import time
import zlib
from collections.abc import Callable, Generator
from dataclasses import dataclass

import zstandard
from django.db.models import QuerySet

from engine.cluster.cluster import Cluster
from engine.cluster.source import fingerprint
from engine.kernel.garbage import collector_paused
from kscope.runs.drive.turns.pieces import in_pieces
from kscope.runs.history.keyframes import (
    Frozen,
    KeyframeSchedule,
    first_keyframe,
    keyframe_insert,
)
from kscope.runs.models import Checkpoint
from kscope.runs.record.parts import in_history

CHECKPOINT_EVENTS = 10_000
END_EVENTS = 1_000  # that would have to be replayed for each question about a run that is over
# Higher levels take three times the work for a tenth of the bytes.
LEVEL = 3
CHECKPOINT_SHARE = 10  # checkpoints take at most one tenth of the time


@dataclass(frozen=True, slots=True)
class Saved:
    """What is written with a slice so that it can be looked at, and gone on from, later."""

    keyframe: Frozen
    checkpoint: Checkpoint | None = None


def checkpoint_freeze(
    *, run_id: int, engine: Cluster, commands: int
) -> Generator[None, None, Checkpoint]:
    """The row for the engine as it stands, in steps; everything recorded must have been taken.

    Only `checkpoint_insert` compresses it, so that the engine need not wait for that.
    """
    with collector_paused():
        frozen = yield from in_pieces(engine.checkpoint)
    return Checkpoint(
        run_id=run_id,
        seq=engine.seq,
        at=engine.now,
        steps=engine.steps,
        commands=commands,
        digest=engine.digest(),
        engine=frozen,
        engine_digest=fingerprint(),
    )


def engine_bytes(checkpoint: Checkpoint) -> bytes:
    """What `Cluster.checkpoint` gave."""
    kept = bytes(checkpoint.engine)
    if kept.startswith(zstandard.FRAME_HEADER):
        return zstandard.ZstdDecompressor().decompress(kept)
    # As it was kept before database format 8.
    return zlib.decompress(kept)


def checkpoints_usable(run_id: int, *, seq: int) -> QuerySet[Checkpoint]:
    """The checkpoints at or before *seq* that this version of the engine wrote, newest first."""
    found = Checkpoint.objects.filter(in_history(run_id)).filter(
        seq__lte=seq, engine_digest=fingerprint()
    )
    return found.order_by("-seq")


def checkpoint_insert(checkpoint: Checkpoint) -> None:
    """Compress and keep it, in the place of one for this seq, which another engine may have written."""
    # It is compressed already where it could not be written the last time.
    if not checkpoint.engine.startswith(zstandard.FRAME_HEADER):
        checkpoint.engine = zstandard.ZstdCompressor(level=LEVEL).compress(checkpoint.engine)
    Checkpoint.objects.bulk_create(
        [checkpoint],
        update_conflicts=True,
        unique_fields=["run", "seq"],
        update_fields=["at", "steps", "commands", "engine", "engine_digest"],
    )


def saved_insert(saved: Saved) -> None:
    """Write a keyframe, and its checkpoint where there is one."""
    keyframe_insert(saved.keyframe)
    if saved.checkpoint is not None:
        checkpoint_insert(saved.checkpoint)


class CheckpointSchedule:
    """Decides when one owner of a run takes the next keyframe, and the next checkpoint.

    A keyframe costs what changed, and comes every so many events. A checkpoint costs what there is.
    """

    def __init__(self, run_id: int, head_seq: int, borrowed: int = -1) -> None:
        """A fork keeps nothing up to event *borrowed*: its ancestors have."""
        self._run_id, self._borrowed = run_id, borrowed
        saved = checkpoints_usable(run_id, seq=head_seq).values_list("seq", flat=True).first()
        self._has_one = saved is not None
        # Without one, an engine is built and replayed from the first state on.
        self._seq: int = max(saved or first_keyframe(run_id), borrowed)
        self._allowed = 0.0
        self._keyframes = KeyframeSchedule(run_id, head_seq)

    def take(
        self, engine: Cluster, commands: int, alive: Callable[[], None], *, at_end: bool = False
    ) -> Generator[None, None, Saved | None]:
        """What is to be saved of the *engine* as it stands, in steps between which it stands still.

        *alive* is called before a checkpoint. *at_end* the run is over: questions about it begin
        with what is saved there.
        """
        if engine.seq <= self._borrowed:
            return None
        started = time.monotonic()
        has_checkpoint = self._is_due(engine, started, at_end=at_end)
        if not (has_checkpoint or self._keyframes.is_due(engine.seq)):
            return None
        if not has_checkpoint:
            return Saved(self._keyframes.take(engine))
        alive()
        keyframe = self._keyframes.take(engine)
        checkpoint = yield from checkpoint_freeze(
            run_id=self._run_id, engine=engine, commands=commands
        )
        took = time.monotonic() - started
        self._seq, self._has_one = engine.seq, True
        self._allowed = time.monotonic() + took * CHECKPOINT_SHARE
        return Saved(keyframe, checkpoint)

    def _is_due(self, engine: Cluster, now: float, *, at_end: bool) -> bool:
        if not engine.steps:
            # To build the engine of the first state takes hardly longer than to thaw it.
            self._seq = engine.seq
            return False
        since = engine.seq - self._seq
        if at_end and (since >= END_EVENTS or not self._has_one):
            return True
        return since >= CHECKPOINT_EVENTS and now >= self._allowed
