"""Engines of runs: those that this process keeps although nobody drives them, and how one is made."""

import time
from collections.abc import Callable, Set
from dataclasses import dataclass, field

from django.db import InterfaceError, OperationalError

from engine.cluster.cluster import Cluster
from kscope.runs.drive import outage
from kscope.runs.drive.beginning.clusters import cluster_creating, cluster_touch_objects
from kscope.runs.drive.ending.stopping import Stopping, is_stopping
from kscope.runs.drive.ending.stuck import moved_on
from kscope.runs.drive.replay import Making, head_in_steps
from kscope.runs.drive.turns.stint import AT_ONCE, Turns
from kscope.runs.models import Run


@dataclass(slots=True)
class Live:
    """An engine that is kept, the lease under which it was driven, and by how much this process grew for it."""

    engine: Cluster
    epoch: int
    memory: int = 0
    used: float = field(default_factory=time.monotonic)
    """When it was driven or asked."""


_live: dict[int, Live] = {}
# Someone who pauses a run most likely goes on with it.
_MOST = 16
MOST_BYTES = 512 * 1024 * 1024
ASKED_SECONDS = 120.0
"""A process that hosts no other run keeps an engine for so long after the last question about it."""


def engine_keep(run_id: int, live: Live) -> None:
    """Keep the engine for the next driver here, in place of those that were kept longest."""
    _live.pop(run_id, None)
    _live[run_id] = live
    while len(_live) > 1 and (len(_live) > _MOST or engines_memory() > MOST_BYTES):
        del _live[next(iter(_live))]


def engine_kept_of(run_id: int) -> Cluster | None:
    """The engine of this run, if this process keeps it."""
    live = _live.get(run_id)
    if live is None:
        return None
    live.used = time.monotonic()
    return live.engine


def engine_forget(run_id: int) -> None:
    """Keep the engine of this run no longer."""
    _live.pop(run_id, None)


def engines_forget() -> None:
    """Keep no engine any longer, to free memory."""
    _live.clear()


def engine_memory(run_id: int) -> int:
    """By how many bytes this process grew for the engine of this run, if it keeps that."""
    live = _live.get(run_id)
    return live.memory if live else 0


def engines_rest(hosted: Set[int]) -> bool:
    """Whether each engine that is kept was driven or asked a short while ago.

    False where *hosted*, the runs of this process, need the room.
    """
    now = time.monotonic()
    is_recent = all(now - live.used < ASKED_SECONDS for live in _live.values())
    return is_recent and hosted <= _live.keys()


def engines_used() -> float:
    """When an engine that is kept was driven or asked last, on the monotonic clock; 0 for none."""
    return max((live.used for live in list(_live.values())), default=0.0)


def engines_memory() -> int:
    """By how many bytes this process grew for the engines that it keeps."""
    return sum(live.memory for live in _live.values())


def engine_for(run: Run, epoch: int) -> Making:
    """Make, in steps, the engine of *run* at its head for its owner of this *epoch*.

    It is a kept one if it is there.
    """
    live = _live.pop(run.pk, None)
    if (
        live is not None
        and live.epoch == epoch - 1
        and (live.engine.seq, live.engine.now) == (run.head_seq, run.head_at)
        and live.engine.digest() == run.head_digest  # a restored database has other runs
    ):
        return live.engine
    if run.is_started:
        return (yield from head_in_steps(run))
    if run.head_seq == 0:
        return (yield from cluster_creating(run))
    # A fork whose first events are copies: there are no rows of its objects yet.
    engine = yield from head_in_steps(run)
    cluster_touch_objects(engine)
    return engine


def engine_in_turns(
    run: Run, epoch: int, note: Callable[[int, int], None], is_unwanted: Callable[[], bool]
) -> Turns[Cluster]:
    """The same, while others have turns, and the database may be away for a while.

    *note* is told how many objects of the first state are there, of how many. Raises what it
    raises, and Stopping, also once the engine *is unwanted* here.
    """
    making, away = engine_for(run, epoch), outage.Outage(f"the engine of run {run.pk}")
    try:
        while True:
            due = AT_ONCE
            try:
                told = next(making)
            except StopIteration as end:
                return end.value
            except (OperationalError, InterfaceError) as problem:
                # It is asked before the engine is computed, and hardly ever later.
                making, told, due = engine_for(run, epoch), None, away.meet(problem)
            if told is not None:
                note(*told)
            if is_stopping() or is_unwanted():
                raise Stopping
            moved_on()
            yield due
    finally:
        # A lease may be lost in the middle. Whoever keeps that exception, as a log may, would
        # keep the half of an engine, and the thread that waits to go on with it.
        making.close()
