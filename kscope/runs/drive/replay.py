"""Bringing an engine to a recorded position: recovery after a crash, and looking into the past.

A history that another version of the engine recorded is computed again from its beginning and
compared with the record, event by event, before anything is built on it.
"""

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest

import orjson
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import QuerySet
from django.utils.translation import gettext

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command as EngineCommand
from engine.cluster.initial_objects import Created
from engine.cluster.source import fingerprint
from engine.kernel.errors import SimError
from engine.kernel.garbage import collector_paused
from engine.kernel.loop import NEVER
from engine.kernel.recorder import EventRow
from engine.kernel.stepwise import finished
from kscope.runs import measures
from kscope.runs.drive.beginning.clusters import (
    cluster_create,
    cluster_creating,
    cluster_prepare,
)
from kscope.runs.drive.checkpoints import checkpoints_usable, engine_bytes
from kscope.runs.drive.tables.run_table import Row
from kscope.runs.drive.turns.pieces import in_pieces
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Checkpoint, Command, Run

CHUNK = 500  # callbacks of a step
# Not the engine's doing, so nothing that a replay from the start would mend.
_NOT_THE_ENGINE = (DatabaseError, InterfaceError)
log = logging.getLogger(__name__)


class Diverged(Exception):
    """Replaying the recorded commands did not lead to the recorded history."""


class RecordedOtherwise(Diverged):
    """Another version of the engine recorded the run, and this one differs from event *seq* on."""

    def __init__(self, run: Run, seq: int) -> None:
        super().__init__(
            f"Run {run.pk} was recorded by another version of kscope. From event {seq:,} on, this "
            "version decides differently: the run can be read, but not continued."
        )
        self.seq = seq


# The steps of computing an engine; a step of a first state says how many objects there are, and how
# many there will be.
Making = Generator[Created | None, None, Cluster]


def engine_at_head(run: Run) -> Cluster:
    """An engine that stands exactly at the committed head of *run*. Raises Diverged, RecordedOtherwise."""
    return finished(head_in_steps(run))


def head_in_steps(run: Run) -> Making:
    """Like `engine_at_head`, in steps.

    1. Restore the newest checkpoint that this version of the code wrote, or build the engine anew.
    2. Carry out the later commands, each at its recorded position.
    3. Go on to the head and compare the digest of the history; what is computed again on the way
       was committed before and is thrown away.

    Raises Diverged, RecordedOtherwise.
    """
    found, is_stale = yield from _restored_before(run, seq=run.head_seq)
    if found:
        try:
            with _measured("checkpoint"):
                return (yield from _replayed(*found, run))
        except _NOT_THE_ENGINE:
            raise
        except Exception as problem:  # noqa: BLE001 whatever an engine raises
            log.warning("run %s: %s; replaying from the start", run.pk, problem)
    if is_stale or _is_of_another_engine(run):
        return (yield from _compared(run, run.head_seq))
    with _measured("start"):
        return (yield from _replayed((yield from cluster_creating(run)), 0, run))


def engine_created(run: Run) -> Cluster:
    """The engine of *run* before its first step."""
    with collector_paused():
        return cluster_create(run)


def engine_at_seq(
    run: Run,
    *,
    seq: int,
    start: int | None = None,
    begin: Callable[[Cluster], object] | None = None,
) -> Cluster:
    """An engine just after the callback that recorded event *seq* (at most the head).

    It starts at the newest checkpoint not after event *start*, else *seq*; there *begin* is called
    with it. Everything it recorded since is still to be taken. Raises Diverged, RecordedOtherwise.
    """
    found, is_stale = finished(_restored_before(run, seq=seq if start is None else start))
    if found is None and (is_stale or _is_of_another_engine(run)):
        _check_history(run, seq)
    engine, done = found or (engine_created(run), 0)
    if begin:
        begin(engine)
    with _measured("checkpoint" if found else "start"):
        return finished(_to_event(engine, done, run, seq))


