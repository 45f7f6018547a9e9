"""What kubelets declare, and what the pod needs."""

from __future__ import annotations

from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation, fact
from engine.kernel.sentences import enumerated, say


def explain_features(case: Case) -> Explanation:
    """What the kubelets of the nodes declare, and what the pod needs."""
    missing = sorted({name for _, detail in case.few() for name in detail.numbers["missing"]})
    because = [
        fact(
            node,
            ("status", "declaredFeatures"),
            say(
                "Node {node} does not declare {features}.",
                node=node.name,
                features=enumerated(detail.numbers["missing"]),
            ),
            compared_with=detail.numbers["missing"],
        )
        for node, detail in case.few()
    ]
    return Explanation(
        why=say("The pod needs a kubelet with {features}.", features=enumerated(missing)),
        because=tuple(because),
    )
