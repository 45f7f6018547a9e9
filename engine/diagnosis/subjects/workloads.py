"""Why a workload has too few pods: refused creations, quota, a rollout that waits, pods that do not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from engine.controllers.workloads.daemon_set import daemon_spec, should_run_on
from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.admission import refusals_of
from engine.diagnosis.subjects.jobs import job_causes, wanted_pods_of_job
from engine.diagnosis.subjects.rollouts import outdated_causes
from engine.diagnosis.subjects.scene import Scene, cause, deletion_facts
from engine.framework.explaining.case import FEW, listed
from engine.framework.explaining.fact import Fact, fact
from engine.framework.explaining.manifests import taint_text
from engine.kernel.sentences import (
    NOTHING,
    Argument,
    Sentence,
    enumerated,
    say,
    say_count,
    verbatim,
)
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.conditions import is_ready
from engine.plugins.taint_toleration.facts import untolerated

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
            _component(workload),
            say("{name} is terminating.", name=_name(workload)),
            deletion_facts(workload),
        )
    pods = pods_of(scene, workload)
    wanted = wanted_pods(workload)
    if workload.kind == "Job":
        found = [*job_causes(scene, workload)]
        yield from found
        if found and not pods and not scene.event(workload, "FailedCreate"):
            return  # That is why there are none.
    if workload.kind == "Deployment":
        yield from _rollout(scene, workload)
        return
    if workload.kind == "DaemonSet":
        yield from _not_eligible(scene, workload)
    if not pods and scene.event(workload, "FailedCreate"):
        # The status of a DaemonSet says nothing as long as its first pod is refused.
        wanted = max(wanted, 1)
    if len(pods) < wanted:
        yield _too_few(scene, workload, pods, wanted)
    for pod in pods:
        yield from outdated_causes(scene, pod)
    pending = [pod for pod in pods if not pod.node_name]
    if pending:
        names = listed([pod.key for pod in pending], 3)
        sentence = say(
            "{name} waits for pods without a node: {names}.", name=_name(workload), names=names
        )
        because = [
            fact(pod, ("status", "phase"), say("Pod {pod} has no node.", pod=pod.key))
            for pod in pending[:FEW]
        ]
        why = say("Ask why pod {key} is pending.", key=pending[0].key)
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
        return wanted_pods_of_job(workload)
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
    numbers: dict[str, Argument] = {
        "workload": _name(workload),
        "wanted": _counted(wanted),
        "count": len(pods),
    }
    text = say("{workload} wants {wanted} and has {count}.", **numbers)
    path = _WANTED.get(workload.kind, ("spec", "replicas"))
    because: list[Fact] = [fact(workload, path, text, compared_with=len(pods))]
    event = scene.event(workload, "FailedCreate")
    why = verbatim(f"{event.rstrip('.')}.") if event else NOTHING
    for place, condition in enumerate(items(workload.status, "conditions")):
        if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True":
            message = str(condition.get("message")).rstrip(".")
            why = say("FailedCreate: {message}.", message=message)
            because.append(fact(workload, ("status", "conditions", place), why))
    refusals = list(refusals_of(scene, workload))
    because.extend(each.fact for each in refusals)
    sentence = text
    if refusals:
        sentence = say(
            "{workload} wants {wanted} and has {count}: {obstacle} (FailedCreate).",
            **numbers,
            obstacle=refusals[0].obstacle,
        )
        why = refusals[0].fact.text
    elif why:
        sentence = say(
            "{workload} wants {wanted} and has {count}: the API server refuses to create one "
            "(FailedCreate).",
            **numbers,
        )
    elif (first := _awaited(workload, pods)) is not None:
        why = say(
            "StatefulSet {workload} (OrderedReady) makes its pods one after the other.",
            workload=workload.name,
        )
        told = say("Pod {first} is not ready.", first=first.key)
        because.append(fact(first, ("status", "phase"), told))
        sentence = say(
            "{workload} wants {wanted} and has {count}: it makes the next when pod {first} is "
            "ready.",
            **numbers,
            first=first.key,
        )
    return cause(_component(workload), sentence, because, why=why, event=event)


def _awaited(workload: ApiObject, pods: list[Pod]) -> Pod | None:
    """The first pod that is not ready, of a StatefulSet that makes its pods in order."""
    if workload.kind != "StatefulSet" or workload.spec.get("podManagementPolicy") == "Parallel":
        return None
    return next((pod for pod in sorted(pods, key=_ordinal) if not is_ready(pod)), None)


def _ordinal(pod: Pod) -> tuple[int, str]:
    number = pod.name.rpartition("-")[2]
    return (int(number) if number.isdecimal() else 0, pod.name)


def _not_eligible(scene: Scene, workload: ApiObject) -> Iterator[Cause]:
    """The nodes that are not meant for the pods of a DaemonSet: by taints, or all by its selector."""
    nodes = list(scene.nodes())
    spec = section(workload.spec, "template", "spec")
    selector = section(spec, "nodeSelector")
    others = [node for node in nodes if not should_run_on(workload, node)[0]]
    taints: dict[str, None] = {}
    tainted: list[str] = []
    for node in others:
        pod = Pod({**workload.raw, "kind": "Pod", "spec": daemon_spec(spec, node.name)})
        found = [taint_text(taint) for _, taint in untolerated(pod, node)]
        if found and selector.items() <= node.labels.items():
            taints |= dict.fromkeys(found)
            tainted.append(node.name)
    path: tuple[str, ...] = ("spec", "template", "spec")
    if tainted:
        text = say(
            "DaemonSet {workload} wants no pod on {tainted}: its pods do not tolerate {list}.",
            workload=workload.key,
            tainted=listed(tainted, FEW),
            list=listed(list(taints), FEW),
        )
        yield cause(_component(workload), text, [fact(workload, path, text)], severity="notes")
    elif selector and nodes and len(others) == len(nodes):
        pairs = enumerated([f"{key}={value}" for key, value in sorted(selector.items())])
        text = say(
            "DaemonSet {workload} wants no pod on any node: it selects {pairs}, and no "
            "node has that.",
            workload=workload.key,
            pairs=pairs,
        )
        because = [fact(workload, (*path, "nodeSelector"), text)]
        yield cause(_component(workload), text, because, severity="notes")


def _counted(pods: int) -> Sentence:
    """A number of pods in words."""
    return say_count("1 pod", "{count} pods", pods)


def replica_sets(scene: Scene, workload: ApiObject) -> list[ApiObject]:
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
    sets = replica_sets(scene, deployment)
    if deployment.spec.get("paused") and sum(map(wanted_pods, sets)) < wanted_pods(deployment):
        text = say(
            "{name} is paused: it makes no new ReplicaSet until it is resumed.",
            name=_name(deployment),
        )
        yield cause(_component(deployment), text, [fact(deployment, ("spec", "paused"), text)])
    for each in sets:
        yield from workload_causes(scene, each)
    if len([each for each in sets if wanted_pods(each) > 0]) < 2:
        return
    strategy = section(deployment.spec, "strategy")
    rolling = section(strategy, "rollingUpdate")
    surge, unavailable = rolling.get("maxSurge", "25%"), rolling.get("maxUnavailable", "25%")
    kind = strategy.get("type") or "RollingUpdate"
    text = say(
        "{name} replaces its pods by {kind} (maxSurge {surge}, maxUnavailable {unavailable}).",
        name=_name(deployment),
        kind=kind,
        surge=surge,
        unavailable=unavailable,
    )
    counts = [
        fact(
            each,
            ("spec", "replicas"),
            say(
                "ReplicaSet {each} wants {counted}.",
                each=each.name,
                counted=_counted(wanted_pods(each)),
            ),
        )
        for each in sets
    ]
    why = say("It goes on when new pods are ready, as far as maxSurge and maxUnavailable allow.")
    because = [fact(deployment, ("spec", "strategy"), text), *counts]
    yield cause(_component(deployment), text, because, why=why, severity="delays")


def top_workload(scene: Scene, pod: Pod) -> ApiObject | None:
    """The workload that its owner scales: the Deployment rather than its ReplicaSet."""
    owner = scene.controller_of(pod)
    above = None if owner is None else scene.controller_of(owner)
    return above or owner
