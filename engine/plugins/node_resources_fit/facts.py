"""NodeResourcesFit: what the pod asks for and why, what nodes offer, and who holds the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from engine.framework.explaining.amounts import format_amount
from engine.framework.explaining.case import FEW, Case, listed, pod_and_owner
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import (
    NOTHING,
    Argument,
    Sentence,
    count_phrase,
    phrase,
    say,
    say_count,
)
from engine.kubelet.resizing import INFEASIBLE, PENDING, condition_of
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Node, Pod, resource_units

_LIMIT_RANGER = "kubernetes.io/limit-ranger"
# What is said of the request of a container of each kind, and of one that has a default.
_ASKS: Final = {
    "Container": (
        phrase("Container {container} asks for {amount} {resource}."),
        phrase(
            "Container {container} asks for {amount} {resource}, a default of a LimitRange "
            "({limit_ranger})."
        ),
    ),
    "Sidecar": (
        phrase("Sidecar {container} asks for {amount} {resource}."),
        phrase(
            "Sidecar {container} asks for {amount} {resource}, a default of a LimitRange "
            "({limit_ranger})."
        ),
    ),
    "Init container": (
        phrase("Init container {container} asks for {amount} {resource}."),
        phrase(
            "Init container {container} asks for {amount} {resource}, a default of a LimitRange "
            "({limit_ranger})."
        ),
    ),
}
_HOLDS: Final = phrase("Pod {pod} on {node} holds {amount} {resource}.")
_HOLDS_FOR_INIT: Final = phrase(
    "Pod {pod} on {node} holds {amount} {resource}, which an init container asks for and which "
    "stays reserved."
)
_NO_DEVICES: Final = count_phrase(
    "Node {nodes} advertises 0 {resource}, as when the device plugin reports no device.",
    "Nodes {nodes} advertise 0 {resource}, as when the device plugin reports no device.",
)
_NO_PAGES: Final = count_phrase(
    "Node {nodes} advertises 0 {resource}, as no huge pages are reserved on the machine.",
    "Nodes {nodes} advertise 0 {resource}, as no huge pages are reserved on the machine.",
)


def explain_resources(case: Case) -> Explanation:
    """Each resource that is short: its request, what the closest nodes have, and the pods on them."""
    short = list(_short(case))
    because: list[Fact] = []
    for name in short:
        because.extend(request_facts(case.pod, name))
        for node, detail in case.few():
            if name in detail.numbers:
                because.extend(_node_facts(node, name, detail.numbers[name]))
        because.extend(_resize_facts(case, name))
        because.extend(_holder_facts(case, name))
    lead = next(filter(None, (_lead(case, name) for name in short)), NOTHING)
    texts = (text(case, name) for text in (_too_large, _holders_text) for name in short)
    why = lead or next(filter(None, texts), NOTHING)
    return Explanation(lead=lead, why=why, because=tuple(because))


def _short(case: Case) -> dict[str, None]:
    """The resources that are short on any of the closest nodes."""
    return {
        name: None
        for _, detail in case.few()
        for name, entry in detail.numbers.items()
        if isinstance(entry, dict) and "requested" in cast("dict[str, Any]", entry)
    }


def lacks(node: Node, name: str) -> bool:
    """Whether *node* does not have the resource at all, not even 0 of it."""
    return name not in node.allocatable


def request_facts(pod: Pod, name: str) -> Iterator[Fact]:
    """Where the pod's request of a resource is written, container by container."""
    if name == "pods":
        return
    by_limit_ranger = pod.annotations.get(_LIMIT_RANGER, "")
    for field in ("containers", "initContainers"):
        for place, container in enumerate(items(pod.spec, field)):
            requests = section(container, "resources", "requests")
            if name in requests:
                asks, asks_by_default = _ASKS[_kind_of(container, field)]
                places: dict[str, Argument] = {
                    "container": container.get("name"),
                    "amount": requests[name],
                    "resource": name,
                }
                text = asks.say(**places)
                if (
                    f"container {container.get('name')}" in by_limit_ranger
                    and name in by_limit_ranger
                ):
                    text = asks_by_default.say(**places, limit_ranger=by_limit_ranger)
                yield fact(pod, ("spec", field, place, "resources", "requests", name), text)
    if name in by_limit_ranger:
        path = ("metadata", "annotations", _LIMIT_RANGER)
        yield fact(
            pod,
            path,
            say(
                "A LimitRange filled in what was not requested: {by_limit_ranger}.",
                by_limit_ranger=by_limit_ranger,
            ),
        )
    if name in section(pod.spec, "overhead"):
        added: dict[str, Argument] = {"amount": section(pod.spec, "overhead")[name], "name": name}
        text = say("The pod's overhead is {amount} {name}.", **added)
        if of_class := pod.spec.get("runtimeClassName"):
            text = say(
                "Its RuntimeClass {of_class} adds an overhead of {amount} {name}.",
                of_class=of_class,
                **added,
            )
        yield fact(pod, ("spec", "overhead", name), text)
    if name in section(pod.spec, "resources", "requests"):
        asked = section(pod.spec, "resources", "requests")[name]
        text = say("The pod as a whole asks for {asked} {name}.", asked=asked, name=name)
        yield fact(pod, ("spec", "resources", "requests", name), text)


def _kind_of(container: Mapping[str, Any], field: str) -> str:
    if field == "containers":
        return "Container"
    # A sidecar runs beside the containers, so its request adds to theirs.
    return "Sidecar" if container.get("restartPolicy") == "Always" else "Init container"


