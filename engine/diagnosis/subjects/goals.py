"""The state that an object must reach so that a change counts as a fix for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.subjects.budgets import allowed_disruptions, refuses_eviction
from engine.diagnosis.subjects.cron_jobs import CRON_JOB, active_jobs
from engine.diagnosis.subjects.pods.containers import stay
from engine.diagnosis.subjects.pods.resizes import is_being_resized
from engine.diagnosis.subjects.scene import Scene
from engine.diagnosis.subjects.workloads import KINDS, pods_of, replica_sets, wanted_pods
from engine.kernel.sentences import NOTHING, Sentence, say, say_count
from engine.objects.autoscalers import AUTOSCALER, asked_for, target_of
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

    def outcome(self, cluster: Cluster) -> Sentence:
        """What has been reached in *cluster*: "it is bound to data-1"; "" while nothing has."""
        scene = Scene(cluster.store, cluster.now)
        obj = cluster.store.find(self.kind, self.key)
        if isinstance(obj, Node):
            return _drain_outcome(scene, obj) if self.drains else _node_outcome(obj)
        if obj is None:
            # Only a budget is deleted to settle the question about it.
            return say("nothing limits evictions") if self.kind == _BUDGET else NOTHING
        return _outcome(scene, obj)


def _budget_outcome(scene: Scene, budget: ApiObject) -> Sentence:
    allowed = allowed_disruptions(budget)
    if allowed > 0:
        return say("it allows {allowed} disruptions", allowed=allowed)
    pods = [pod for pod in scene.pods(budget.namespace) if budget in scene.budgets_of(pod)]
    if pods and not any(refuses_eviction(budget, pod) for pod in pods):
        return say("its pods, none of which is ready, may be evicted")
    return NOTHING


def _outcome(scene: Scene, obj: ApiObject) -> Sentence:
    if isinstance(obj, PersistentVolumeClaim):
        return (
            say("it is bound to {volume_name}", volume_name=obj.volume_name)
            if obj.phase == "Bound"
            else NOTHING
        )
    if isinstance(obj, Pod):
        return _pod_outcome(scene, obj)
    if obj.kind == "PersistentVolume":
        is_bound = obj.status.get("phase") == VOLUME_BOUND
        return say("it is bound again") if is_bound else NOTHING
    if obj.kind == _BUDGET:
        return _budget_outcome(scene, obj)
    if obj.kind == CRON_JOB:
        return _cron_job_outcome(scene, obj)
    if obj.kind == AUTOSCALER:
        return _autoscaler_outcome(scene, obj)
    if obj.kind in KINDS:
        if obj.kind == "DaemonSet" and not obj.status:
            return NOTHING  # Its pods have not been counted yet.
        sets = replica_sets(scene, obj)
        pods = [pod for each in sets for pod in pods_of(scene, each)]
        wanted = sum(map(wanted_pods, sets))
        if obj.kind in ("Job", "Deployment") and not wanted:
            return NOTHING  # It has ended, or is suspended; or nothing has been made of it yet.
        is_whole = len(pods) >= wanted and all(pod.node_name for pod in pods)
        outcome = say_count("it has its pod", "it has its {count} pods", wanted)
        return outcome if is_whole else NOTHING
    return NOTHING


def _cron_job_outcome(scene: Scene, cron_job: ApiObject) -> Sentence:
    """A Job of it runs, and has its pods."""
    if cron_job.spec.get("suspend"):
        return NOTHING
    for job in active_jobs(scene, cron_job):
        if _outcome(scene, job):
            return say("Job {job} runs", job=job.name)
    return NOTHING


def _autoscaler_outcome(scene: Scene, autoscaler: ApiObject) -> Sentence:
    wanted = asked_for(autoscaler, scene.now)
    if wanted is None or autoscaler.status.get("currentReplicas") != wanted:
        return NOTHING
    return say("{target} has the replicas that are asked for", target=target_of(autoscaler))


def _node_outcome(node: Node) -> Sentence:
    if not node.is_ready or node.unschedulable:
        return NOTHING
    is_tainted = any(taint.get("effect") != "PreferNoSchedule" for taint in node.taints)
    return NOTHING if is_tainted else say("it accepts pods")


def _drain_outcome(scene: Scene, node: Node) -> Sentence:
    pods = [pod for pod in scene.pods() if pod.node_name == node.name]
    is_refused = any(
        len(budgets) > 1 or any(refuses_eviction(each, pod) for each in budgets)
        for pod in pods
        for budgets in (scene.budgets_of(pod),)
    )
    return NOTHING if is_refused else say("a drain of it can go on")


def _pod_outcome(scene: Scene, pod: Pod) -> Sentence:
    if pod.phase != "Running" or pod.deletion_timestamp or is_being_resized(pod):
        return NOTHING
    budgets = scene.budgets_of(pod)
    if len(budgets) > 1 or any(refuses_eviction(each, pod) for each in budgets):
        return NOTHING
    if budgets:
        return say("it may be evicted")
    statuses = items(pod.status, "containerStatuses")
    if any("allocatedResources" in each for each in statuses):
        return say("it has what it requests")
    if not stay(pod, scene.store.clock):
        return NOTHING
    return say("it runs on {node_name}", node_name=pod.node_name)
