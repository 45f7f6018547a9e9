"""PodTopologySpread: the pods per domain, the emptiest domain, and why the pod cannot go there."""

from __future__ import annotations

from typing import Any

from kscope.sim.objects.objects import Node
from scheduling.engine.diagnosis.facts.case import FEW, Case, listed
from scheduling.engine.diagnosis.facts.fact import Explanation, Fact, fact
from scheduling.engine.diagnosis.facts.taints import untolerated
from scheduling.engine.diagnosis.manifests import (
    items,
    taint_text,
)
from scheduling.engine.pods.pod_template import SpreadConstraint


def explain_spread(case: Case) -> Explanation:
    """The constraint that fails, with the counts behind it."""
    key = case.numbers.get("topologyKey")
    if not isinstance(key, str):
        return Explanation()
    place = _place(case, key)
    if "skew" not in case.numbers:
        because = [
            fact(node, ("metadata", "labels", key), f"{node.name} has no label {key}.")
            for node, _ in case.few()
        ]
        return Explanation(because=tuple(because))
    because = _constraint_facts(case, key, place)
    counts = _counts(case, key, place)
    smallest = case.numbers["minimum"]
    emptiest = [name for name, (count, nodes) in counts.items() if count == smallest and nodes]
    counted = ", ".join(f"{name}: {count}" for name, (count, _) in list(counts.items())[:FEW])
    sentence = (
        f"{listed([each.node for each in case.refused], 4)}: the pod would make the skew over {key} "
        f"{case.numbers['skew']}, and maxSkew is {case.numbers['maxSkew']} ({counted})."
    )
    why = ""
    for name in emptiest:
        blocked = _why_closed(case, counts[name][1])
        if blocked:
            honors = "" if place is None else _taint_policy(case, place)
            why = f"Domain {name} has {smallest} and sets the minimum, but {blocked[0]}{honors}."
            because.extend(blocked[1])
            break
    return Explanation(sentence=sentence, lead=why, why=why, because=tuple(because))


def _place(case: Case, key: str) -> int | None:
    """The place of the constraint on *key* in the pod's spec; None for a default one."""
    for at, raw in enumerate(items(case.pod.spec, "topologySpreadConstraints")):
        hard = raw.get("whenUnsatisfiable") != "ScheduleAnyway"
        if raw.get("topologyKey") == key and hard:
            return at
    return None


def _constraint_facts(case: Case, key: str, place: int | None) -> list[Fact]:
    if place is None:
        return []
    path = ("spec", "topologySpreadConstraints", place)
    raw = items(case.pod.spec, "topologySpreadConstraints")[place]
    most = raw.get("maxSkew")
    found = [
        fact(
            case.pod,
            (*path, "maxSkew"),
            f"The pod's constraint over {key} has maxSkew {most}.",
            compared_with=case.numbers["skew"],
        )
    ]
    if raw.get("minDomains"):
        text = f"It counts the minimum as 0 below {raw['minDomains']} domains (minDomains)."
        found.append(fact(case.pod, (*path, "minDomains"), text))
    return found


def _constraint(case: Case, key: str) -> SpreadConstraint | None:
    state = case.world.algorithm.framework.new_state(case.world.info())
    return next(
        (each for each in state.template.spread if each.topology_key == key and each.is_hard), None
    )


def _counts(case: Case, key: str, place: int | None) -> dict[str, tuple[int, list[Node]]]:
    """Matching pods and nodes of each domain, the emptiest first."""
    constraint = _constraint(case, key)
    found: dict[str, tuple[int, list[Node]]] = {}
    for row, node in case.world.nodes():
        domain = node.labels.get(key)
        if domain is None:
            continue
        count, nodes = found.get(domain, (0, []))
        nodes.append(node)
        found[domain] = (count + _matching(case, row, constraint), nodes)
    return dict(sorted(found.items(), key=lambda entry: (entry[1][0], entry[0])))


def _matching(case: Case, row: int, constraint: SpreadConstraint | None) -> int:
    if constraint is None or constraint.selector is None:
        return 0
    return sum(
        info.pod.namespace == case.pod.namespace
        and not info.pod.deletion_timestamp
        and constraint.selector.matches(info.pod.labels)
        for info in case.world.table.pods[row].values()
    )


def _why_closed(case: Case, nodes: list[Node]) -> tuple[str, list[Fact]] | None:
    """Why no pod can go to any of *nodes*; None where one can."""
    texts: list[str] = []
    because: list[Fact] = []
    for node in nodes:
        refusal = case.everywhere.get(node.name)
        others = [] if refusal is None else [e for e in refusal.obstacles if e.name != case.plugin]
        if not others:
            return None
        taints = list(untolerated(case, node))
        for place, taint in taints:
            text = (
                f"{node.name} has the taint {taint_text(taint)}, which the pod does not tolerate."
            )
            because.append(fact(node, ("spec", "taints", place), text))
        if node.unschedulable:
            because.append(fact(node, ("spec", "unschedulable"), f"{node.name} is cordoned."))
        texts.append(f"{node.name} refuses the pod: {others[0].detail.text}")
    return listed(texts, 2), because


def _taint_policy(case: Case, place: int) -> str:
    raw: dict[str, Any] = items(case.pod.spec, "topologySpreadConstraints")[place]
    policy = raw.get("nodeTaintsPolicy")
    if policy == "Honor":
        return ""
    return "; nodeTaintsPolicy Ignore counts it all the same"