def _node_facts(node: Node, name: str, numbers: dict[str, int]) -> Iterator[Fact]:
    path = ("status", "allocatable", name)
    if lacks(node, name):
        text = say("Node {node} has no {name} at all.", node=node.name, name=name)
    elif numbers["allocatable"] == 0:
        text = say(
            "Node {node} advertises 0 {name}: it knows the resource and has none of it.",
            node=node.name,
            name=name,
        )
    else:
        used, has = (format_amount(name, numbers[key]) for key in ("used", "allocatable"))
        text = say(
            "Node {node} has {has} {name} allocatable, of which {used} is requested.",
            node=node.name,
            has=has,
            name=name,
            used=used,
        )
        if name == "pods":
            text = say(
                "Node {node} may have {has} pods and has {used}.",
                node=node.name,
                has=has,
                used=used,
            )
    yield fact(node, path, text, compared_with=numbers["requested"])


def _resize_facts(case: Case, name: str) -> Iterator[Fact]:
    """Pods on the closest nodes that already count with what a resize is still to give them."""
    for refusal, (node, _) in zip(case.refused, case.few(), strict=False):
        for info in case.pods_at(refusal.row):
            condition = condition_of(info.pod, PENDING)
            if condition is None or condition.get("reason") == INFEASIBLE:
                continue
            amount = format_amount(name, _held(info, name))
            text = say(
                "Pod {info} on {node} counts with {amount} {name}, although its resize to "
                "that is deferred.",
                info=info.key,
                node=node.name,
                amount=amount,
                name=name,
            )
            place = items(info.pod.status, "conditions").index(condition)
            yield fact(info.pod, ("status", "conditions", place, "reason"), text)


def _held(info: PodInfo, name: str) -> int:
    return 1 if name == "pods" else info.resources.fit.get(name)


def _holder_facts(case: Case, name: str) -> Iterator[Fact]:
    """The pods that hold most of it on the closest node."""
    node = case.nearest
    holders = _holders(case, name)
    for info in holders[:FEW]:
        amount = format_amount(name, _held(info, name))
        path = _largest_request(info.pod, name)
        holder = pod_and_owner(info.pod)
        if name == "pods":
            text = say("Pod {pod} on {node} takes one of its places.", pod=holder, node=node.name)
        else:
            holds = _HOLDS_FOR_INIT if "initContainers" in path else _HOLDS
            text = holds.say(pod=holder, node=node.name, amount=amount, resource=name)
        yield fact(info.pod, path, text)
    if holders and all(info.priority >= case.pod.priority for info in holders):
        yield fact(
            case.pod,
            ("spec", "priority"),
            say(
                "The pod's priority is {priority}, and no pod on {node} has a lower one, "
                "so none can be evicted for it.",
                priority=case.pod.priority,
                node=node.name,
            ),
            compared_with=min(info.priority for info in holders),
        )


def _largest_request(pod: Pod, name: str) -> tuple[str | int, ...]:
    """Where the greatest part of a pod's request is written; its node where none is."""
    places = [
        (-resource_units({name: requests[name]})[name], field, place)
        for field in ("containers", "initContainers")
        for place, container in enumerate(items(pod.spec, field))
        if name in (requests := section(container, "resources", "requests"))
    ]
    if not places:
        return ("spec", "nodeName")
    _, field, place = min(places)
    return ("spec", field, place, "resources", "requests", name)


def _holders(case: Case, name: str) -> list[PodInfo]:
    found = [info for info in case.pods_at(case.refused[0].row) if _held(info, name) > 0]
    return sorted(found, key=lambda info: (-_held(info, name), info.key))


def _lead(case: Case, name: str) -> Sentence:
    """That no node has any of the resource; "" where one has."""
    if name != "pods" and case.world.table.most(name) > 0:
        return NOTHING
    advertising = [each for _, each in case.world.nodes() if not lacks(each, name)]
    if name != "pods" and not advertising:
        return say("No node of the cluster has {name}.", name=name)
    empty = [each.name for each in advertising if not each.allocatable_units.get(name, 0)]
    if empty and len(empty) == len(advertising):
        text = _NO_PAGES if name.startswith("hugepages-") else _NO_DEVICES
        return text.say(len(empty), nodes=listed(empty), resource=name)
    return NOTHING


def _too_large(case: Case, name: str) -> Sentence:
    """That no node, however empty, would have enough; "" where one would."""
    asked = case.world.info().resources.fit.get(name)
    most = 0 if name == "pods" else case.world.table.most(name)
    if name == "pods" or asked <= most:
        return NOTHING
    return say(
        "Even an empty node would not do: the largest has {amount} {name}.",
        amount=format_amount(name, most),
        name=name,
    )


def _holders_text(case: Case, name: str) -> Sentence:
    """The pods that fill the closest node."""
    node, numbers = case.nearest, case.numbers.get(name)
    if not isinstance(numbers, dict):
        return NOTHING
    entry = cast("dict[str, int]", numbers)
    holders = _holders(case, name)
    if not holders:
        return NOTHING
    holdings = [
        info.key if name == "pods" else f"{info.key} {format_amount(name, _held(info, name))}"
        for info in holders
    ]
    used, has = (format_amount(name, entry[key]) for key in ("used", "allocatable"))
    if name == "pods":
        return say(
            "Node {node} has its {has} pods: {holdings}.",
            node=node.name,
            has=has,
            holdings=listed(holdings, 3),
        )
    return say_count(
        "On {node} {count} pod holds {used} of {capacity} {resource}: {holdings}.",
        "On {node} {count} pods hold {used} of {capacity} {resource}: {holdings}.",
        len(holders),
        node=node.name,
        used=used,
        capacity=has,
        resource=name,
        holdings=listed(holdings, 3),
    )
