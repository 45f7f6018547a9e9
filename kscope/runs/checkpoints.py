"""Saving an engine at a committed head, and getting it back."""

import hashlib
import zlib
from typing import Any

import orjson

from kscope.runs.engine import Engine
from kscope.runs.models import Checkpoint
from kscope.sim.view import State


class CorruptCheckpoint(Exception):
    """A checkpoint's view state does not have the digest it was stored with."""


def view_bytes(state: State) -> bytes:
    """Canonical JSON of a view state."""
    return orjson.dumps(state, option=orjson.OPT_SORT_KEYS)


def view_digest(state: State) -> str:
    """Hex digest of a view state, the same for equal states."""
    return hashlib.sha256(view_bytes(state)).hexdigest()


def checkpoint_freeze(*, run_id: int, engine: Engine, commands: int) -> Checkpoint:
    """The unsaved row for the engine as it stands; everything recorded must have been taken."""
    view = view_bytes(engine.view())
    return Checkpoint(
        run_id=run_id,
        seq=engine.seq,
        at=engine.now,
        steps=engine.steps,
        commands=commands,
        digest=engine.digest(),
        engine=zlib.compress(engine.checkpoint(), 1),
        view=zlib.compress(view, 1),
        view_digest=hashlib.sha256(view).hexdigest(),
    )


def checkpoint_view(checkpoint: Checkpoint) -> State:
    """The stored view state. Raises CorruptCheckpoint."""
    text = zlib.decompress(checkpoint.view)
    if hashlib.sha256(text).hexdigest() != checkpoint.view_digest:
        raise CorruptCheckpoint(f"{checkpoint}: the view state differs from its digest")
    state: State = orjson.loads(text)
    return state


def engine_bytes(checkpoint: Checkpoint) -> bytes:
    """What `Engine.checkpoint` gave."""
    return zlib.decompress(checkpoint.engine)


def checkpoint_before(run_id: int, *, seq: int) -> Checkpoint | None:
    """The newest checkpoint at or before *seq*."""
    return Checkpoint.objects.filter(run_id=run_id, seq__lte=seq).order_by("-seq").first()


def checkpoint_insert(checkpoint: Checkpoint) -> None:
    """Keep it; one that is already there for this seq stays."""
    fields: list[Any] = [checkpoint]
    Checkpoint.objects.bulk_create(fields, ignore_conflicts=True)
