"""The simulated cluster of a run: how it is built, and what it gets from the run's record."""

from collections.abc import Generator
from typing import Any

from django.db.models import QuerySet

from engine.cluster.cluster import Cluster
from engine.cluster.initial_objects import Created
from engine.input.header.external import left_together
from engine.kernel.stepwise import finished
from engine.objects.objects import Manifest
from kscope.runs.contents import loaded_of
from kscope.runs.drive.beginning.extender_client import HttpTransport
from kscope.runs.models import ImportedRun, Run, RunEvent


def cluster_create(run: Run) -> Cluster:
    """The cluster at the beginning of *run*. Raises ApiError for an object that is refused."""
    return finished(cluster_creating(run))


def cluster_creating(run: Run) -> Generator[Created, None, Cluster]:
    """Like `cluster_create`, in steps, each of which says how far it is."""
    chosen: dict[str, Any] = {
        "feature_gates": run.feature_gates,
        "external_scheduler": run.external_scheduler,
    }
    if run.external_controllers:
        said = run.scenario.header.get("external_controllers") or ()
        chosen["external_controllers"] = left_together(said, run.external_controllers)
    if run.configuration is not None:
        chosen["configuration"] = run.configuration
    cluster = yield from Cluster.creating(
        loaded_of(run.scenario, **chosen),
        profile=run.profile,
        seed=run.seed,
        tie_break="name" if run.tie_break == "name" else "random",
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
    for data in _of_file(run_id):
        if data["call"] > calls.number:
            calls.remember(data)


def _of_file(run_id: int) -> list[Any]:
    """The answers that came in a file, from which the run is being played again."""
    playing = ImportedRun.objects.filter(run_id=run_id, verdict=ImportedRun.Verdict.PLAYING)
    return playing.values_list("answers", flat=True).first() or []


def _of_parent(recorded: QuerySet[RunEvent], run_id: int) -> QuerySet[RunEvent]:
    """The recorded calls that a fork will make again while it repeats its parent's history."""
    forks = Run.objects.filter(pk=run_id, goal_at__isnull=False, goal_seq__isnull=False)
    fork = forks.values_list("parent_id", "goal_at").first()
    if fork is None:
        return recorded.none()
    parent_id, at = fork
    return recorded.filter(run_id=parent_id, at__lte=at)


def cluster_touch_objects(cluster: Cluster) -> None:
    """Have the next slice include every object."""
    cluster.store.record.touched = {**manifests_of(cluster), **cluster.store.record.touched}


def manifests_of(cluster: Cluster) -> dict[str, Manifest]:
    """The manifests of all objects, by entity id."""
    store = cluster.store
    return {obj.id: obj.raw for kind in store.kinds() for obj in store.objects(kind)}
