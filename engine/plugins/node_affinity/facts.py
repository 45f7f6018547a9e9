"""NodeAffinity, nodeSelector and nodeName: what is wanted, and what the nodes have instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.framework.explaining.case import FEW, Case, listed
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.framework.explaining.labels import RENAMED, described, holds, selector_of
from engine.framework.explaining.manifests import HOSTNAME, REQUIRED, node_terms
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, Pod

_SIMPLE: Final = ("spec", "nodeSelector")
_TERMS: Final = ("spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")


def explain_selector(case: Case) -> Explanation:
    """Each requirement that no node, or not the closest, meets; labels that were renamed."""
    pod = case.pod
    because: list[Fact] = []
    why: list[str] = []
    selector: dict[str, str] = pod.spec.get("nodeSelector") or {}
    for key, value in selector.items():
        requirement = {"key": key, "operator": "In", "values": [value]}
        if _fails_somewhere(case, requirement):
            because.append(
                fact(pod, (*_SIMPLE, key), f"The pod's nodeSelector requires {key}={value}.")
            )
            because.extend(_node_facts(case, requirement))
            why.append(_why(case, requirement))
    for place, term in enumerate(node_terms(pod)):
        for at, requirement in enumerate(items(term, "matchExpressions")):
            if _fails_somewhere(case, requirement):
                path = (*_TERMS, place, "matchExpressions", at)
                text = f"The pod's node affinity requires {described(requirement)}."
                because.append(fact(pod, path, text))
                because.extend(_node_facts(case, requirement))
                why.append(_why(case, requirement))
        for at, requirement in enumerate(items(term, "matchFields")):
            path = (*_TERMS, place, "matchFields", at)
            text = f"The pod's node affinity requires {described(requirement)}."
            because.append(fact(pod, path, text))
            because.extend(_name_facts(case, requirement))
            why.append(_why_no_name(case, requirement))
    if pod.node_name or pod.spec.get("nodeName"):
        named = str(pod.spec.get("nodeName"))
        because.append(fact(pod, ("spec", "nodeName"), f"The pod's spec.nodeName is {named}."))
    first = next(filter(None, why), "")
    return Explanation(
        lead=first,
        overall=case.overall("The pod's node selector or affinity"),
        why=first,
        because=tuple(_once(because)),
    )


def conflicting_names(pod: Pod) -> Iterator[Fact]:
    """The requirements on metadata.name that no node can meet together."""
    for place, term in enumerate(node_terms(pod)):
        for at, requirement in enumerate(items(term, "matchFields")):
            path = (*_TERMS, place, "matchFields", at)
            text = f"The pod's node affinity requires {described(requirement)}."
            yield fact(pod, path, text)


def explain_added(case: Case, added: Manifest) -> Explanation:
    """What *added*, the addedAffinity of the configuration, requires of every pod's node."""
    because: list[Fact] = []
    why = ""
    for requirement in _added_requirements(added):
        if _fails_somewhere(case, requirement):
            because.extend(_node_facts(case, requirement))
            why = why or (
                "The scheduler's configuration (NodeAffinity, addedAffinity) requires "
                f"{described(requirement)} of every node."
            )
    return Explanation(lead=why, why=why, because=tuple(_once(because)))


def _added_requirements(added: Manifest) -> Iterator[Mapping[str, Any]]:
    for term in items(section(added, REQUIRED), "nodeSelectorTerms"):
        yield from items(term, "matchExpressions")


def _name_facts(case: Case, requirement: Mapping[str, Any]) -> Iterator[Fact]:
    for each in case.refused[:FEW]:
        text = f"Node {each.node} has another name."
        wanted = requirement.get("values")
        yield fact(case.node(each), ("metadata", "name"), text, compared_with=wanted)


def _why_no_name(case: Case, requirement: Mapping[str, Any]) -> str:
    wanted = [str(each) for each in requirement.get("values") or ()]
    if requirement.get("operator") != "In" or any(name in case.world.table.rows for name in wanted):
        return ""
    return f"The pod requires {described(requirement)}, and no node has that name."


def _once(facts: list[Fact]) -> list[Fact]:
    """The facts without repetition, in their order."""
    seen: dict[tuple[str, str], Fact] = {}
    for each in facts:
        seen.setdefault((each.object, each.field), each)
    return list(seen.values())


def _fails_somewhere(case: Case, requirement: Mapping[str, Any]) -> bool:
    selector = selector_of(requirement)
    nodes = map(case.node, case.refused)
    return any(not selector.matches(node.labels, node.name) for node in nodes)


def _node_facts(case: Case, requirement: Mapping[str, Any]) -> Iterator[Fact]:
    key = str(requirement.get("key"))
    for each in case.refused[:FEW]:
        node = case.node(each)
        if holds(requirement, node):
            continue
        has = node.labels.get(key)
        label_text = (
            f"Node {node.name} has {key}={has}."
            if has is not None
            else f"Node {node.name} has no label {key}."
        )
        yield fact(
            node, ("metadata", "labels", key), label_text, compared_with=requirement.get("values")
        )
        newer = RENAMED.get(key, "")
        if has is None and newer in node.labels:
            text = f"Node {node.name} has the label under its newer name, {newer}={node.labels[newer]}."
            yield fact(node, ("metadata", "labels", newer), text)


def _why(case: Case, requirement: Mapping[str, Any]) -> str:
    """Why no node meets it: the label was renamed, is on no node, or has other values."""
    key = str(requirement.get("key"))
    table = case.world.table
    nodes = [node for _, node in case.world.nodes()]
    rows = table.active[table.matching(selector_of(requirement))[table.active]]
    matching = table.names(rows.tolist())
    if matching:
        return (
            f"Only {listed(matching)} has {described(requirement)}." if len(matching) == 1 else ""
        )
    values = sorted({node.labels[key] for node in nodes if key in node.labels})
    newer = RENAMED.get(key)
    if not values and newer and any(newer in node.labels for node in nodes):
        return f"No node has the label {key}; it was renamed, and the nodes carry {newer}."
    if not values:
        return f"No node has the label {key}."
    if key == HOSTNAME:
        return _why_no_hostname(nodes, requirement)
    return f"No node has {described(requirement)}; the nodes have {key} in [{', '.join(values[:FEW])}]."


def _why_no_hostname(nodes: list[Node], requirement: Mapping[str, Any]) -> str:
    wanted = {str(each) for each in requirement.get("values") or ()}
    for node in nodes:
        if node.name in wanted:
            return (
                f"Node {node.name} exists, but its label {HOSTNAME} is {node.labels.get(HOSTNAME)}."
            )
    return f"No node has {described(requirement)}."
