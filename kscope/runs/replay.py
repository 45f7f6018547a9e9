"""Bringing an engine to a recorded position: recovery after a crash, and looking into the past."""

import logging
from collections.abc import Callable
from typing import Any

from kscope.runs.checkpoints import checkpoint_before, engine_bytes
from kscope.runs.engine import Engine, wiring
from kscope.runs.garbage import uncollected
from kscope.runs.models import Checkpoint, Command, Run
from kscope.runs.stopping import Stopping

CHUNK = 2_000  # callbacks between two signs of life
log = logging.getLogger(__name__)


class Diverged(Exception):
    """Replaying the recorded commands did not lead to the recorded history."""


def _nothing() -> None:
    pass


def engine_at_head(run: Run, *, alive: Callable[[], None] = _nothing) -> Engine:
    """An engine that stands exactly at the committed head of *run*.

    1. Restore the newest checkpoint, or build the engine anew when there is none or this version
       of the code cannot read it.
    2. Carry out the later commands, each at its recorded position.
    3. Go on to the head and compare the digest of the history; what is computed again on the way
       was committed before and is thrown away.

    *alive* is called now and then. Raises Diverged, Stopping.
    """
    checkpoint = checkpoint_before(run.pk, seq=run.head_seq)
    if checkpoint:
        try:
            engine, commands = _restored(checkpoint)
            return _replayed(engine, run, commands, alive)
        except Stopping:
            raise
        except Exception as problem:  # noqa: BLE001 whatever a pickle of another version raises
            log.warning("%s cannot be used: %s; replaying from the start", checkpoint, problem)
    return _replayed(engine_created(run), run, 0, alive)


def engine_created(run: Run) -> Engine:
    """The engine of *run* before its first step."""
    assert wiring.create, "no engine is registered"
    return wiring.create(run)


def engine_at_seq(
    run: Run,
    *,
    seq: int,
    start: int | None = None,
    begin: Callable[[Engine], object] | None = None,
) -> Engine:
    """An engine just after the callback that recorded event *seq* (at most the head).

    It starts at the newest checkpoint not after event *start*, else *seq*; there *begin* is called
    with it. Everything it recorded since is still to be taken. Raises Diverged.
    """
    checkpoint = checkpoint_before(run.pk, seq=seq if start is None else start)
    engine, done = _restored(checkpoint) if checkpoint else (engine_created(run), 0)
    if begin:
        begin(engine)
    for command in _commands_after(run, done):
        if command.outcome_seq is not None and command.outcome_seq > seq:
            break
        if engine.seq >= seq and command.position != engine.steps:
            break
        go_to(engine, steps=command.position or 0, at=command.at or 0)
        engine.apply(wiring.parse_command(command.body))
    while engine.seq < seq:
        if engine.next_at is None:
            raise Diverged(f"the run ends at event {engine.seq}, before {seq}")
        engine.advance(engine.next_at, max_steps=1)
    return engine


def go_to(engine: Engine, *, steps: int, at: int, alive: Callable[[], None] = _nothing) -> None:
    """Advance to exactly (*steps*, *at*). Raises Diverged when the engine does not pass there."""
    while engine.steps < steps:
        before = engine.steps
        engine.advance(at, max_steps=min(CHUNK, steps - before))
        alive()
        if engine.steps == before:
            break
    if engine.steps == steps and engine.now < at:
        engine.advance(at)
    if (engine.steps, engine.now) != (steps, at):
        here = (engine.steps, engine.now)
        raise Diverged(f"the engine stands at (step, time) {here}, recorded was {(steps, at)}")


def _restored(checkpoint: Checkpoint) -> tuple[Engine, int]:
    assert wiring.restore, "no engine is registered"
    frozen = engine_bytes(checkpoint)
    with uncollected():
        engine = wiring.restore(frozen)
    if engine.digest() != checkpoint.digest:
        raise Diverged(f"{checkpoint} holds another history than it was stored with")
    if wiring.prepare:
        wiring.prepare(engine, checkpoint.run_id)
    return engine, checkpoint.commands


def _replayed(engine: Engine, run: Run, done: int, alive: Callable[[], None]) -> Engine:
    for command in _commands_after(run, done):
        go_to(engine, steps=command.position or 0, at=command.at or 0, alive=alive)
        engine.apply(wiring.parse_command(command.body))
    go_to(engine, steps=run.head_steps, at=run.head_at, alive=alive)
    engine.take()
    if (engine.seq, engine.digest()) != (run.head_seq, run.head_digest):
        raise Diverged(
            f"replaying gives {engine.seq} events with digest {engine.digest()}, "
            f"committed are {run.head_seq} with {run.head_digest}"
        )
    return engine


def _commands_after(run: Run, done: int) -> Any:
    return Command.objects.filter(
        run=run, ordinal__gt=done, ordinal__lte=run.head_commands
    ).order_by("ordinal")
