"""Changes after which a node is one that a pod selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.framework.explaining.fixes import SmallestFix


def label(node: str, numbers: Mapping[str, Any]) -> SmallestFix | None:
    """See `Fixes`: the first label that the pod wants, if its rule names values."""
    if "wanted" not in numbers:
        return None
    key, value = numbers["key"], numbers["wanted"][0]
    return SmallestFix(
        text=f"Label {node} {key}={value} and it may fit there.",
        object=f"node/{node}",
        patch={"metadata": {"labels": {key: value}}},
    )
