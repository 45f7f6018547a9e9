"""Why an object is as it is: the question for every kind. For a pending pod, see `inquiry.diagnose`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.deleted import absence
from engine.diagnosis.fork import CopiedForks, Forks, MakeForks
from engine.diagnosis.inquiry import diagnose_in_steps, last_of
from engine.diagnosis.report import SEVERITIES, Cause, Diagnosis, Fix
from engine.diagnosis.subjects.autoscalers import autoscaler_causes
from engine.diagnosis.subjects.budgets import budget_causes
from engine.diagnosis.subjects.changes import changes_for, changes_for_drain
from engine.diagnosis.subjects.claims import claim_causes
from engine.diagnosis.subjects.cron_jobs import CRON_JOB, cron_job_causes
from engine.diagnosis.subjects.goals import Goal
from engine.diagnosis.subjects.nodes import node_causes
from engine.diagnosis.subjects.scene import Scene
from engine.diagnosis.subjects.trials import fixes_for
from engine.diagnosis.subjects.volumes import volume_causes
from engine.diagnosis.subjects.workloads import KINDS, workload_causes
from engine.kernel.garbage import collector_paused
from engine.kernel.sentences import Sentence, say
from engine.objects.autoscalers import AUTOSCALER
from engine.objects.kinds import entity_id
from engine.objects.objects import ApiObject, Node, PersistentVolume, PersistentVolumeClaim, Pod

ASKED: Final = (
    Pod.KIND,
    PersistentVolumeClaim.KIND,
    PersistentVolume.KIND,
    Node.KIND,
    "PodDisruptionBudget",
    *KINDS,
    CRON_JOB,
    AUTOSCALER,
)

# By how entity ids call them: "claim", "node", "deployment".
KIND_OF: Final = {entity_id(kind, "").rstrip("/"): kind for kind in ASKED}


def explain_object(
    cluster: Cluster,
    kind: str,
    key: str,
    *,
    tries_changes: bool = True,
    make_forks: MakeForks = CopiedForks,
) -> Diagnosis:
    """Why the object is as it is at this instant; *kind* is one of `ASKED`.

    *cluster* is left exactly as it is. An object that is not there, or with which nothing is wrong, gets
    a diagnosis that says so. Without *tries_changes* no fix is looked for. Changes are tried in the
    forks of *make_forks*.
    """
    steps = explain_in_steps(cluster, kind, key, make_forks(cluster))
    with collector_paused():
        return last_of(steps) if tries_changes else next(steps)


def explain_in_steps(cluster: Cluster, kind: str, key: str, forks: Forks) -> Iterator[Diagnosis]:
    """As `explain_object`: the causes first, then all that is known after each fix, the whole last."""
    if kind == Pod.KIND:
        yield from _pod(cluster, key, forks)
        return
    obj = cluster.store.find(kind, key)
    if obj is None:
        yield diagnosis_of(cluster, kind, key, *absence(cluster, kind, key))
        return
    scene = Scene.of(cluster)
    causes = sorted(_causes(scene, obj), key=_gravity)
    is_held = any(each.severity != "notes" for each in causes)
    state = obj.status.get("phase") or ("held" if is_held else "well")
    sentence = (
        causes[0].sentence
        if causes
        else say("Nothing is wrong with {kind} {key}.", kind=kind, key=key)
    )
    found = diagnosis_of(cluster, kind, key, str(state), sentence, tuple(causes))
    yield found
    if causes:
        yield from _with_fixes(found, cluster, scene, obj, forks)


def _pod(cluster: Cluster, key: str, forks: Forks) -> Iterator[Diagnosis]:
    """Pending pods are asked of the scheduler; for others it is enough to look around."""
    steps = diagnose_in_steps(cluster, key, forks)
    found = next(steps)
    yield found
    yield from steps
    pod = cluster.store.find(Pod.KIND, key)
    if found.state == "placed" and pod is not None and found.causes:
        scene = Scene.of(cluster)
        yield from _with_fixes(found, cluster, scene, pod, forks)


def _with_fixes(
    found: Diagnosis, cluster: Cluster, scene: Scene, obj: ApiObject, forks: Forks
) -> Iterator[Diagnosis]:
    """*found* with each fix that is found for the object; a node has two goals."""
    goals = [(Goal(obj.kind, obj.key), changes_for(scene, obj))]
    if isinstance(obj, Node):
        goals.append((Goal(obj.kind, obj.key, drains=True), changes_for_drain(scene, obj)))
    fixes: list[Fix] = []
    for goal, changes in goals:
        for fix in fixes_for(cluster, goal, changes, forks):
            fixes.append(fix)
            yield replace(found, fixes=tuple(fixes))


def diagnosis_of(
    cluster: Cluster,
    kind: str,
    key: str,
    state: str,
    sentence: Sentence,
    causes: tuple[Cause, ...] = (),
) -> Diagnosis:
    """The diagnosis of an object that is no pod."""
    return Diagnosis(
        pod="",
        object=entity_id(kind, key),
        profile=cluster.profile,
        at=cluster.now,
        state=state,
        sentence=sentence,
        causes=causes,
    )


def _causes(scene: Scene, obj: ApiObject) -> Iterator[Cause]:
    if isinstance(obj, PersistentVolumeClaim):
        return claim_causes(scene, obj)
    if isinstance(obj, PersistentVolume):
        return volume_causes(scene, obj)
    if isinstance(obj, Node):
        return node_causes(scene, obj)
    if obj.kind == "PodDisruptionBudget":
        return budget_causes(scene, obj)
    if obj.kind == CRON_JOB:
        return cron_job_causes(scene, obj)
    if obj.kind == AUTOSCALER:
        return autoscaler_causes(scene, obj)
    return workload_causes(scene, obj)


def _gravity(cause: Cause) -> int:
    return SEVERITIES.index(cause.severity)
