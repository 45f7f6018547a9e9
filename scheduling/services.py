"""The engine, as the runner of `kscope.runs` is given it."""

import zlib
from collections.abc import Sequence
from typing import Any

import orjson
from psycopg import Cursor

from kscope.runs.models import Run, RunEvent
from kscope.runs.past import ObjectLog
from kscope.sim.scenario import Scenario
from scheduling.engine.attempt import SchedulingAttempt
from scheduling.engine.cluster import Cluster
from scheduling.engine.commands import Command
from scheduling.extender_client import HttpTransport


def cluster_create(run: Run) -> Cluster:
    """The cluster at the beginning of *run*. Raises ApiError for an object that is refused."""
    cluster = Cluster.create(
        Scenario.from_dict(run.scenario.document),
        profile=run.profile,
        seed=run.seed,
        tie_break="name" if run.tie_break == "name" else "random",
    )
    cluster_prepare(cluster, run.pk)
    return cluster


def cluster_prepare(cluster: Cluster, run_id: int) -> None:
    """Give the cluster what a checkpoint leaves out: the way to extenders, and their answers.

    What is on the run's record already is answered from there, so that replaying calls nobody.
    """
    if not cluster.asks_extenders:
        return
    calls = cluster.extender_calls
    calls.transport = HttpTransport.from_environment()
    recorded = RunEvent.objects.filter(run_id=run_id, kind="ExtenderCalled", seq__gt=cluster.seq)
    for data in recorded.order_by("seq").values_list("data", flat=True):
        calls.remember(data)


def cluster_restore(blob: bytes) -> Cluster:
    """The cluster of a checkpoint. Raises StaleCheckpoint when other code wrote it."""
    return Cluster.restore(blob)


def cluster_log_objects(cluster: Cluster) -> ObjectLog:
    """Note down every version of every object that the cluster writes from now on."""
    store = cluster.store
    objects = {obj.id: obj.raw for kind in store.kinds() for obj in store.objects(kind)}
    log = ObjectLog(objects, lambda: cluster.seq)
    store.touched = log
    return log


def command_parse(body: dict[str, Any]) -> Command:
    """The command of its JSON form. Raises Invalid."""
    return Command.from_dict(body)


def attempts_write(
    cursor: "Cursor[Any]", run_id: int, attempts: Sequence[SchedulingAttempt]
) -> None:
    """Keep a slice's scheduling attempts, their evidence compressed."""
    if not attempts:
        return
    statement = (
        "COPY scheduling_schedulingattempt"
        " (run_id, pod, number, seq, at, cycle, result, node, evidence) FROM STDIN"
    )
    with cursor.copy(statement) as copy:
        for each in attempts:
            evidence = None
            if each.evidence is not None:
                evidence = zlib.compress(orjson.dumps(each.evidence), 1)
            copy.write_row(
                (
                    run_id,
                    each.pod,
                    each.number,
                    each.seq,
                    each.at,
                    each.cycle,
                    each.result,
                    each.node,
                    evidence,
                )
            )
