"""The change after which a cordoned node takes pods again."""

from __future__ import annotations

from engine.framework.explaining.fixes import SmallestFix


def uncordon(node: str) -> SmallestFix:
    """See `Fixes`."""
    return SmallestFix(
        text=f"Uncordon {node} and it fits there now.",
        object=f"node/{node}",
        patch={"spec": {"unschedulable": None}},
    )
