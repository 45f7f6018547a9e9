"""Why a workload has too few pods: refused creations, quota, a rollout that waits, pods that do not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kscope.sim.objects.objects import ApiObject, Pod, quantity
from scheduling.engine.diagnosis.facts.case import FEW, listed
from scheduling.engine.diagnosis.facts.fact import Fact, fact
from scheduling.engine.diagnosis.manifests import items, section
from scheduling.engine.diagnosis.report import Cause
from scheduling.engine.diagnosis.subjects.scene import Scene, cause, deletion_facts

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
    pods = _pods(scene, workload)
    wanted = _wanted(workload)
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


def _wanted(workload: ApiObject) -> int:
    if workload.kind == "DaemonSet":
        return int(workload.status.get("desiredNumberScheduled") or 0)
    if workload.kind == "Job":
        return int(workload.spec.get("parallelism", 1))
    return int(workload.spec.get("replicas", 1))


def _pods(scene: Scene, workload: ApiObject) -> list[Pod]:
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
            ("spec", "replicas"),
            f"{_name(workload)} wants {wanted} pods and has {len(pods)}.",
            compared_with=len(pods),
        )
    ]
    why = ""
    for place, condition in enumerate(items(workload.status, "conditions")):
        if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True":
            told = f"FailedCreate: {condition.get('message')}"
            because.append(fact(workload, ("status", "conditions", place), told))
            why = told
    exceeded = list(_exceeded(scene, workload))
    because.extend(each for each, _ in exceeded)
    if exceeded:
        why = exceeded[0][1]
    sentence = f"{_name(workload)} wants {wanted} pods and has {len(pods)}"
    sentence += ": quota forbids one more (FailedCreate)." if exceeded else "."
    return cause(_component(workload), sentence, because, why=why)


def _exceeded(scene: Scene, workload: ApiObject) -> Iterator[tuple[Fact, str]]:
    """The limits of quotas that one more pod of the template would exceed."""
    asked = _template_amounts(section(workload.spec, "template", "spec"))
    for quota in scene.store.objects("ResourceQuota"):
        if quota.namespace != workload.namespace:
            continue
        hard = section(quota.status, "hard") or section(quota.spec, "hard")
        used = section(quota.status, "used")
        for name, limit in hard.items():
            more = asked.get(name)
            if more is None:
                continue
            total = quantity.milli_value(used.get(name, 0)) + more
            if total > quantity.milli_value(limit):
                text = (
                    f"ResourceQuota {quota.key} limits {name} to {limit}; {used.get(name, 0)} is used, "
                    f"and one more pod needs {_written(name, more)}."
                )
                yield fact(quota, ("status", "used", name), text, compared_with=limit), text


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


def _rollout(scene: Scene, deployment: ApiObject) -> Iterator[Cause]:
    """A Deployment has what its ReplicaSets have."""
    sets = [
        each
        for each in scene.store.objects("ReplicaSet")
        if (owner := scene.controller_of(each)) is not None and owner.id == deployment.id
    ]
    for each in sets:
        yield from workload_causes(scene, each)
    if len([each for each in sets if _wanted(each) > 0]) < 2:
        return
    strategy = section(deployment.spec, "strategy")
    rolling = section(strategy, "rollingUpdate")
    surge, unavailable = rolling.get("maxSurge", "25%"), rolling.get("maxUnavailable", "25%")
    kind = strategy.get("type") or "RollingUpdate"
    text = f"{_name(deployment)} rolls by {kind} (maxSurge {surge}, maxUnavailable {unavailable})."
    counts = [
        fact(each, ("spec", "replicas"), f"ReplicaSet {each.name} wants {_wanted(each)} pods.")
        for each in sets
    ]
    why = "It goes on when new pods are ready, as far as maxSurge and maxUnavailable allow."
    because = [fact(deployment, ("spec", "strategy"), text), *counts]
    yield cause(_component(deployment), text, because, why=why, severity="delays")
