"""What a plugin that proposes changes is given: the nodes that refuse a pod, and the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.framework.explaining.case import Refusal
from engine.framework.explaining.manifests import taint_of
from engine.framework.explaining.view import View
from engine.objects.objects import Node, Pod
from engine.objects.pods.tolerations import Taint

# How many nodes, the closest to fitting first, are looked at for changes of a node.
NODES: Final = 8
_HARD = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Refusals:
    """The cluster that has no node for the pod, and the nodes that refuse it, closest first.

    `refused` is empty where the pod was refused before any node was looked at. A change is worth
    trying if at most `others` other obstacles of its kind remain.
    """

    world: View
    refused: Sequence[Refusal]
    others: int = 0

    @property
    def pod(self) -> Pod:
        """The pod in question."""
        return self.world.pod

    def refused_by(self, plugin: str) -> list[Refusal]:
        """The nodes that the plugin of that name refuses, the closest first."""
        return [
            each
            for each in self.refused
            if any(obstacle.name == plugin for obstacle in each.obstacles)
        ]

    def near(self, most: int = NODES) -> list[tuple[Refusal, Node]]:
        """The closest nodes."""
        return [(each, self.world.table.node(each.row)) for each in self.refused[:most]]

    def untolerated(self, node: Node) -> list[Taint]:
        """The node's hard taints that the pod does not tolerate."""
        tolerated = self.world.template().tolerations
        return [
            taint
            for taint in dict.fromkeys(map(taint_of, node.taints))
            if taint.effect in _HARD and not any(each.tolerates(taint) for each in tolerated)
        ]