@contextmanager
def replay_refused() -> Iterator[None]:
    """Around a question for which a run is played again: raises ApplicationError where it cannot be."""
    try:
        yield
    except (Diverged, SimError) as problem:
        raise ApplicationError(
            gettext("The run cannot be replayed: {problem}").format(problem=problem), status=409
        ) from problem


def going_to(engine: Cluster, *, steps: int, at: int) -> Generator[None]:
    """Advance to exactly (*steps*, *at*), in steps.

    Raises Diverged when the engine does not pass there.
    """
    while engine.steps < steps:
        before = engine.steps
        engine.advance(at, max_steps=min(CHUNK, steps - before))
        yield
        if engine.steps == before:
            break
    if engine.steps == steps and engine.now < at:
        engine.advance(at)
    if (engine.steps, engine.now) != (steps, at):
        here = (engine.steps, engine.now)
        raise Diverged(f"the engine stands at (step, time) {here}, recorded was {(steps, at)}")


@contextmanager
def _measured(start: str) -> Iterator[None]:
    measures.REPLAYS.labels(start).inc()
    with measures.REPLAY_SECONDS.time():
        yield


def _is_of_another_engine(run: Run) -> bool:
    return run.head_seq > 0 and run.engine_digest != fingerprint()


def _restored_before(
    run: Run, *, seq: int
) -> Generator[None, None, tuple[tuple[Cluster, int] | None, bool]]:
    """The engine of the newest checkpoint at or before *seq*, and the commands it has carried out.

    Also whether there was one that other code wrote: with another version of a plugin, perhaps.
    """
    checkpoint = checkpoints_usable(run.pk, seq=seq).first()
    if checkpoint is None:
        return None, False
    try:
        return (yield from _restored(checkpoint)), False
    except _NOT_THE_ENGINE:
        raise
    except Exception as problem:  # noqa: BLE001 whatever a pickle of another version raises
        log.warning("%s cannot be used: %s; replaying from the start", checkpoint, problem)
        return None, isinstance(problem, SimError)


def _restored(checkpoint: Checkpoint) -> Generator[None, None, tuple[Cluster, int]]:
    frozen = engine_bytes(checkpoint)
    with collector_paused():
        engine = yield from in_pieces(partial(Cluster.restore, frozen))
    if engine.digest() != checkpoint.digest:
        raise Diverged(f"{checkpoint} holds another history than it was stored with")
    cluster_prepare(engine, checkpoint.run_id)
    return engine, checkpoint.commands


def _replayed(engine: Cluster, done: int, run: Run) -> Generator[None, None, Cluster]:
    for command in _commands_after(run, done):
        yield from going_to(engine, steps=command.position or 0, at=command.at or 0)
        engine.apply(EngineCommand.from_dict(command.body))
    yield from going_to(engine, steps=run.head_steps, at=run.head_at)
    engine.take()
    if (engine.seq, engine.digest()) != (run.head_seq, run.head_digest):
        raise Diverged(
            f"replaying gives {engine.seq} events with digest {engine.digest()}, "
            f"committed are {run.head_seq} with {run.head_digest}"
        )
    return engine


def _to_event(engine: Cluster, done: int, run: Run, seq: int) -> Generator[None, None, Cluster]:
    for command in _commands_after(run, done):
        if command.outcome_seq is not None and command.outcome_seq > seq:
            break
        if engine.seq >= seq and command.position != engine.steps:
            break
        yield from going_to(engine, steps=command.position or 0, at=command.at or 0)
        engine.apply(EngineCommand.from_dict(command.body))
    steps = engine.steps
    # What is on record has happened, whoever held the run open for it.
    engine.open_until = NEVER
    while engine.seq < seq:
        if engine.next_at is None:
            raise Diverged(f"the run ends at event {engine.seq}, before {seq}")
        engine.advance(engine.next_at, max_steps=1)
        if engine.steps - steps >= CHUNK:
            steps = engine.steps
            yield
    engine.open_until = 0
    return engine


