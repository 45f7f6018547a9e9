"""All nodes as numpy columns, with the pods on them counted as they come and go.

A node is a row; rows are reused when nodes go. Plugins read whole columns. `log` names every row
that changed, in order, so that what is kept per pod template is recomputed for changed rows only.

Upstream: pkg/scheduler/framework/types.go NodeInfo, backend/cache/snapshot.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.framework.nodes.arrays import BoolArray, Columns, IntArray
from engine.framework.nodes.images import NodeImages
from engine.framework.nodes.node_labels import NodeLabels, NodeMatcher, NodeTaints, TopologyColumn
from engine.framework.nodes.pod_counts import PodCounts, VolumeUsers
from engine.framework.nodes.ports import NodePorts
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.change_log import ChangeLog
from engine.objects.objects import Node
from engine.objects.pods.pod_resources import Resources
from engine.objects.values.quantity import wrapped

CPU, MEMORY, EPHEMERAL_STORAGE = 0, 1, 2
_NATIVE = ("cpu", "memory", "ephemeral-storage")


class Sums:
    """The columns that every pod changes, cell by cell.

    A memoryview of a column reads and writes single ints several times faster than the column.
    """

    __slots__ = ("cpu", "memory", "pod_count", "scored_cpu", "scored_memory")

    def __init__(self, requested: Columns, scored: Columns, pod_count: IntArray) -> None:
        self.cpu = requested[CPU].data
        self.memory = requested[MEMORY].data
        self.scored_cpu = scored[CPU].data
        self.scored_memory = scored[MEMORY].data
        self.pod_count = pod_count.data


class NodeTable:
    """The nodes with what they offer and what their pods request.

    `active` are the rows in use, in the order the nodes were added; `capacity` is the number of rows
    that the columns have. Labels, taints, images, host
    ports, users of volumes and counted pods have a class each.
    """

    def __init__(self) -> None:
        self.capacity = 16
        self.rows: dict[str, int] = {}
        self.nodes: list[Node | None] = [None] * self.capacity
        self._names: list[str] = [""] * self.capacity
        self.pods: list[dict[str, PodInfo]] = [{} for _ in range(self.capacity)]
        self.resource_names: list[str] = list(_NATIVE)
        self._resource_index: dict[str, int] = {name: i for i, name in enumerate(_NATIVE)}
        self.allocatable: Columns = np.zeros((len(_NATIVE), self.capacity), np.int64)
        self.requested: Columns = np.zeros((len(_NATIVE), self.capacity), np.int64)
        # Requested cpu and memory with defaults for what requests none, for the scores.
        self.scored: Columns = np.zeros((2, self.capacity), np.int64)
        self.pod_count: IntArray = np.zeros(self.capacity, np.int64)
        # How many pods have each priority.
        self._priorities: dict[int, int] = {}
        self.allowed_pods: IntArray = np.zeros(self.capacity, np.int64)
        self.unschedulable: BoolArray = np.zeros(self.capacity, np.bool_)
        # The rows that changed.
        self.log: ChangeLog[int] = ChangeLog()
        # Grows whenever labels, taints or names of any node change.
        self.static_generation = 0
        self._active: IntArray | None = None
        self._active_order: dict[int, None] = {}
        self._free: list[int] = list(range(self.capacity - 1, -1, -1))
        self._name_rank: IntArray | None = None
        self.labels = NodeLabels(self.nodes, self._active_order)
        self.images = NodeImages(self.capacity)
        # Whether nodes are scored as an extender returned them.
        self.is_returned = False
        self.taints = NodeTaints(self.capacity)
        self.ports = NodePorts()
        self.volume_users = VolumeUsers()
        self.pod_counts = PodCounts(self.labels, self.pods, self._active_order)
        # The cache, if there is one, answers in which order upstream's NodeInfo holds the pods of
        # a node. `reordered` are the rows where only that order may have changed, and whether some
        # pod has more labels than before.
        self.lister: Callable[[str], Sequence[PodInfo]] | None = None
        self.reordered: dict[int, bool] = {}
        # Pods on trial whose required anti-affinity is not counted, by key, and their rows.
        self._hidden: dict[str, int] = {}
        self._sums = Sums(self.requested, self.scored, self.pod_count)

    def __getstate__(self) -> dict[str, Any]:
        """Without the views of the columns."""
        return {name: value for name, value in self.__dict__.items() if name != "_sums"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._sums = Sums(self.requested, self.scored, self.pod_count)

    # -- reading ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def active(self) -> IntArray:
        """The rows of the nodes, in the order in which they came."""
        if self._active is None:
            self._active = np.fromiter(self._active_order, np.int64, len(self._active_order))
        return self._active

    @property
    def name_rank(self) -> IntArray:
        """For each row the rank of its node's name in string order."""
        if self._name_rank is None:
            self._name_rank = np.zeros(self.capacity, np.int64)
            for rank, name in enumerate(sorted(self.rows)):
                self._name_rank[self.rows[name]] = rank
        return self._name_rank

    def name(self, row: int) -> str:
        """The name of the node at *row*."""
        return self._names[row]

    def names(self, rows: Iterable[int]) -> list[str]:
        """The names of the nodes at *rows*, all of which have one."""
        return list(map(self._names.__getitem__, rows))

    def node(self, row: int) -> Node:
        """The node at *row*."""
        node = self.nodes[row]
        assert node is not None, f"row {row} has no node"
        return node

    def topology(self, key: str) -> TopologyColumn:
        """The column of the values of label *key*."""
        return self.labels.topology(key)

    def matching(self, matcher: NodeMatcher) -> BoolArray:
        """Which rows *matcher* accepts."""
        return self.labels.matching(matcher)

    def resource(self, name: str) -> int:
        """The column of resource *name*, made when it is new."""
        index = self._resource_index.get(name)
        if index is None:
            index = self._resource_index[name] = len(self.resource_names)
            self.resource_names.append(name)
            extra = np.zeros((1, self.capacity), np.int64)
            self.allocatable = np.vstack((self.allocatable, extra))
            self.requested = np.vstack((self.requested, extra))
            self._sums = Sums(self.requested, self.scored, self.pod_count)
        return index

    def requested_at(self, row: int) -> dict[str, int]:
        """What the pods on *row* request, by resource; cpu, memory and pods even where that is 0."""
        sums = self._sums
        found: dict[str, int] = {
            "cpu": sums.cpu[row],
            "memory": sums.memory[row],
            "pods": sums.pod_count[row],
        }
        for column in range(EPHEMERAL_STORAGE, len(self.resource_names)):
            amount = self.requested.item(column, row)
            if amount:
                found[self.resource_names[column]] = amount
        return found

    def most(self, name: str) -> int:
        """The most that any node has allocatable of resource *name*, which is not "pods"."""
        column = self._resource_index.get(name)
        rows = self.active
        return 0 if column is None or not len(rows) else int(self.allocatable[column][rows].max())

    @property
    def lowest_priority(self) -> float:
        """The lowest priority of all pods; infinite when there is none."""
        return min(self._priorities, default=math.inf)

    def amounts(self, resources: Resources) -> list[tuple[int, int]]:
        """(column, amount) for every resource of *resources* that is not zero."""
        found: list[tuple[int, int]] = []
        if resources.milli_cpu:
            found.append((CPU, resources.milli_cpu))
        if resources.memory:
            found.append((MEMORY, resources.memory))
        if resources.ephemeral_storage:
            found.append((EPHEMERAL_STORAGE, resources.ephemeral_storage))
        found.extend((self.resource(name), amount) for name, amount in resources.scalars if amount)
        return found

    def listed(self, row: int) -> list[PodInfo]:
        """The pods on *row* in the order in which upstream's NodeInfo holds them.

        The order decides between pods of equal importance; `pods` has the order of arrival.
        """
        pods = self.pods[row]
        if self.lister is None or len(pods) < 2:
            return [*pods.values()]
        order = {pod.key: pods[pod.key] for pod in self.lister(self.name(row)) if pod.key in pods}
        return [*{**order, **pods}.values()]

    # -- nodes -----------------------------------------------------------------------------------

    def add_node(self, node: Node) -> int:
        """Put a node in, or its newer version; returns its row."""
        row = self.rows.get(node.name)
        if row is None:
            return self._insert(node)
        self.update_node(row, node)
        return row

    def update_node(self, row: int, node: Node) -> None:
        """Take over a newer version of the node at *row*."""
        old = self.node(row)
        self.nodes[row] = node
        if old.labels != node.labels:
            self.labels.read(row, node)
            self.static_generation += 1
        if old.spec != node.spec:
            self.static_generation += 1
        self._read_status(row, node)
        self.images.update(row, old, node)
        self.images.note_change(row)
        self.touch(row)

    def remove_node(self, name: str) -> None:
        """Take the node out, with the pods counted on it. Unknown names are ignored."""
        row = self.rows.get(name)
        if row is None:
            return
        for pod in list(self.pods[row].values()):
            self.remove_pod(row, pod.key)
        self.images.forget(row)
        del self.rows[name]
        del self._active_order[row]
        self._active = None
        self.nodes[row] = None
        self._name_rank = None
        self.reordered.pop(row, None)
        self.labels.forget(row)
        for array in (self.allocatable, self.requested):
            array[:, row] = 0
        self.allowed_pods[row] = 0
        self.unschedulable[row] = False
        self._free.append(row)
        self.static_generation += 1
        self.touch(row)

    def touch(self, row: int) -> None:
        """Have what is kept for *row* computed again, although no column of it has changed."""
        self.log.note(row)

    def _insert(self, node: Node) -> int:
        if not self._free:
            self._grow()
        row = self._free.pop()
        self.rows[node.name] = row
        self._active_order[row] = None
        self._active = None
        self._name_rank = None
        self.nodes[row] = node
        self._names[row] = node.name
        self.labels.read(row, node)
        self._read_status(row, node)
        self.images.read(row, node)
        self.static_generation += 1
        self.touch(row)
        return row

    def _read_status(self, row: int, node: Node) -> None:
        units = node.allocatable_units
        self.allocatable[:, row] = 0
        for name, amount in units.items():
            if name == "pods":
                continue
            # `resource` may replace the array, so it has to come first.
            column = self.resource(name)
            self.allocatable[column, row] = amount
        self.allowed_pods[row] = units.get("pods", 0)
        self.unschedulable[row] = node.unschedulable
        self.taints.read(row, node)

    def _grow(self) -> None:
        old, new = self.capacity, self.capacity * 2
        more = new - old
        self.nodes.extend([None] * more)
        self._names.extend([""] * more)
        self.pods.extend({} for _ in range(more))
        self.allocatable = np.pad(self.allocatable, ((0, 0), (0, more)))
        self.requested = np.pad(self.requested, ((0, 0), (0, more)))
        self.scored = np.pad(self.scored, ((0, 0), (0, more)))
        self.pod_count = np.pad(self.pod_count, (0, more))
        self.allowed_pods = np.pad(self.allowed_pods, (0, more))
        self.unschedulable = np.pad(self.unschedulable, (0, more))
        self.labels.grow(more)
        self.images.grow(more)
        self.taints.grow(more)
        self.pod_counts.grow(more)
        self._free.extend(range(new - 1, old - 1, -1))
        self._sums = Sums(self.requested, self.scored, self.pod_count)
        self.capacity = new
        self._name_rank = None

    # -- pods ------------------------------------------------------------------------------------

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """Count *pod* on the node at *row*."""
        assert pod.key not in self.pods[row], f"{pod.key} is already on row {row}"
        self.pods[row][pod.key] = pod
        self._count(row, pod, 1)

    def remove_pod(self, row: int, key: str) -> PodInfo:
        """Stop counting the pod on the node at *row*; returns it."""
        pod = self.pods[row].pop(key)
        self._count(row, pod, -1)
        return pod

    def reorder_pods(self, row: int, keys: Iterable[str]) -> None:
        """Hold the pods of *row* in the order of *keys*."""
        pods = self.pods[row]
        self.pods[row] = {key: pods[key] for key in keys}

    def hide_on_trial(self, node: str, pod: PodInfo) -> None:
        """Leave *pod*, just added on trial, out of what the snapshot lists apart from its nodes.

        That are the claims in use, and the nodes with pods that have required anti-affinity: a node
        that was not in that list when the cycle of a group began is not in it at the end either.
        Upstream: v1.36 Snapshot.AssumePod().
        """
        row = self.rows[node]
        if pod.pod.volumes:
            self.volume_users.count_claims(pod.pod, -1)
        others = (each for key, each in self.pods[row].items() if key not in self._hidden)
        if not pod.affinity.required_anti or any(
            each.affinity.required_anti for each in others if each.key != pod.key
        ):
            return
        self._hidden[pod.key] = row
        self.pod_counts.count_required_anti(row, pod, -1)
        self.touch(row)

    def show_again(self, node: str, pod: PodInfo) -> None:
        """End what `hide_on_trial` began."""
        if pod.pod.volumes:
            self.volume_users.count_claims(pod.pod, 1)
        if self._hidden.pop(pod.key, None) is not None:
            self.pod_counts.count_required_anti(self.rows[node], pod, 1)

    def _count(self, row: int, pod: PodInfo, delta: int) -> None:
        resources = pod.resources
        held, sums = resources.requested, self._sums
        cpu = sums.cpu[row] + delta * held.milli_cpu
        memory = sums.memory[row] + delta * held.memory
        scored_cpu = sums.scored_cpu[row] + delta * resources.non_zero_milli_cpu
        scored_memory = sums.scored_memory[row] + delta * resources.non_zero_memory
        try:
            sums.cpu[row], sums.memory[row] = cpu, memory
            sums.scored_cpu[row], sums.scored_memory[row] = scored_cpu, scored_memory
        except ValueError:
            # Beyond int64, in which the real scheduler counts: only with 128 pods of 64 Pi.
            sums.cpu[row], sums.memory[row] = wrapped(cpu), wrapped(memory)
            sums.scored_cpu[row] = wrapped(scored_cpu)
            sums.scored_memory[row] = wrapped(scored_memory)
        if held.ephemeral_storage:
            self._shift(EPHEMERAL_STORAGE, row, delta * held.ephemeral_storage)
        for name, amount in held.scalars:
            self._shift(self.resource(name), row, delta * amount)
        sums.pod_count[row] += delta
        left = self._priorities.get(pod.priority, 0) + delta
        if left:
            self._priorities[pod.priority] = left
        else:
            del self._priorities[pod.priority]
        if pod.ports:
            if delta > 0:
                self.ports.take(row, pod.ports)
            else:
                self.ports.free(row, pod.ports)
        self.pod_counts.count(row, pod, delta)
        if pod.pod.volumes:
            self.volume_users.count(pod.pod, delta)
        self.log.note(row)

    def _shift(self, column: int, row: int, amount: int) -> None:
        self.requested[column, row] = wrapped(self.requested.item(column, row) + amount)


