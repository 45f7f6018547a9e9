"""Saving an engine at a committed head, and getting it back."""

import hashlib
import time
import zlib
from collections.abc import Callable

import orjson
from django.db.models import Max, Q, QuerySet

from engine.cluster.cluster import Cluster
from engine.cluster.source import fingerprint
from engine.kernel.view import State
from kscope.runs.drive.garbage import uncollected
from kscope.runs.models import Checkpoint

CHECKPOINT_EVENTS = 10_000
CHECKPOINT_SHARE = 10  # checkpoints take at most one tenth of the time


class CorruptCheckpoint(Exception):
    """A checkpoint's view state does not have the digest it was stored with."""


def view_bytes(state: State) -> bytes:
    """Canonical JSON of a view state."""
    return orjson.dumps(state, option=orjson.OPT_SORT_KEYS)


def checkpoint_freeze(*, run_id: int, engine: Cluster, commands: int) -> Checkpoint:
    """The row for the engine as it stands; everything recorded must have been taken.

    Before its first step it has the view state alone: to build the engine anew takes hardly longer
    than to thaw it. Only `checkpoint_insert` compresses it, so that the engine need not wait for that.
    """
    view = view_bytes(engine.view())
    with uncollected():
        frozen = engine.checkpoint() if engine.steps else b""
    return Checkpoint(
        run_id=run_id,
        seq=engine.seq,
        at=engine.now,
        steps=engine.steps,
        commands=commands,
        digest=engine.digest(),
        engine=frozen,
        view=view,
        view_digest=hashlib.sha256(view).hexdigest(),
        engine_digest=fingerprint() if frozen else "",
    )


def checkpoint_view(checkpoint: Checkpoint) -> State:
    """The stored view state. Raises CorruptCheckpoint."""
    text = zlib.decompress(checkpoint.view)
    if hashlib.sha256(text).hexdigest() != checkpoint.view_digest:
        raise CorruptCheckpoint(f"{checkpoint}: the view state differs from its digest")
    state: State = orjson.loads(text)
    return state


def engine_bytes(checkpoint: Checkpoint) -> bytes:
    """What `Cluster.checkpoint` gave."""
    return zlib.decompress(checkpoint.engine)


def checkpoint_before(run_id: int, *, seq: int, view_only: bool = False) -> Checkpoint | None:
    """The newest checkpoint at or before *seq*; *view_only* leaves the engine in the database."""
    found = Checkpoint.objects.filter(run_id=run_id, seq__lte=seq).order_by("-seq")
    return (found.defer("engine") if view_only else found).first()


def checkpoints_usable(run_id: int, *, seq: int) -> QuerySet[Checkpoint]:
    """The checkpoints at or before *seq* that this version of the engine wrote, newest first."""
    found = Checkpoint.objects.filter(run_id=run_id, seq__lte=seq, engine_digest=fingerprint())
    return found.order_by("-seq")


def checkpoint_insert(checkpoint: Checkpoint) -> None:
    """Compress and keep it, in the place of one for this seq, which another engine may have written."""
    if checkpoint.engine:
        checkpoint.engine = zlib.compress(checkpoint.engine, 1)
    checkpoint.view = zlib.compress(checkpoint.view, 1)
    Checkpoint.objects.bulk_create(
        [checkpoint],
        update_conflicts=True,
        unique_fields=["run", "seq"],
        update_fields=["at", "steps", "commands", "engine", "engine_digest"],
    )


class CheckpointSchedule:
    """Decides when one owner of a run takes the next checkpoint."""

    def __init__(self, run_id: int, head_seq: int) -> None:
        self._run_id = run_id
        saved = Checkpoint.objects.filter(
            Q(engine_digest=fingerprint()) | Q(engine=b""), run_id=run_id, seq__lte=head_seq
        )
        self._seq: int = saved.aggregate(newest=Max("seq", default=0))["newest"]
        self._allowed = 0.0

    def take(self, engine: Cluster, commands: int, alive: Callable[[], None]) -> Checkpoint | None:
        """A checkpoint of the *engine* as it stands, if one is due; *alive* is called before."""
        started = time.monotonic()
        if self._seq and (engine.seq - self._seq < CHECKPOINT_EVENTS or started < self._allowed):
            return None
        alive()
        checkpoint = checkpoint_freeze(run_id=self._run_id, engine=engine, commands=commands)
        took = time.monotonic() - started
        self._seq = engine.seq
        self._allowed = time.monotonic() + took * CHECKPOINT_SHARE
        return checkpoint
