"""NodeAffinity, nodeSelector and nodeName: what is wanted, and what the nodes have instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.framework.explaining.case import FEW, Case, listed
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.framework.explaining.labels import RENAMED, described, holds, selector_of
from engine.framework.explaining.manifests import HOSTNAME, REQUIRED, node_terms
from engine.kernel.sentences import NOTHING, Sentence, count_phrase, enumerated, say
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, Pod

_SIMPLE: Final = ("spec", "nodeSelector")
_TERMS: Final = ("spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")


def explain_selector(case: Case) -> Explanation:
    """Each requirement that no node, or not the closest, meets; labels that were renamed."""
    pod = case.pod
    because: list[Fact] = []
    why: list[Sentence] = []
    selector: dict[str, str] = pod.spec.get("nodeSelector") or {}
    for key, value in selector.items():
        requirement = {"key": key, "operator": "In", "values": [value]}
        if _fails_somewhere(case, requirement):
            because.append(
                fact(
                    pod,
                    (*_SIMPLE, key),
                    say("The pod's nodeSelector requires {key}={value}.", key=key, value=value),
                )
            )
            because.extend(_node_facts(case, requirement))
            why.append(_why(case, requirement))
    for place, term in enumerate(node_terms(pod)):
        for at, requirement in enumerate(items(term, "matchExpressions")):
            if _fails_somewhere(case, requirement):
                path = (*_TERMS, place, "matchExpressions", at)
                text = say(
                    "The pod's node affinity requires {requirement}.",
                    requirement=described(requirement),
                )
                because.append(fact(pod, path, text))
                because.extend(_node_facts(case, requirement))
                why.append(_why(case, requirement))
        for at, requirement in enumerate(items(term, "matchFields")):
            path = (*_TERMS, place, "matchFields", at)
            text = say(
                "The pod's node affinity requires {requirement}.",
                requirement=described(requirement),
            )
            because.append(fact(pod, path, text))
            because.extend(_name_facts(case, requirement))
            why.append(_why_no_name(case, requirement))
    if pod.node_name or pod.spec.get("nodeName"):
        named = str(pod.spec.get("nodeName"))
        because.append(
            fact(pod, ("spec", "nodeName"), say("The pod's spec.nodeName is {named}.", named=named))
        )
    first = next(filter(None, why), NOTHING)
    return Explanation(
        lead=first,
        overall=case.overall(
            count_phrase(
                "The pod's node selector or affinity leaves only {nodes}, which refuses it: "
                "{faults}.",
                "The pod's node selector or affinity leaves only {nodes}, which refuse it: "
                "{faults}.",
            )
        ),
        why=first,
        because=tuple(_once(because)),
    )


def conflicting_names(pod: Pod) -> Iterator[Fact]:
    """The requirements on metadata.name that no node can meet together."""
    for place, term in enumerate(node_terms(pod)):
        for at, requirement in enumerate(items(term, "matchFields")):
            path = (*_TERMS, place, "matchFields", at)
            text = say(
                "The pod's node affinity requires {requirement}.",
                requirement=described(requirement),
            )
            yield fact(pod, path, text)


def explain_added(case: Case, added: Manifest) -> Explanation:
    """What *added*, the addedAffinity of the configuration, requires of every pod's node."""
    because: list[Fact] = []
    why = NOTHING
    for requirement in _added_requirements(added):
        if _fails_somewhere(case, requirement):
            because.extend(_node_facts(case, requirement))
            why = why or say(
                "The scheduler's configuration (NodeAffinity, addedAffinity) requires "
                "{requirement} of every node.",
                requirement=described(requirement),
            )
    return Explanation(lead=why, why=why, because=tuple(_once(because)))


def _added_requirements(added: Manifest) -> Iterator[Mapping[str, Any]]:
    for term in items(section(added, REQUIRED), "nodeSelectorTerms"):
        yield from items(term, "matchExpressions")


def _name_facts(case: Case, requirement: Mapping[str, Any]) -> Iterator[Fact]:
    for each in case.refused[:FEW]:
        text = say("Node {node} has another name.", node=each.node)
        wanted = requirement.get("values")
        yield fact(case.node(each), ("metadata", "name"), text, compared_with=wanted)


def _why_no_name(case: Case, requirement: Mapping[str, Any]) -> Sentence:
    wanted = [str(each) for each in requirement.get("values") or ()]
    if requirement.get("operator") != "In" or any(name in case.world.table.rows for name in wanted):
        return NOTHING
    return say(
        "The pod requires {requirement}, and no node has that name.",
        requirement=described(requirement),
    )


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
            say("Node {node} has {key}={has}.", node=node.name, key=key, has=has)
            if has is not None
            else say("Node {node} has no label {key}.", node=node.name, key=key)
        )
        yield fact(
            node, ("metadata", "labels", key), label_text, compared_with=requirement.get("values")
        )
        newer = RENAMED.get(key, "")
        if has is None and newer in node.labels:
            text = say(
                "Node {node} has the label under its newer name, {newer}={labels}.",
                node=node.name,
                newer=newer,
                labels=node.labels[newer],
            )
            yield fact(node, ("metadata", "labels", newer), text)


def _why(case: Case, requirement: Mapping[str, Any]) -> Sentence:
    """Why no node meets it: the label was renamed, is on no node, or has other values."""
    key = str(requirement.get("key"))
    table = case.world.table
    nodes = [node for _, node in case.world.nodes()]
    rows = table.active[table.matching(selector_of(requirement))[table.active]]
    matching = table.names(rows.tolist())
    if matching:
        return (
            say(
                "Only {matching} has {requirement}.",
                matching=listed(matching),
                requirement=described(requirement),
            )
            if len(matching) == 1
            else NOTHING
        )
    values = sorted({node.labels[key] for node in nodes if key in node.labels})
    newer = RENAMED.get(key)
    if not values and newer and any(newer in node.labels for node in nodes):
        return say(
            "No node has the label {key}; it was renamed, and the nodes carry {newer}.",
            key=key,
            newer=newer,
        )
    if not values:
        return say("No node has the label {key}.", key=key)
    if key == HOSTNAME:
        return _why_no_hostname(nodes, requirement)
    return say(
        "No node has {requirement}; the nodes have {key} in [{values}].",
        requirement=described(requirement),
        key=key,
        values=enumerated(values[:FEW]),
    )


def _why_no_hostname(nodes: list[Node], requirement: Mapping[str, Any]) -> Sentence:
    wanted = {str(each) for each in requirement.get("values") or ()}
    for node in nodes:
        if node.name in wanted:
            return say(
                "Node {node} exists, but its label {label} is {value}.",
                node=node.name,
                label=HOSTNAME,
                value=node.labels.get(HOSTNAME),
            )
    return say("No node has {requirement}.", requirement=described(requirement))
