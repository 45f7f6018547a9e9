"""What kubelets declare, and what the pod needs."""

from __future__ import annotations

from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation, fact


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
