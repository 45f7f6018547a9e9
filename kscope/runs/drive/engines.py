"""Engines of runs: the few that this process keeps between two tasks, and how one is built."""

from dataclasses import dataclass

from engine.cluster.cluster import Cluster
from kscope.runs.drive.beginning.clusters import cluster_touch_objects
from kscope.runs.drive.replay import Progress, engine_at_head, engine_created
from kscope.runs.models import Run


@dataclass(slots=True)
class Live:
    """An engine kept between two tasks of this process, and the lease under which it was driven."""

    engine: Cluster
    epoch: int


_live: dict[int, Live] = {}
_KEEP = 4


def engine_keep(run_id: int, live: Live) -> None:
    """Keep the engine for the next task, in place of the one that was kept longest."""
    _live.pop(run_id, None)
    _live[run_id] = live
    while len(_live) > _KEEP:
        del _live[next(iter(_live))]


def engine_forget(run_id: int) -> None:
    """Keep the engine of this run no longer."""
    _live.pop(run_id, None)


def engines_forget() -> None:
    """Keep no engine any longer, to free memory."""
    _live.clear()


def engine_for(run: Run, epoch: int, progress: Progress) -> Cluster:
    """The engine of *run* at its head, for its owner of this *epoch*; a kept one if it is there.

    *progress* is called while an engine is computed, and may raise.
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
        return engine_at_head(run, progress=progress)
    if run.head_seq == 0:
        return engine_created(run, progress)
    # A fork whose first events are copies: there are no rows of its objects yet.
    engine = engine_at_head(run, progress=progress)
    cluster_touch_objects(engine)
    return engine