@dataclass(frozen=True, slots=True)
class SharedRows:
    """The pods of a table by row, for copies of the table to begin with."""

    rows: list[dict[str, PodInfo]]


class TableCopy(NodeTable):
    """A copy that has the pods of its original, whose rows it copies when it changes them.

    The original must not change meanwhile.
    """

    @staticmethod
    def state_of(original: NodeTable) -> dict[str, Any]:
        """What makes a copy of *original*."""
        return {**original.__getstate__(), "pods": SharedRows(original.pods)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        shared: SharedRows = state["pods"]
        pods = [*shared.rows]
        super().__setstate__({**state, "pods": pods})
        self.pod_counts.pods = pods
        self._own: set[int] = set()

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """See NodeTable."""
        self._copy_row(row)
        super().add_pod(row, pod)

    def remove_pod(self, row: int, key: str) -> PodInfo:
        """See NodeTable."""
        self._copy_row(row)
        return super().remove_pod(row, key)

    def _copy_row(self, row: int) -> None:
        if row not in self._own:
            self._own.add(row)
            self.pods[row] = self.pods[row].copy()


@contextmanager
def as_returned(table: NodeTable, rows: IntArray) -> Generator[None]:
    """While this lasts, the nodes at *rows* are as an extender returned them: without pods.

    Nothing is requested of them, and no images are held. What is counted over all nodes, as the
    pods of a zone, is not read from them.
    """
    requested, scored = table.requested[:, rows], table.scored[:, rows]
    states, table.images.states = table.images.states, {}
    table.requested[:, rows] = table.scored[:, rows] = 0
    table.is_returned = True
    try:
        yield
    finally:
        table.is_returned = False
        table.requested[:, rows], table.scored[:, rows] = requested, scored
        table.images.states = states
