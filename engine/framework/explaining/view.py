"""What a plugin may ask about the cluster when it explains a refusal or proposes a change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from engine.framework.nodes.listers import Listers
from engine.framework.nodes.node_table import NodeTable
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.pod_template import PodTemplate
from engine.objects.objects import Node, PersistentVolume, Pod


class View(Protocol):
    """The pod in question, and the cluster as the scheduler sees it."""

    table: NodeTable
    listers: Listers
    pod: Pod

    def info(self, pod: Pod | None = None) -> PodInfo:
        """The pod, or another version of it, as the scheduler sees it."""
        ...

    def template(self) -> PodTemplate:
        """What the scheduler reads from the manifest of the pod."""
        ...

    def nodes(self) -> Iterable[tuple[int, Node]]:
        """All nodes with their rows, in the order they were added."""
        ...

    def nodes_beside(self, names: Iterable[str]) -> list[Node]:
        """The nodes without those of *names*, in the order they were added."""
        ...

    def volumes(self) -> list[PersistentVolume]:
        """All volumes."""
        ...
