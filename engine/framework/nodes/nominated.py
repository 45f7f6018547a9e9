"""Pods nominated to nodes, for which other pods have to leave room.

They are kept by node and, for each priority that was asked for, as columns of what the pods of at
least that priority request on each row: a search over all nodes then adds arrays instead of
looking at every nominated pod.

Upstream: backend/queue/nominator.go.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from engine.framework.nodes.arrays import Columns, IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.change_log import ChangeLog

# Priorities that columns are kept for.
_MANY_LEVELS = 16


@dataclass(slots=True)
class Reserved:
    """What the nominated pods of at least `priority` ask for: per resource and row, and how many.

    `count` is the number of pods on all rows together.
    """

    priority: int
    requested: Columns
    pods: IntArray
    count: int = 0

    def add(self, row: int, amounts: list[tuple[int, int]], delta: int) -> None:
        """Count (1) or stop counting (-1) a pod that asks for *amounts* of columns on *row*."""
        for column, amount in amounts:
            self.requested[column, row] += delta * amount
        self.pods[row] += delta
        self.count += delta

    @contextmanager
    def on_trial(self, table: NodeTable, rows: IntArray) -> Generator[None]:
        """While this lasts, the pods' requests count on their row; nothing else of them does."""
        if self.count == 0:
            yield
            return
        rows = rows[self.pods.take(rows) != 0]
        if len(rows) == 0:
            yield
            return
        requested, pods = self.requested[:, rows], self.pods[rows]
        table.requested[:, rows] += requested
        table.pod_count[rows] += pods
        try:
            yield
        finally:
            table.requested[:, rows] -= requested
            table.pod_count[rows] -= pods


class Nominated:
    """The nominated pods by node and as columns. `log` has the rows where something changed.

    In a scheduler it listens to the queue's nominator, which knows each pod's nominated node.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        # The pods nominated to each node, by key. Other modules only read it.
        self.by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}
        self._levels: dict[int, Reserved] = {}
        self._generation: tuple[int, ...] = ()
        # While `without` runs, new columns leave this pod out.
        self._left_out: PodInfo | None = None
        self.log: ChangeLog[int] = ChangeLog()

    def __len__(self) -> int:
        return len(self.by_node)

    def add(self, node: str, pod: PodInfo) -> None:
        """*pod* is nominated to *node*, which need not be known yet."""
        self.remove(pod.key)
        self.by_node.setdefault(node, {})[pod.key] = pod
        self._node_of[pod.key] = node
        if pod.affinity.present:
            # The pods that its anti-affinity refuses are counted before it is put there on trial.
            self._table.pod_counts.expect(pod)
        self._count(node, pod, 1)

    def remove(self, key: str) -> None:
        """The pod is not nominated any more."""
        node = self._node_of.pop(key, None)
        if node is None:
            return
        pods = self.by_node[node]
        self._count(node, pods.pop(key), -1)
        if not pods:
            del self.by_node[node]

    def node_of(self, key: str) -> str:
        """The node that the pod is nominated to; empty without one."""
        return self._node_of.get(key, "")

    def at(self, row: int) -> list[PodInfo]:
        """The pods nominated to the node at *row*."""
        if not self.by_node:
            return []
        return list(self.by_node.get(self._table.name(row), {}).values())

    def on_rows(self, pod: PodInfo, rows: IntArray) -> list[tuple[int, list[PodInfo]]]:
        """Rows with nominated pods, other than *pod*, of at least its priority."""
        if not self.by_node:
            return []
        found: list[tuple[int, list[PodInfo]]] = []
        for row in self._among(rows):
            waiting = [
                other
                for other in self.at(row)
                if other.priority >= pod.priority and other.uid != pod.uid
            ]
            if waiting:
                found.append((row, waiting))
        return found

    def _among(self, rows: IntArray) -> list[int]:
        """The rows in *rows* with a nominated pod; if there are few rows, all of them."""
        if len(rows) < len(self.by_node):
            return rows.tolist()
        looked_at = np.zeros(self._table.capacity, np.bool_)
        looked_at[rows] = True
        named = [self._table.rows.get(node, -1) for node in self.by_node]
        return [row for row in named if row >= 0 and looked_at[row]]

    # -- columns ---------------------------------------------------------------------------------

    def concern(self, pod: PodInfo) -> bool:
        """Whether a pod other than *pod*, of at least its priority, is nominated to some node."""
        if not self.by_node:
            return False
        own = self._own(pod)
        alone = (
            own is not None
            and own.priority >= pod.priority
            # A pod nominated to a node that is gone is on no row.
            and self._node_of[own.key] in self._table.rows
        )
        return self.reserved(pod.priority).count > alone

    def reserved(self, priority: int) -> Reserved:
        """What pods of at least *priority* ask for; kept up to date from then on."""
        if self._generation != self._rows_and_columns:
            self._levels.clear()
            self._generation = self._rows_and_columns
        level = self._levels.get(priority)
        if level is None:
            if len(self._levels) >= _MANY_LEVELS:
                self._levels.clear()
            level = self._levels[priority] = self._read(priority)
        return level

    @contextmanager
    def without(self, pod: PodInfo) -> Generator[None]:
        """While this lasts, the columns leave *pod*'s own nomination out."""
        own = self._own(pod)
        if own is None:
            yield
            return
        node = self._node_of[own.key]
        self._count(node, own, -1)
        self._left_out = own
        try:
            yield
        finally:
            self._left_out = None
            self._count(node, own, 1)

    @property
    def _rows_and_columns(self) -> tuple[int, ...]:
        """Changes whenever a row may mean another node, or the columns another resource."""
        table = self._table
        return table.static_generation, table.capacity, len(table.resource_names)

    def _own(self, pod: PodInfo) -> PodInfo | None:
        node = self._node_of.get(pod.key)
        if node is None:
            return None
        own = self.by_node[node][pod.key]
        return own if own.uid == pod.uid else None

    def _read(self, priority: int) -> Reserved:
        table = self._table
        requested = np.zeros((len(table.resource_names), table.capacity), np.int64)
        level = Reserved(priority, requested, np.zeros(table.capacity, np.int64))
        for node, pods in self.by_node.items():
            row = table.rows.get(node, -1)
            for pod in pods.values():
                if row >= 0 and pod.priority >= priority and pod is not self._left_out:
                    level.add(row, table.amounts(pod.resources.requested), 1)
        return level

    def _count(self, node: str, pod: PodInfo, delta: int) -> None:
        # First of all, so that every resource has its column.
        amounts = self._table.amounts(pod.resources.requested)
        row = self._table.rows.get(node, -1)
        if row < 0:
            return
        self.log.note(row)
        if self._generation != self._rows_and_columns:
            self._levels.clear()
            return
        for level in self._levels.values():
            if pod.priority >= level.priority:
                level.add(row, amounts, delta)
