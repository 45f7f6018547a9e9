"""The conditions of a node that are not as they should be."""

from __future__ import annotations

from engine.framework.explaining.case import FEW, Case
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.kernel.sentences import say
from engine.objects.manifest_parts import items
from engine.objects.objects import Node
from engine.plugins.taint_toleration.facts import condition_facts

_HEALTHY = {"Ready": "True"}


def explain_condition(case: Case) -> Explanation:
    """Every condition of the nodes that is not as it should be."""
    because: list[Fact] = []
    for node, _ in case.few():
        for kind in _unhealthy(node)[:FEW]:
            because.extend(condition_facts(node, kind))
        if node.unschedulable:
            because.append(
                fact(
                    node, ("spec", "unschedulable"), say("Node {node} is cordoned.", node=node.name)
                )
            )
    return Explanation(because=tuple(because))


def _unhealthy(node: Node) -> list[str]:
    return [
        str(each.get("type"))
        for each in items(node.status, "conditions")
        if each.get("status") != _HEALTHY.get(str(each.get("type")), "False")
    ]
