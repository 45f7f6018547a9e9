"""NodeResourcesFit: what the pod asks for and why, what nodes offer, and who holds the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from engine.framework.explaining.amounts import format_amount
from engine.framework.explaining.case import FEW, Case, listed, owner_text
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.framework.pods.pod_info import PodInfo
from engine.kubelet.resizing import INFEASIBLE, PENDING, condition_of
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Node, Pod, resource_units

_LIMIT_RANGER = "kubernetes.io/limit-ranger"


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
    lead = next(filter(None, (_lead(case, name) for name in short)), "")
    texts = (text(case, name) for text in (_too_large, _holders_text) for name in short)
    why = lead or next(filter(None, texts), "")
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
                what = _kind_of(container, field)
                given = (
                    f", a default of a LimitRange ({by_limit_ranger})"
                    if f"container {container.get('name')}" in by_limit_ranger
                    and name in by_limit_ranger
                    else ""
                )
                yield fact(
                    pod,
                    ("spec", field, place, "resources", "requests", name),
                    f"{what} {container.get('name')} asks for {requests[name]} {name}{given}.",
                )
    if name in by_limit_ranger:
        path = ("metadata", "annotations", _LIMIT_RANGER)
        yield fact(pod, path, f"A LimitRange filled in what was not requested: {by_limit_ranger}.")
    if name in section(pod.spec, "overhead"):
        text = f"The pod's overhead is {section(pod.spec, 'overhead')[name]} {name}."
        yield fact(pod, ("spec", "overhead", name), text)
    if name in section(pod.spec, "resources", "requests"):
        asked = section(pod.spec, "resources", "requests")[name]
        text = f"The pod as a whole asks for {asked} {name}."
        yield fact(pod, ("spec", "resources", "requests", name), text)


def _kind_of(container: Mapping[str, Any], field: str) -> str:
    if field == "containers":
        return "Container"
    # A sidecar runs beside the containers, so its request adds to theirs.
    return "Sidecar" if container.get("restartPolicy") == "Always" else "Init container"


def _node_facts(node: Node, name: str, numbers: dict[str, int]) -> Iterator[Fact]:
    path = ("status", "allocatable", name)
    if lacks(node, name):
        text = f"Node {node.name} has no {name} at all."
    elif numbers["allocatable"] == 0:
        text = f"Node {node.name} advertises 0 {name}: it knows the resource and has none of it."
    else:
        used, has = (format_amount(name, numbers[key]) for key in ("used", "allocatable"))
        text = f"Node {node.name} has {has} {name} allocatable, of which {used} is requested."
        if name == "pods":
            text = f"Node {node.name} may have {has} pods and has {used}."
    yield fact(node, path, text, compared_with=numbers["requested"])


def _resize_facts(case: Case, name: str) -> Iterator[Fact]:
    """Pods on the closest nodes that already count with what a resize is still to give them."""
    for refusal, (node, _) in zip(case.refused, case.few(), strict=False):
        for info in case.pods_at(refusal.row):
            condition = condition_of(info.pod, PENDING)
            if condition is None or condition.get("reason") == INFEASIBLE:
                continue
            amount = format_amount(name, _held(info, name))
            text = (
                f"Pod {info.key} on {node.name} counts with {amount} {name}, although its resize to "
                "that is deferred."
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
        share = f"holds {amount} {name}" if name != "pods" else "takes one of its places"
        path = _largest_request(info.pod, name)
        if "initContainers" in path:
            share += ", which an init container asks for and which stays reserved"
        text = f"Pod {info.key}{owner_text(info.pod)} on {node.name} {share}."
        yield fact(info.pod, path, text)
    if holders and all(info.priority >= case.pod.priority for info in holders):
        yield fact(
            case.pod,
            ("spec", "priority"),
            f"The pod's priority is {case.pod.priority}, and no pod on {node.name} has a lower one, "
            "so none can be evicted for it.",
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


def _lead(case: Case, name: str) -> str:
    """That no node has any of the resource; "" where one has."""
    if name != "pods" and case.world.table.most(name) > 0:
        return ""
    advertising = [each for _, each in case.world.nodes() if not lacks(each, name)]
    if name != "pods" and not advertising:
        return f"No node of the cluster has {name}."
    empty = [each.name for each in advertising if not each.allocatable_units.get(name, 0)]
    if empty and len(empty) == len(advertising):
        verb = "advertises" if len(empty) == 1 else "advertise"
        who = "Node" if len(empty) == 1 else "Nodes"
        why = "as when the device plugin reports no device"
        if name.startswith("hugepages-"):
            why = "as no huge pages are reserved on the machine"
        return f"{who} {listed(empty)} {verb} 0 {name}, {why}."
    return ""


def _too_large(case: Case, name: str) -> str:
    """That no node, however empty, would have enough; "" where one would."""
    asked = case.world.info().resources.fit.get(name)
    most = 0 if name == "pods" else case.world.table.most(name)
    if name == "pods" or asked <= most:
        return ""
    return f"Even an empty node would not do: the largest has {format_amount(name, most)} {name}."


def _holders_text(case: Case, name: str) -> str:
    """The pods that fill the closest node."""
    node, numbers = case.nearest, case.numbers.get(name)
    if not isinstance(numbers, dict):
        return ""
    entry = cast("dict[str, int]", numbers)
    holders = _holders(case, name)
    if not holders:
        return ""
    holdings = [
        info.key if name == "pods" else f"{info.key} {format_amount(name, _held(info, name))}"
        for info in holders
    ]
    count = "1 pod holds" if len(holders) == 1 else f"{len(holders)} pods hold"
    used, has = (format_amount(name, entry[key]) for key in ("used", "allocatable"))
    if name == "pods":
        return f"Node {node.name} has its {has} pods: {listed(holdings, 3)}."
    return f"On {node.name} {count} {used} of {has} {name}: {listed(holdings, 3)}."
