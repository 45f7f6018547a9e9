"""Why a workload has too few pods: refused creations, quota, a rollout that waits, pods that do not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kscope.sim.objects.manifest_parts import items, section
from kscope.sim.objects.objects import ApiObject, Pod, quantity
from scheduling.engine.diagnosis.facts.case import FEW, listed
from scheduling.engine.diagnosis.facts.fact import Fact, fact
from scheduling.engine.diagnosis.report import Cause
from scheduling.engine.diagnosis.subjects.scene import Scene, cause, deletion_facts

# What a pod must state once a quota limits it. Upstream: core/pods.go, requiredResources.
_COMPUTE: Final = ("cpu", "memory")
_WANTED: Final[Mapping[str, tuple[str, ...]]] = {
    "DaemonSet": ("status", "desiredNumberScheduled"),
    "Job": ("spec", "parallelism"),
}
KINDS: Final = (
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "DaemonSet",
    "Job",
)
_CONTROLLERS: Final = {
    "Deployment": "deployment-controller",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replication-controller",
    "StatefulSet": "statefulset-controller",
    "DaemonSet": "daemonset-controller",
    "Job": "job-controller",
}


def workload_causes(scene: Scene, workload: ApiObject) -> Iterator[Cause]:
    """What keeps *workload* from having all its pods."""
    if workload.deletion_timestamp:
        yield cause(
            _component(workload), f"{_name(workload)} is terminating.", deletion_facts(workload)
        )
    pods = pods_of(scene, workload)
    wanted = wanted_pods(workload)
    if workload.kind == "Deployment":
        yield from _rollout(scene, workload)
        return
    if len(pods) < wanted:
        yield _too_few(scene, workload, pods, wanted)
    pending = [pod for pod in pods if not pod.node_name]
    if pending:
        names = listed([pod.key for pod in pending], 3)
        sentence = f"{_name(workload)} waits for pods without a node: {names}."
        because = [
            fact(pod, ("status", "phase"), f"Pod {pod.key} has no node.") for pod in pending[:FEW]
        ]
        why = f"Ask why pod {pending[0].key} is pending."
        yield cause("kube-scheduler", sentence, because, why=why, severity="narrows")


def _component(workload: ApiObject) -> str:
    return _CONTROLLERS.get(workload.kind, workload.kind)


def _name(workload: ApiObject) -> str:
    return f"{workload.kind} {workload.key}"


def wanted_pods(workload: ApiObject) -> int:
    """How many pods it should have."""
    if workload.kind == "DaemonSet":
        return int(workload.status.get("desiredNumberScheduled") or 0)
    if workload.kind == "Job":
        return int(workload.spec.get("parallelism", 1))
    return int(workload.spec.get("replicas", 1))


def pods_of(scene: Scene, workload: ApiObject) -> list[Pod]:
    """The pods that it controls and that have not ended, by name."""
    found = [
        pod
        for pod in scene.pods(workload.namespace)
        if (owner := pod.controller) is not None
        and owner.get("kind") == workload.kind
        and owner.get("name") == workload.name
    ]
    return sorted(found, key=_key)


def _key(pod: Pod) -> str:
    return pod.key


def _too_few(scene: Scene, workload: ApiObject, pods: list[Pod], wanted: int) -> Cause:
    because: list[Fact] = [
        fact(
            workload,
            _WANTED.get(workload.kind, ("spec", "replicas")),
            f"{_name(workload)} wants {_counted(wanted)} and has {len(pods)}.",
            compared_with=len(pods),
        )
    ]
    event = scene.event(workload, "FailedCreate")
    why = f"{event.rstrip('.')}." if event else ""
    because.extend(_unspecified(scene, workload))
    for place, condition in enumerate(items(workload.status, "conditions")):
        if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True":
            told = f"FailedCreate: {str(condition.get('message')).rstrip('.')}."
            because.append(fact(workload, ("status", "conditions", place), told))
            why = told
    exceeded = list(_exceeded(scene, workload))
    because.extend(each for each, _ in exceeded)
    if exceeded:
        why = exceeded[0][1]
    sentence = f"{_name(workload)} wants {_counted(wanted)} and has {len(pods)}"
    sentence += ": quota forbids one more (FailedCreate)." if exceeded else "."
    return cause(_component(workload), sentence, because, why=why, event=event)


def _counted(pods: int) -> str:
    """A number of pods in words."""
    return "1 pod" if pods == 1 else f"{pods} pods"


def _unspecified(scene: Scene, workload: ApiObject) -> Iterator[Fact]:
    """The limits of quotas for which every container has to say what it asks for."""
    asked = _template_amounts(section(workload.spec, "template", "spec"))
    for quota in scene.store.objects("ResourceQuota"):
        if quota.namespace != workload.namespace:
            continue
        for name in _limits(quota):
            if name.removeprefix("requests.").removeprefix("limits.") not in _COMPUTE:
                continue
            if name not in asked:
                text = (
                    f"ResourceQuota {quota.key} limits {name}, which the pod template leaves out."
                )
                yield fact(quota, ("spec", "hard", name), text)


def _exceeded(scene: Scene, workload: ApiObject) -> Iterator[tuple[Fact, str]]:
    """The limits of quotas that one more pod of the template would exceed."""
    for quota, name, more, _ in _over(scene, workload):
        limit, used = _limits(quota)[name], section(quota.status, "used").get(name, 0)
        text = (
            f"ResourceQuota {quota.key} limits {name} to {limit}; {used} is used, and one more pod "
            f"needs {_written(name, more)}."
        )
        yield fact(quota, ("status", "used", name), text, compared_with=limit), text


def _over(scene: Scene, workload: ApiObject) -> Iterator[tuple[ApiObject, str, int, int]]:
    """A quota, a resource, what one more pod needs of it and how much it would be then, times 1000."""
    asked = _template_amounts(section(workload.spec, "template", "spec"))
    for quota in scene.store.objects("ResourceQuota"):
        if quota.namespace != workload.namespace:
            continue
        used = section(quota.status, "used")
        for name, limit in _limits(quota).items():
            more = asked.get(name)
            total = quantity.milli_value(used.get(name, 0)) + (more or 0)
            if more is not None and total > quantity.milli_value(limit):
                yield quota, name, more, total


def _limits(quota: ApiObject) -> dict[str, Any]:
    return section(quota.status, "hard") or section(quota.spec, "hard")


def _template_amounts(spec: Mapping[str, Any]) -> dict[str, int]:
    """What one pod counts in a quota, in thousandths."""
    amounts: dict[str, int] = {"pods": 1000, "count/pods": 1000}
    for container in items(spec, "containers"):
        for field in ("requests", "limits"):
            for name, text in section(container, "resources", field).items():
                amount = quantity.milli_value(text)
                amounts[f"{field}.{name}"] = amounts.get(f"{field}.{name}", 0) + amount
                if field == "requests":
                    amounts[name] = amounts.get(name, 0) + amount
    return amounts


def _written(name: str, milli: int) -> str:
    if name.endswith("cpu"):
        return quantity.format_cpu(milli)
    if name.endswith(("memory", "storage")):
        return quantity.format_bytes(milli // 1000)
    return str(milli // 1000)


def _sets(scene: Scene, workload: ApiObject) -> list[ApiObject]:
    """The ReplicaSets of a Deployment; any other workload is its own."""
    if workload.kind != "Deployment":
        return [workload]
    return [
        each
        for each in scene.store.objects("ReplicaSet")
        if (owner := scene.controller_of(each)) is not None and owner.id == workload.id
    ]


def _rollout(scene: Scene, deployment: ApiObject) -> Iterator[Cause]:
    """A Deployment has what its ReplicaSets have."""
    sets = _sets(scene, deployment)
    for each in sets:
        yield from workload_causes(scene, each)
    if len([each for each in sets if wanted_pods(each) > 0]) < 2:
        return
    strategy = section(deployment.spec, "strategy")
    rolling = section(strategy, "rollingUpdate")
    surge, unavailable = rolling.get("maxSurge", "25%"), rolling.get("maxUnavailable", "25%")
    kind = strategy.get("type") or "RollingUpdate"
    text = f"{_name(deployment)} rolls by {kind} (maxSurge {surge}, maxUnavailable {unavailable})."
    counts = [
        fact(
            each,
            ("spec", "replicas"),
            f"ReplicaSet {each.name} wants {_counted(wanted_pods(each))}.",
        )
        for each in sets
    ]
    why = "It goes on when new pods are ready, as far as maxSurge and maxUnavailable allow."
    because = [fact(deployment, ("spec", "strategy"), text), *counts]
    yield cause(_component(deployment), text, because, why=why, severity="delays")


def exceeded_limits(
    scene: Scene, workload: ApiObject
) -> Iterator[tuple[ApiObject, dict[str, str]]]:
    """The quotas that one more pod of the template would exceed, with limits that would do."""
    for each in _sets(scene, workload):
        found: dict[str, tuple[ApiObject, dict[str, str]]] = {}
        for quota, name, _, total in _over(scene, each):
            found.setdefault(quota.id, (quota, {}))[1][name] = _written(name, total)
        yield from found.values()


def top_workload(scene: Scene, pod: Pod) -> ApiObject | None:
    """The workload that somebody scales: the Deployment rather than its ReplicaSet."""
    owner = scene.controller_of(pod)
    above = None if owner is None else scene.controller_of(owner)
    return above or owner
