"""Why a pod that runs does not get the resources that it asks for since it was resized."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate
from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import Scene, cause
from engine.framework.explaining.amounts import format_amount
from engine.framework.explaining.case import FEW, listed, pod_and_owner
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import say
from engine.kubelet.resizing import (
    IN_PROGRESS,
    INFEASIBLE,
    PENDING,
    RESIZABLE,
    allocated_pod,
    condition_of,
)
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, Pod
from engine.objects.pods.pod_resources import NEWEST, pod_resources

KUBELET: Final = "kubelet"
_TRIED: Final = 2


def is_being_resized(pod: Pod) -> bool:
    """Whether the pod asks for other resources than its containers have."""
    return any(condition_of(pod, kind) is not None for kind in (PENDING, IN_PROGRESS))


def resize_causes(scene: Scene, pod: Pod) -> Iterator[Cause]:
    """What keeps the kubelet from giving *pod* the resources of its spec."""
    condition = condition_of(pod, PENDING)
    node = scene.node(pod.node_name)
    if condition is None or node is None:
        return
    short = _short(scene, pod, node)
    because = [*_asked(pod), *_node_facts(scene, pod, node, short)]
    because.append(_condition_fact(pod, condition))
    event = scene.event(pod, "ResizeDeferred", "ResizeInfeasible")
    name = next(iter(short), "cpu")
    asked = format_amount(name, _requests(pod, name))
    if condition.get("reason") == INFEASIBLE:
        has = format_amount(name, node.allocatable_units.get(name, 0))
        sentence = say(
            "Pod {pod} asks for {asked} {name}; its node {node} has {has} in all, so "
            "the resize is infeasible.",
            pod=pod.key,
            asked=asked,
            name=name,
            node=node.name,
            has=has,
        )
        why = say("A pod cannot move to another node while it runs: it keeps what it has.")
        yield cause(KUBELET, sentence, because, why=why, event=event)
        return
    left = format_amount(name, _left(scene, pod, node, name))
    sentence = say(
        "Pod {pod} asks for {asked} {name}; the other pods on its node {node} "
        "leave it {left}, so the resize is deferred.",
        pod=pod.key,
        asked=asked,
        name=name,
        node=node.name,
        left=left,
    )
    why = say(
        "The kubelet tries it again when a pod there ends or shrinks, and every three minutes."
    )
    yield cause(KUBELET, sentence, because, why=why, severity="delays", event=event)


def resize_changes(scene: Scene, pod: Pod) -> Iterator[Candidate]:
    """Changes that may let the resize be carried out, or end the wait for it."""
    node = scene.node(pod.node_name)
    condition = condition_of(pod, PENDING)
    if condition is None or node is None:
        return
    short = _short(scene, pod, node)
    if condition.get("reason") != INFEASIBLE:
        for other in _holders(scene, pod, node, next(iter(short), "cpu"))[:_TRIED]:
            yield Candidate(
                kind="pod",
                text=say(
                    "Delete pod {other} on {node}, which takes the room",
                    other=other.key,
                    node=node.name,
                ),
                command=Command(verb="delete", object=other.id),
                note=say(
                    "What that pod does ends; a workload starts another one, maybe elsewhere."
                ),
            )
    room = {name: _left(scene, pod, node, name) for name in short}
    smaller = _within(pod, room)
    if smaller is not None:
        amounts = listed([f"{format_amount(name, left)} {name}" for name, left in room.items()])
        yield Candidate(
            kind="resize",
            text=say("Ask for no more than {amounts} for pod {pod}", amounts=amounts, pod=pod.key),
            command=Command(verb="resize", object=pod.id, patch=smaller),
            note=say("It then has less than it was to get."),
        )


def _requests(pod: Pod, name: str) -> int:
    return pod_resources({"spec": pod.spec}, NEWEST).fit.get(name)


def _left(scene: Scene, pod: Pod, node: Node, name: str) -> int:
    """What the other pods leave of the node, in units of the resource."""
    used = sum(_held(other, name) for other in _others(scene, pod, node))
    return max(0, node.allocatable_units.get(name, 0) - used)


def _held(pod: Pod, name: str) -> int:
    return pod_resources(allocated_pod(pod).raw, NEWEST).requested.get(name)


def _others(scene: Scene, pod: Pod, node: Node) -> Iterator[Pod]:
    return (each for each in scene.pods() if each.node_name == node.name and each.uid != pod.uid)


def _holders(scene: Scene, pod: Pod, node: Node, name: str) -> list[Pod]:
    held = [(-_held(other, name), other.key, other) for other in _others(scene, pod, node)]
    return [other for amount, _, other in sorted(held, key=lambda each: each[:2]) if amount]


def _short(scene: Scene, pod: Pod, node: Node) -> list[str]:
    """The resources of which the pod asks for more than it can get."""
    return [name for name in RESIZABLE if _requests(pod, name) > _left(scene, pod, node, name)]


def _asked(pod: Pod) -> Iterator[Fact]:
    """What each container asks for, and what it was given instead."""
    statuses = {
        each.get("name"): (place, each)
        for place, each in enumerate(items(pod.status, "containerStatuses"))
    }
    for place, container in enumerate(items(pod.spec, "containers")):
        requests = section(container, "resources", "requests")
        where, status = statuses.get(container.get("name"), (0, {}))
        given = section(status, "allocatedResources")
        for name in RESIZABLE:
            if name in requests and requests[name] != given.get(name, requests[name]):
                own = container.get("name")
                path = ("spec", "containers", place, "resources", "requests", name)
                text = say(
                    "Container {container} asks for {amount} {resource}.",
                    container=own,
                    amount=requests[name],
                    resource=name,
                )
                yield fact(pod, path, text, compared_with=given[name])
                path = ("status", "containerStatuses", where, "allocatedResources", name)
                yield fact(
                    pod,
                    path,
                    say(
                        "Its node has given container {container} {amount} {resource}.",
                        container=own,
                        amount=given[name],
                        resource=name,
                    ),
                )


def _node_facts(scene: Scene, pod: Pod, node: Node, short: list[str]) -> Iterator[Fact]:
    for name in short:
        has = format_amount(name, node.allocatable_units.get(name, 0))
        path = ("status", "allocatable", name)
        yield fact(
            node,
            path,
            say("Node {node} has {has} {name} allocatable.", node=node.name, has=has, name=name),
        )
        for other in _holders(scene, pod, node, name)[:FEW]:
            amount = format_amount(name, _held(other, name))
            text = say(
                "Pod {pod} on {node} holds {amount} {resource}.",
                pod=pod_and_owner(other),
                node=node.name,
                amount=amount,
                resource=name,
            )
            yield fact(other, ("spec", "nodeName"), text)


def _condition_fact(pod: Pod, condition: Manifest) -> Fact:
    place = items(pod.status, "conditions").index(condition)
    text = say(
        "The kubelet says {reason}: {message}.",
        reason=condition.get("reason"),
        message=condition.get("message"),
    )
    return fact(pod, ("status", "conditions", place, "message"), text)


def _within(pod: Pod, room: dict[str, int]) -> Manifest | None:
    """The patch that asks for what there is room for; None where more than one container asks."""
    containers = items(pod.spec, "containers")
    if len(containers) != 1 or not room or items(pod.spec, "initContainers"):
        return None
    given = section(allocated_pod(pod).containers[0], "resources", "requests")
    requests = {
        name: f"{left}m" if name == "cpu" else str(left)
        for name, left in room.items()
        if name in given
    }
    if any(_held(pod, name) > left for name, left in room.items()):
        return None
    resources: Manifest = {"requests": requests}
    limits = section(containers[0], "resources", "limits")
    own = section(containers[0], "resources", "requests")
    # A Guaranteed pod stays one: its limits follow.
    equal = {name: amount for name, amount in requests.items() if limits.get(name) == own.get(name)}
    if equal and limits:
        resources["limits"] = equal
    return {"spec": {"containers": [{"name": containers[0].get("name"), "resources": resources}]}}
