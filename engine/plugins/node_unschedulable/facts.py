"""The cordon of a node."""

from __future__ import annotations

from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation, fact
from engine.kernel.sentences import say


def explain_cordon(case: Case) -> Explanation:
    """spec.unschedulable of the nodes, which `kubectl cordon` sets."""
    because = [
        fact(
            node,
            ("spec", "unschedulable"),
            say(
                "Node {node} is cordoned: it keeps its pods and takes no new ones.", node=node.name
            ),
        )
        for node, _ in case.few()
        if node.unschedulable
    ]
    return Explanation(because=tuple(because))
