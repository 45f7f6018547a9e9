"""The engine, as the runner of `kscope.runs` is given it."""

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from django.db.models import QuerySet
from psycopg import Connection, Cursor

from engine.cluster.cluster import Cluster
from engine.input.scenario import Scenario
from engine.scheduler.cycle.attempt import SchedulingAttempt
from engine.scheduler.cycle.score_columns import ScoreColumns
from kscope.runs.drive.run_table import RunTable
from kscope.runs.models import Run, RunEvent
from kscope.runs.web.past import ObjectLog
from scheduling.extender_client import HttpTransport

_ATTEMPTS = RunTable(
    "scheduling_schedulingattempt",
    {
        "pod": "text",
        "number": "integer",
        "seq": "bigint",
        "at": "bigint",
        "cycle": "bigint",
        "result": "text",
        "node": "text",
        "evidence": "bytea",
    },
)


def cluster_create(run: Run, progress: Callable[[int, int], None] | None = None) -> Cluster:
    """The cluster at the beginning of *run*. Raises ApiError for an object that is refused.

    *progress* is called with the number of its objects that exist, and that there will be.
    """
    chosen = {"feature_gates": run.feature_gates, "external_scheduler": run.external_scheduler}
    cluster = Cluster.create(
        Scenario.from_dict({**run.scenario.document, **chosen}),
        profile=run.profile,
        seed=run.seed,
        tie_break="name" if run.tie_break == "name" else "random",
        progress=progress,
    )
    cluster_prepare(cluster, run.pk)
    return cluster


def cluster_prepare(cluster: Cluster, run_id: int) -> None:
    """Give the cluster what a checkpoint leaves out: the transport to extenders, and their answers.

    Answers on the run's record are taken from there, so that a replay calls no extender.
    """
    if not cluster.asks_extenders:
        return
    calls = cluster.extender_calls
    calls.transport = HttpTransport.from_environment()
    calls.answers.clear()
    recorded = RunEvent.objects.filter(kind="ExtenderCalled", seq__gt=cluster.seq)
    for events in (recorded.filter(run_id=run_id), _of_parent(recorded, run_id)):
        for data in events.order_by("seq").values_list("data", flat=True):
            calls.remember(data)


def _of_parent(recorded: QuerySet[RunEvent], run_id: int) -> QuerySet[RunEvent]:
    """The recorded calls that a fork will make again while it repeats its parent's history."""
    forks = Run.objects.filter(pk=run_id, goal_at__isnull=False, goal_seq__isnull=False)
    fork = forks.values_list("parent_id", "goal_at").first()
    if fork is None:
        return recorded.none()
    parent_id, at = fork
    return recorded.filter(run_id=parent_id, at__lte=at)


def cluster_log_objects(cluster: Cluster) -> ObjectLog:
    """Note down every version of every object that the cluster writes from now on."""
    manifests, record = _manifests(cluster), cluster.store.record
    written = {entity: record.events_of(entity) for entity in manifests}
    log = ObjectLog(manifests, written, lambda: cluster.seq)
    record.touched = log
    return log


def cluster_touch_objects(cluster: Cluster) -> None:
    """Have the next slice include every object."""
    cluster.store.record.touched = {**_manifests(cluster), **cluster.store.record.touched}


def _manifests(cluster: Cluster) -> dict[str, Any]:
    store = cluster.store
    return {obj.id: obj.raw for kind in store.kinds() for obj in store.objects(kind)}


def attempts_write(
    link: "Connection[Any]", run_id: int, attempts: Sequence[SchedulingAttempt]
) -> None:
    """Keep a slice's scheduling attempts, their evidence compressed."""
    rows = [
        (
            each.pod,
            each.number,
            each.seq,
            each.at,
            each.cycle,
            each.result,
            each.node,
            None if each.evidence is None else _compressed(each.evidence),
        )
        for each in attempts
    ]
    _ATTEMPTS.add(link, run_id, rows)


def _compressed(evidence: dict[str, Any]) -> bytes:
    """The evidence as `selectors.evidence_kept` reads it."""
    return zlib.compress(orjson.dumps(evidence, default=_columns), 1)


def _columns(value: object) -> list[Any]:
    assert isinstance(value, ScoreColumns)
    return value.to_list()


def attempts_copy(cursor: "Cursor[Any]", run_id: int, fork_id: int, seq: int) -> None:
    """Give a fork the attempts that its parent had recorded up to event *seq*."""
    cursor.execute(
        "INSERT INTO scheduling_schedulingattempt"
        " (run_id, pod, number, seq, at, cycle, result, node, evidence)"
        " SELECT %s, pod, number, seq, at, cycle, result, node, evidence"
        " FROM scheduling_schedulingattempt WHERE run_id = %s AND seq <= %s ORDER BY id",
        [fork_id, run_id, seq],
    )
