"""Why an object is as it is: the question for every kind. For a pending pod, see `inquiry.diagnose`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kscope.sim.objects.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    entity_id,
)
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.diagnosis.inquiry import diagnose
from scheduling.engine.diagnosis.report import SEVERITIES, Cause, Diagnosis
from scheduling.engine.diagnosis.subjects.budgets import budget_causes
from scheduling.engine.diagnosis.subjects.changes import changes_for, changes_for_drain
from scheduling.engine.diagnosis.subjects.claims import claim_causes
from scheduling.engine.diagnosis.subjects.goals import Goal
from scheduling.engine.diagnosis.subjects.nodes import node_causes
from scheduling.engine.diagnosis.subjects.scene import Scene
from scheduling.engine.diagnosis.subjects.trials import fixes_for
from scheduling.engine.diagnosis.subjects.volumes import volume_causes
from scheduling.engine.diagnosis.subjects.workloads import KINDS, workload_causes

ASKED: Final = (
    Pod.KIND,
    PersistentVolumeClaim.KIND,
    PersistentVolume.KIND,
    Node.KIND,
    "PodDisruptionBudget",
    *KINDS,
)

# By how entity ids call them: "claim", "node", "deployment".
KIND_OF: Final = {entity_id(kind, "").rstrip("/"): kind for kind in ASKED}


def explain_object(
    cluster: Cluster, kind: str, key: str, *, tries_changes: bool = True
) -> Diagnosis:
    """Why the object is as it is at this instant; *kind* is one of `ASKED`.

    *cluster* is left exactly as it is. An object that is not there, or that nothing holds back, gets
    a diagnosis that says so. Without *tries_changes* no fix is looked for.
    """
    if kind == Pod.KIND:
        return _pod(cluster, key, tries_changes=tries_changes)
    obj = cluster.store.find(kind, key)
    if obj is None:
        return _diagnosis(cluster, kind, key, "absent", f"There is no {kind} {key}.")
    scene = Scene(cluster.store, cluster.now, cluster.recorder.noted)
    causes = sorted(_causes(scene, obj), key=_gravity)
    state = obj.status.get("phase") or ("held" if causes else "well")
    sentence = causes[0].sentence if causes else f"Nothing holds {kind} {key} back."
    found = _diagnosis(cluster, kind, key, str(state), sentence, tuple(causes))
    if not causes or not tries_changes:
        return found
    fixes = fixes_for(cluster, Goal(kind, key), changes_for(scene, obj))
    if isinstance(obj, Node):
        draining = Goal(kind, key, drains=True)
        fixes += fixes_for(cluster, draining, changes_for_drain(scene, obj))
    return replace(found, fixes=tuple(fixes))


def _pod(cluster: Cluster, key: str, *, tries_changes: bool) -> Diagnosis:
    """Pending pods are asked of the scheduler; for others it is enough to look around."""
    found = diagnose(cluster, key, tries_changes=tries_changes)
    pod = cluster.store.find(Pod.KIND, key)
    if found.state != "placed" or pod is None or not found.causes or not tries_changes:
        return found
    scene = Scene(cluster.store, cluster.now)
    fixes = fixes_for(cluster, Goal(Pod.KIND, key), changes_for(scene, pod))
    return replace(found, fixes=tuple(fixes))


def _diagnosis(
    cluster: Cluster,
    kind: str,
    key: str,
    state: str,
    sentence: str,
    causes: tuple[Cause, ...] = (),
) -> Diagnosis:
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
    return workload_causes(scene, obj)


def _gravity(cause: Cause) -> int:
    return SEVERITIES.index(cause.severity)
