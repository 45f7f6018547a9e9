"""Keeps the node table, the gauges and the order of nodes in step with the scheduler's cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.cache import SchedulerCache
from engine.framework.nodes.gauges import NodeGauges
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.node_tree import NodeTree
from engine.framework.pods.pod_info import PodInfo

if TYPE_CHECKING:
    from engine.objects.objects import Node, Pod


class TableFeed:
    """The cache's observer: a `ReplacingObserver` that writes what it hears into *table*.

    *lists_anew* says that any change of a node makes the snapshot list the nodes again. Since v1.18
    the list is kept until a node comes or goes. Upstream: UpdateSnapshot(), updateAllLists. With
    *reads_labels* plugins may read the labels of the pods on a node, not only count pods by them.
    """

    def __init__(
        self, table: NodeTable, gauges: NodeGauges, *, lists_anew: bool, reads_labels: bool = True
    ) -> None:
        self._table = table
        self._reads_labels = reads_labels
        self._gauges = gauges
        self._lists_anew = lists_anew
        self._tree = NodeTree()
        self._order: IntArray | None = None
        self._listed: list[str] = []

    def follow(self, cache: SchedulerCache) -> None:
        """Take the order of nodes, and of the pods on each, from *cache*."""
        self._tree = cache.tree
        self._table.lister = cache.pods_on

    def order(self) -> IntArray:
        """The rows zone by zone in turn, as the snapshot lists the nodes."""
        return self._list_nodes() if self._order is None else self._order

    def _list_nodes(self) -> IntArray:
        rows, listed = self._table.rows, self._tree.list()
        # A node that went and came back since the last cycle has kept its place. Upstream:
        # UpdateSnapshot(), nodeInfoMap.
        if self._lists_anew or rows.keys() != dict.fromkeys(self._listed).keys():
            self._listed = listed
        order = self._order = np.array([rows[name] for name in self._listed], np.int64)
        return order

    def node_set(self, node: Node) -> None:
        """The node is new or changed."""
        if self._lists_anew or node.name not in self._table.rows:
            self._order = None
        self._table.add_node(node)

    def node_removed(self, node_name: str) -> None:
        """The node is gone, and its pods with it."""
        self._table.remove_node(node_name)
        self._order = None
        self._gauges.forget_node(node_name)

    def pod_added(self, node_name: str, pod: PodInfo) -> None:
        """The pod counts on the node from now on."""
        self._gauges.stale[node_name] = True
        table = self._table
        row = table.rows.get(node_name)
        if row is not None:
            table.add_pod(row, pod)
            table.images.note_change(row)

    def pod_removed(self, node_name: str, pod: PodInfo) -> None:
        """The pod no longer counts on the node."""
        self._gauges.stale[node_name] = True
        table = self._table
        row = table.rows.get(node_name)
        if row is not None:
            table.remove_pod(row, pod.key)
            table.images.note_change(row)

    def pod_replaced(self, node_name: str, old: Pod, new: PodInfo) -> None:
        """A newer version of the pod counts, matches and claims exactly as the old one."""
        table = self._table
        row = table.rows.get(node_name)
        if row is not None:
            table.pods[row][new.key] = new
            table.reordered.setdefault(row, False)
            # Any change of a pod makes the next snapshot copy its node. Upstream: updatePod().
            table.images.note_change(row)
            if new.pod.status.get("startTime") != old.status.get("startTime"):
                # Preemption prefers victims that started late.
                table.touch(row)

    def pod_relabelled(self, node_name: str, old: Pod, new: PodInfo) -> None:
        """As `pod_replaced`, but the newer version has more labels."""
        self._gauges.stale[node_name] = True
        table = self._table
        row = table.rows.get(node_name)
        if row is not None:
            pods = table.pods[row]
            del pods[new.key]
            pods[new.key] = new
            table.reordered[row] = True
            table.images.note_change(row)
            if table.pod_counts.relabel(row, old, new.pod) or self._reads_labels:
                table.touch(row)
