"""Changes after which taints no longer keep a pod from a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.framework.explaining.fixes import SmallestFix
from engine.framework.pods.pod_info import PodInfo


def tolerate(pod: PodInfo, node: str, numbers: Mapping[str, Any]) -> SmallestFix:
    """See `Fixes`: a toleration of the taint."""
    toleration = {"key": numbers["key"], "effect": numbers["effect"], "operator": "Exists"}
    if numbers["value"]:
        toleration |= {"operator": "Equal", "value": numbers["value"]}
    old: list[Any] = list(pod.pod.spec.get("tolerations") or ())
    return SmallestFix(
        text=f"Tolerate {numbers['key']} and it fits {node} now.",
        object=pod.pod.id,
        patch={"spec": {"tolerations": [*old, toleration]}},
    )