def _commands_after(run: Run, done: int) -> QuerySet[Command]:
    return Command.objects.filter(
        run=run, ordinal__gt=done, ordinal__lte=run.head_commands
    ).order_by("ordinal")


# Histories that another version recorded.

# Up to which event this process found the history of a run, as it was recorded, to come out again.
_known: dict[tuple[int, str], int] = {}
_MOST_KNOWN = 1_000


def _check_history(run: Run, seq: int) -> None:
    """Raises RecordedOtherwise when this engine differs from the record by event *seq*."""
    key = run.pk, run.engine_digest
    if _known.get(key, 0) < seq:
        finished(_compared(run, seq))
        while len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[key] = seq


def _compared(run: Run, seq: int) -> Making:
    """The engine after event *seq*, from the beginning of the run, every event as on the record.

    Raises RecordedOtherwise with the first that is not.
    """
    comparison = _Comparison(run)
    try:
        with _measured("compared"):
            comparison.engine = engine = yield from cluster_creating(run)
            for _ in _repeated(engine, run, seq):
                yield
                comparison.take()
    except (RecordedOtherwise, *_NOT_THE_ENGINE):
        raise
    except Exception as problem:
        # It refuses what the other took, or does not pass where the other stood.
        log.info("run %s, recorded by another version: %s", run.pk, problem)
        comparison.take_rest()
        raise RecordedOtherwise(run, comparison.seq + 1) from problem
    if seq == run.head_seq and engine.digest() != run.head_digest:
        raise RecordedOtherwise(run, comparison.seq + 1)
    return engine


def _repeated(engine: Cluster, run: Run, seq: int) -> Generator[None]:
    if seq < run.head_seq:
        yield from _to_event(engine, 0, run, seq)
    else:
        for command in _commands_after(run, 0):
            yield from going_to(engine, steps=command.position or 0, at=command.at or 0)
            engine.apply(EngineCommand.from_dict(command.body))
            yield
        yield from going_to(engine, steps=run.head_steps, at=run.head_at)
    yield


class _Comparison:
    """An engine beside the events on record; `seq` is the newest event that they agree on."""

    def __init__(self, run: Run) -> None:
        self.engine: Cluster | None = None
        self.seq = 0
        self._run = run

    def take(self) -> None:
        """Compare what the engine has recorded since. Raises RecordedOtherwise."""
        rows = self.engine.take().rows if self.engine else ()
        if not rows:
            return
        parted = first_parting(self._run.pk, rows)
        if parted is not None and parted <= self._run.head_seq:
            self.seq = parted - 1
            raise RecordedOtherwise(self._run, parted)
        self.seq = min(rows[-1][0], self._run.head_seq)

    def take_rest(self) -> None:
        """Compare what the engine recorded before it broke."""
        try:
            self.take()
        except (RecordedOtherwise, *_NOT_THE_ENGINE):
            raise
        except Exception as problem:  # noqa: BLE001 it broke in the middle of something
            log.info("run %s: %s", self._run.pk, problem)


def first_parting(run_id: int, rows: Sequence[EventRow]) -> int | None:
    """The first of *rows*, which are successive events, that is not as it is on record; None for none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq, at, kind, object, component, cause, message, data_text, changes_text"
            " FROM events_between(%s, %s, %s) ORDER BY seq",
            [run_id, rows[0].seq - 1, rows[-1].seq],
        )
        recorded = cursor.fetchall()
    for row, found in zip_longest(rows, recorded):
        if found is None or _plain(row) != _plain(found):
            return row.seq
    return None


def _plain(row: Row) -> tuple[object, ...]:
    """The columns of an event with the last two, JSON, as values: jsonb writes numbers its own way."""
    return (*row[:7], *(orjson.loads(text) if isinstance(text, str) else None for text in row[7:9]))
