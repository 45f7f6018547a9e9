"""The change after which a cordoned node takes pods again."""

from __future__ import annotations

from engine.framework.explaining.fixes import SmallestFix
from engine.kernel.sentences import say


def uncordon(node: str) -> SmallestFix:
    """See `Fixes`."""
    return SmallestFix(
        text=say("Uncordon {node} and it fits there now.", node=node),
        object=f"node/{node}",
        patch={"spec": {"unschedulable": None}},
    )
