"""Rollouts that wait: a Deployment that keeps its old pods, a StatefulSet that keeps a broken one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, patched
from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import Scene, cause
from engine.framework.explaining.case import FEW, listed
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import say
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Pod

_DEFAULT: Final = "25%"
# What of a template a scheduler reads, beside the requests of its containers.
_RULES: Final = ("nodeSelector", "affinity", "topologySpreadConstraints", "priorityClassName")


def rollout_causes(scene: Scene, pod: Pod) -> Iterator[Cause]:
    """That old pods of the Deployment of *pod*, which has no node, stay until it is ready."""
    deployment = _rolling_deployment(scene, pod)
    old = [] if deployment is None else _old_pods(scene, pod, deployment)
    if deployment is None or not old:
        return
    strategy = strategy_fact(deployment)
    because = [strategy]
    for other in old[:FEW]:
        text = say(
            "Pod {other} of an older ReplicaSet is on {node_name}.",
            other=other.key,
            node_name=other.node_name,
        )
        because.append(fact(other, ("spec", "nodeName"), text))
    sentence = say(
        "Deployment {deployment} keeps its old pods until new ones are ready: {value}.",
        deployment=deployment.name,
        value=listed([each.name for each in old], 3),
    )
    yield cause("deployment-controller", sentence, because, why=strategy.text, severity="notes")


def rollout_changes(scene: Scene, pod: Pod) -> Iterator[Candidate]:
    """Let the Deployment of *pod* give up old pods first; let a StatefulSet make the pod again."""
    deployment = _rolling_deployment(scene, pod)
    if deployment is not None and _old_pods(scene, pod, deployment):
        rolling = {"maxUnavailable": 1}
        yield Candidate(
            kind="rollout",
            text=say(
                "Let Deployment {deployment} give up an old pod first (maxUnavailable 1)",
                deployment=deployment.name,
            ),
            command=patched(deployment.id, {"spec": {"strategy": {"rollingUpdate": rolling}}}),
            decidable=False,
            note=say("While a pod is replaced, one pod fewer serves."),
        )
        yield recreated(deployment)
    if differences(scene, pod):
        owner = scene.controller_of(pod)
        assert owner is not None
        yield made_from_template(pod, owner)


def recreated(deployment: ApiObject) -> Candidate:
    """The Deployment replaces all pods at once."""
    return Candidate(
        kind="rollout",
        text=say(
            "Let Deployment {deployment} replace its pods by Recreate: the old pod goes first",
            deployment=deployment.name,
        ),
        command=patched(
            deployment.id, {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}
        ),
        decidable=False,
        note=say("Between the old pod and the new one nothing serves."),
    )


def made_from_template(pod: Pod, owner: ApiObject) -> Candidate:
    """The pod deleted, for its workload to make it again."""
    return Candidate(
        kind="again",
        text=say(
            "Delete pod {pod}, so that {kind} {owner} makes it from its template",
            pod=pod.key,
            kind=owner.kind,
            owner=owner.name,
        ),
        command=Command(verb="delete", object=pod.id),
        decidable=False,
        note=say("The pod does not run yet, so nothing is interrupted."),
    )


def strategy_fact(deployment: ApiObject) -> Fact:
    """How a Deployment that rolls replaces its pods, and how many may be missing meanwhile."""
    rolling = section(deployment.spec, "strategy", "rollingUpdate")
    surge = rolling.get("maxSurge", _DEFAULT)
    unavailable = rolling.get("maxUnavailable", _DEFAULT)
    replicas = int(deployment.spec.get("replicas", 1))
    text = say(
        "Deployment {deployment} replaces its pods by RollingUpdate (maxSurge {surge}, "
        "maxUnavailable {unavailable}): the old pod stays until the new one is ready.",
        deployment=deployment.name,
        surge=surge,
        unavailable=unavailable,
    )
    if isinstance(unavailable, str) and unavailable.endswith("%"):
        # Upstream: deployment_util.go, ResolveFenceposts() rounds down.
        text = say(
            "Deployment {deployment} replaces its pods by RollingUpdate (maxSurge {surge}, "
            "maxUnavailable {unavailable} = {number} of {replicas}): the old pod stays until the "
            "new one is ready.",
            deployment=deployment.name,
            surge=surge,
            unavailable=unavailable,
            number=int(unavailable[:-1]) * replicas // 100,
            replicas=replicas,
        )
    return fact(deployment, ("spec", "strategy"), text)


def outdated_causes(scene: Scene, pod: Pod) -> Iterator[Cause]:
    """That a StatefulSet waits for *pod*, which has no node, and does not make it from its template."""
    found = differences(scene, pod)
    owner = scene.controller_of(pod)
    if not found or owner is None:
        return
    policy = owner.spec.get("podManagementPolicy") or "OrderedReady"
    text = say(
        "StatefulSet {owner} has podManagementPolicy {policy}: it waits until a "
        "pod is ready before it replaces one.",
        owner=owner.name,
        policy=policy,
    )
    because = [fact(owner, ("spec", "podManagementPolicy"), text), *found]
    sentence = say(
        "Pod {pod} was made from an older template of StatefulSet {owner}.",
        pod=pod.key,
        owner=owner.name,
    )
    yield cause("statefulset-controller", sentence, because, why=text, severity="narrows")


def differences(scene: Scene, pod: Pod) -> list[Fact]:
    """What the template of its ordered StatefulSet says that *pod*, which has no node, does not."""
    owner = scene.controller_of(pod)
    if pod.node_name or owner is None or owner.kind != "StatefulSet":
        return []
    if owner.spec.get("podManagementPolicy") == "Parallel":
        return []
    template = section(owner.spec, "template", "spec")
    found = [
        fact(
            pod,
            ("spec", name),
            say(
                "Pod {pod} has another {name} than the template of StatefulSet {owner}.",
                pod=pod.key,
                name=name,
                owner=owner.name,
            ),
            compared_with=template.get(name),
        )
        for name in _RULES
        if (pod.spec.get(name) or None) != (template.get(name) or None)
    ]
    return [*found, *_other_requests(pod, template)]


def _other_requests(pod: Pod, template: Mapping[str, Any]) -> Iterator[Fact]:
    wanted = {str(each.get("name")): each for each in items(template, "containers")}
    for place, container in enumerate(items(pod.spec, "containers")):
        name = str(container.get("name"))
        requests = section(container, "resources", "requests")
        new = section(wanted.get(name, {}), "resources", "requests")
        for resource, amount in requests.items():
            if name in wanted and resource in new and new[resource] != amount:
                path = ("spec", "containers", place, "resources", "requests", resource)
                text = say(
                    "Container {name} asks for {amount} {resource}, and the template now asks "
                    "for {new}.",
                    name=name,
                    amount=amount,
                    resource=resource,
                    new=new[resource],
                )
                yield fact(pod, path, text, compared_with=new[resource])


def _rolling_deployment(scene: Scene, pod: Pod) -> ApiObject | None:
    """The Deployment of *pod*, where it replaces its pods by RollingUpdate."""
    owner = scene.controller_of(pod)
    deployment = None if owner is None else scene.controller_of(owner)
    if deployment is None or deployment.kind != "Deployment":
        return None
    kind = section(deployment.spec, "strategy").get("type") or "RollingUpdate"
    return deployment if kind == "RollingUpdate" else None


def _old_pods(scene: Scene, pod: Pod, deployment: ApiObject) -> list[Pod]:
    """The pods with a node that belong to other ReplicaSets of the Deployment."""
    own = scene.controller_of(pod)
    found: list[Pod] = []
    for other in scene.pods(pod.namespace):
        replica_set = scene.controller_of(other)
        if not other.node_name or replica_set is None or replica_set == own:
            continue
        above = scene.controller_of(replica_set)
        if above is not None and above.id == deployment.id:
            found.append(other)
    return sorted(found, key=_key)


def _key(pod: Pod) -> str:
    return pod.key
