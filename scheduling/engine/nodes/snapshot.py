"""A frozen view of the cache for one scheduling cycle, renewed only where something changed.

Upstream: UpdateNodeInfoSnapshot() (v1.16), UpdateSnapshot() and snapshot.go (v1.20, v1.34).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from scheduling.engine.nodes.cache import SchedulerCache
from scheduling.engine.nodes.node_info import NodeInfo

if TYPE_CHECKING:
    from kscope.sim.objects.objects import Node


class Snapshot:
    """Copies of the cache's nodes.

    `node_infos` holds them by name. The lists (v1.20 and later) are in the order of the node tree:
    `node_list` all, the others those with pods that have affinity, or required anti-affinity.
    """

    __slots__ = ("generation", "have_affinity", "have_anti_affinity", "node_infos", "node_list")

    def __init__(self) -> None:
        self.generation = 0
        self.node_infos: dict[str, NodeInfo] = {}
        self.node_list: list[NodeInfo] = []
        self.have_affinity: list[NodeInfo] = []
        self.have_anti_affinity: list[NodeInfo] = []

    def update(self, cache: SchedulerCache) -> list[str]:
        """Copy what changed in the cache since the last time. Returns the names of what was copied.

        Ghosts are not copied. A node that became one stays, as it was, while it has pods in v1.16;
        later versions drop it.
        """
        recloned: list[str] = []
        lists_stale = affinity_stale = False
        for info in cache.changed_since(self.generation):
            if info.node is None:
                continue
            copy = info.clone()
            if cache.rules.live_image_counts:
                copy.image_states = {name: cache.image_state(name) for name in info.image_states}
            old = self.node_infos.get(info.name)
            if old is None:
                lists_stale = True
            elif bool(old.pods_with_affinity) != bool(copy.pods_with_affinity) or bool(
                old.pods_with_required_anti_affinity
            ) != bool(copy.pods_with_required_anti_affinity):
                affinity_stale = True
            self.node_infos[info.name] = copy
            recloned.append(info.name)
        if cache.node_count:
            self.generation = cache.generation
        if cache.rules.snapshot_lists:
            self._update_lists(cache, lists_stale, affinity_stale, bool(recloned))
        elif len(self.node_infos) > cache.node_count:
            for name in [name for name in self.node_infos if name not in cache]:
                del self.node_infos[name]
        return recloned

    def get(self, name: str) -> NodeInfo | None:
        """The copy of the node, if it is known."""
        return self.node_infos.get(name)

    def _update_lists(
        self, cache: SchedulerCache, lists_stale: bool, affinity_stale: bool, any_copied: bool
    ) -> None:
        if len(self.node_infos) > cache.tree.num_nodes:
            self._drop_removed(cache)
            lists_stale = True
        if lists_stale:
            names = cache.tree.list()
            self.node_list = [self.node_infos[n] for n in names if n in self.node_infos]
        elif any_copied:
            self.node_list = [self.node_infos[info.name] for info in self.node_list]
        if lists_stale or affinity_stale or any_copied:
            self.have_affinity = [info for info in self.node_list if info.pods_with_affinity]
            self.have_anti_affinity = [
                info for info in self.node_list if info.pods_with_required_anti_affinity
            ]

    def _drop_removed(self, cache: SchedulerCache) -> None:
        for name in list(self.node_infos):
            entry = cache.node(name)
            if entry is None or entry.node is None:
                del self.node_infos[name]


def create_image_existence_map(nodes: Iterable[Node]) -> dict[str, dict[str, None]]:
    """Image name → the nodes that have it. Upstream: snapshot.go createImageExistenceMap()."""
    existence: dict[str, dict[str, None]] = {}
    for node in nodes:
        for name, _ in node.image_sizes:
            existence.setdefault(name, {})[node.name] = None
    return existence


def get_node_image_states(
    node: Node, existence: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[int, int]]:
    """Image name → (size in bytes, number of nodes). Upstream: snapshot.go getNodeImageStates()."""
    return {name: (size, len(existence.get(name, ()))) for name, size in node.image_sizes}
