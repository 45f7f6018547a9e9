"""What an object would have to become for the question about it to be settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kscope.sim.objects.objects import ApiObject, PersistentVolumeClaim, Pod
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.diagnosis.subjects.budgets import allowed_disruptions
from scheduling.engine.diagnosis.subjects.scene import Scene
from scheduling.engine.diagnosis.subjects.workloads import KINDS, pods_of, wanted_pods
from volumes.engine.phases import VOLUME_BOUND

# What has come of it, in words, and "" while it is not so.
Reached = Callable[[Scene], str]


@dataclass(frozen=True, slots=True)
class Goal:
    """The state of one object that a change is to bring about."""

    kind: str
    key: str

    def outcome(self, cluster: Cluster) -> str:
        """What has been reached in *cluster*: "it is bound to data-1"; "" while nothing has."""
        scene = Scene(cluster.store, cluster.now)
        obj = cluster.store.find(self.kind, self.key)
        return "" if obj is None else _outcome(scene, obj)


def _outcome(scene: Scene, obj: ApiObject) -> str:
    if isinstance(obj, PersistentVolumeClaim):
        return f"it is bound to {obj.volume_name}" if obj.phase == "Bound" else ""
    if isinstance(obj, Pod):
        return _pod_outcome(scene, obj)
    if obj.kind == "PersistentVolume":
        is_bound = obj.status.get("phase") == VOLUME_BOUND
        return "it is bound again" if is_bound else ""
    if obj.kind == "PodDisruptionBudget":
        allowed = allowed_disruptions(obj)
        return f"it allows {allowed} disruptions" if allowed > 0 else ""
    if obj.kind in KINDS:
        pods = pods_of(scene, obj)
        wanted = wanted_pods(obj)
        is_whole = len(pods) >= wanted and all(pod.node_name for pod in pods)
        return f"it has its {wanted} pods" if is_whole else ""
    return ""


def _pod_outcome(scene: Scene, pod: Pod) -> str:
    if pod.phase != "Running" or pod.deletion_timestamp:
        return ""
    budgets = scene.budgets_of(pod)
    if any(allowed_disruptions(each) <= 0 for each in budgets):
        return ""
    return "it may be evicted" if budgets else f"it runs on {pod.node_name}"
