"""Cordoned nodes, and the node conditions that v1.16 and before check directly."""

from __future__ import annotations

from kscope.sim.objects.manifest_parts import items
from kscope.sim.objects.objects import Node
from scheduling.engine.diagnosis.facts.case import FEW, Case
from scheduling.engine.diagnosis.facts.fact import Explanation, Fact, fact
from scheduling.engine.diagnosis.facts.taints import condition_facts

_HEALTHY = {"Ready": "True"}


def explain_cordon(case: Case) -> Explanation:
    """spec.unschedulable of the nodes, which `kubectl cordon` sets."""
    because = [
        fact(
            node,
            ("spec", "unschedulable"),
            f"Node {node.name} is cordoned: it keeps its pods and takes no new ones.",
        )
        for node, _ in case.few()
        if node.unschedulable
    ]
    return Explanation(because=tuple(because))


def explain_features(case: Case) -> Explanation:
    """What the kubelets of the nodes declare, and what the pod needs."""
    missing = sorted({name for _, detail in case.few() for name in detail.numbers["missing"]})
    because = [
        fact(
            node,
            ("status", "declaredFeatures"),
            f"Node {node.name} does not declare {', '.join(detail.numbers['missing'])}.",
            compared_with=detail.numbers["missing"],
        )
        for node, detail in case.few()
    ]
    return Explanation(
        why=f"The pod needs a kubelet with {', '.join(missing)}.", because=tuple(because)
    )


def explain_condition(case: Case) -> Explanation:
    """Every condition of the nodes that is not as it should be."""
    because: list[Fact] = []
    for node, _ in case.few():
        for kind in _unhealthy(node)[:FEW]:
            because.extend(condition_facts(node, kind))
        if node.unschedulable:
            because.append(fact(node, ("spec", "unschedulable"), f"Node {node.name} is cordoned."))
    return Explanation(because=tuple(because))


def _unhealthy(node: Node) -> list[str]:
    return [
        str(each.get("type"))
        for each in items(node.status, "conditions")
        if each.get("status") != _HEALTHY.get(str(each.get("type")), "False")
    ]
