"""The state that an object must reach so that a change counts as a fix for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.subjects.budgets import allowed_disruptions, refuses_eviction
from engine.diagnosis.subjects.pods.resizes import is_being_resized
from engine.diagnosis.subjects.scene import Scene
from engine.diagnosis.subjects.workloads import KINDS, pods_of, replica_sets, wanted_pods
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject, Node, PersistentVolumeClaim, Pod
from engine.objects.phases import VOLUME_BOUND

_BUDGET: Final = "PodDisruptionBudget"
# Describes the state that was reached; "" if it was not reached.
Reached = Callable[[Scene], str]


@dataclass(frozen=True, slots=True)
class Goal:
    """The state of one object that a change is to bring about."""

    kind: str
    key: str
    # For a node: whether the goal is that a drain can go on, not that the node accepts pods.
    drains: bool = False

    def outcome(self, cluster: Cluster) -> str:
        """What has been reached in *cluster*: "it is bound to data-1"; "" while nothing has."""
        scene = Scene(cluster.store, cluster.now)
        obj = cluster.store.find(self.kind, self.key)
        if isinstance(obj, Node):
            return _drain_outcome(scene, obj) if self.drains else _node_outcome(obj)
        if obj is None:
            # Only a budget is deleted to settle the question about it.
            return "nothing limits evictions" if self.kind == _BUDGET else ""
        return _outcome(scene, obj)


def _outcome(scene: Scene, obj: ApiObject) -> str:
    if isinstance(obj, PersistentVolumeClaim):
        return f"it is bound to {obj.volume_name}" if obj.phase == "Bound" else ""
    if isinstance(obj, Pod):
        return _pod_outcome(scene, obj)
    if obj.kind == "PersistentVolume":
        is_bound = obj.status.get("phase") == VOLUME_BOUND
        return "it is bound again" if is_bound else ""
    if obj.kind == _BUDGET:
        allowed = allowed_disruptions(obj)
        return f"it allows {allowed} disruptions" if allowed > 0 else ""
    if obj.kind in KINDS:
        if obj.kind == "DaemonSet" and not obj.status:
            return ""  # Its pods have not been counted yet.
        sets = replica_sets(scene, obj)
        pods = [pod for each in sets for pod in pods_of(scene, each)]
        wanted = sum(map(wanted_pods, sets))
        if obj.kind in ("Job", "Deployment") and not wanted:
            return ""  # It has ended, or is suspended; or nothing has been made of it yet.
        is_whole = len(pods) >= wanted and all(pod.node_name for pod in pods)
        number = "its pod" if wanted == 1 else f"its {wanted} pods"
        return f"it has {number}" if is_whole else ""
    return ""


def _node_outcome(node: Node) -> str:
    if not node.is_ready or node.unschedulable:
        return ""
    is_tainted = any(taint.get("effect") != "PreferNoSchedule" for taint in node.taints)
    return "" if is_tainted else "it accepts pods"


def _drain_outcome(scene: Scene, node: Node) -> str:
    pods = [pod for pod in scene.pods() if pod.node_name == node.name]
    is_refused = any(
        len(budgets) > 1 or any(refuses_eviction(each, pod) for each in budgets)
        for pod in pods
        for budgets in (scene.budgets_of(pod),)
    )
    return "" if is_refused else "a drain of it can go on"


def _pod_outcome(scene: Scene, pod: Pod) -> str:
    if pod.phase != "Running" or pod.deletion_timestamp or is_being_resized(pod):
        return ""
    budgets = scene.budgets_of(pod)
    if len(budgets) > 1 or any(refuses_eviction(each, pod) for each in budgets):
        return ""
    if budgets:
        return "it may be evicted"
    statuses = items(pod.status, "containerStatuses")
    if any("allocatedResources" in each for each in statuses):
        return "it has what it requests"
    return f"it runs on {pod.node_name}"
