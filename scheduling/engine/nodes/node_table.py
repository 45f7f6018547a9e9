"""All nodes as numpy columns, with the pods on them counted as they come and go.

A node is a row; rows are reused when nodes go. Plugins read whole columns. Three things keep a
scheduling cycle from looking at every pod of the cluster:

* `log`: every row that changed, in order, so that what is kept per pod template is recomputed for
  changed rows only;
* pod counters: for a `PodMatcher` in use ("pods in these namespaces with these labels"), the number
  of matching pods on each node, kept up to date by add_pod and remove_pod;
* term columns: for each affinity term that some placed pod carries, how many pods on each node
  carry it.

Upstream: pkg/scheduler/framework/types.go NodeInfo, backend/cache/snapshot.go.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kscope.sim.kernel.change_log import ChangeLog
from kscope.sim.objects.objects import Node
from kscope.sim.objects.pod_resources import HostPort, Resources
from kscope.sim.objects.quantity import wrapped
from kscope.sim.objects.selectors import IN, NodeSelector, Requirement
from scheduling.engine.nodes.arrays import BoolArray, IntArray
from scheduling.engine.pods.pod_info import AffinityTerm, PodInfo, labels_key
from scheduling.engine.pods.pod_template import Taint
from volumes.engine.translation import may_be_at_fault

Columns = NDArray[np.int64]
Codes = NDArray[np.int32]

CPU, MEMORY, EPHEMERAL_STORAGE = 0, 1, 2
_FIRST_SCALAR = 3
_NATIVE = ("cpu", "memory", "ephemeral-storage")

REQUIRED_AFFINITY = "required"
PREFERRED_AFFINITY = "preferred"
REQUIRED_ANTI_AFFINITY = "required_anti"
PREFERRED_ANTI_AFFINITY = "preferred_anti"

_TERM_KINDS = (
    REQUIRED_AFFINITY,
    PREFERRED_AFFINITY,
    REQUIRED_ANTI_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
)

_ANY_ADDRESS = "0.0.0.0"
_MATCH_LIMIT = 4_096


class NodeMatcher(Protocol):
    """A hashable question about a node's labels and name."""

    def matches(self, labels: Mapping[str, str], name: str, /) -> bool:
        """Whether the node is meant."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class PodMatcher:
    """Pods that match every one of *terms*, all terms' namespaces resolved to names.

    `live_only` leaves out pods that are being deleted.
    """

    terms: tuple[AffinityTerm, ...]
    live_only: bool = False

    def matches(self, namespace: str, labels: Mapping[str, str], *, deleting: bool) -> bool:
        """Whether a pod with these attributes is counted."""
        if deleting and self.live_only:
            return False
        return all(term.matches(namespace, labels) for term in self.terms)


@dataclass(slots=True)
class Tally:
    """Something counted on each row, and per domain of the topology labels it was asked for.

    The domain arrays are the table's own and change with it: copy before changing one.
    """

    counts: Codes
    total: int = 0
    generation: int = -1
    domains: dict[str, IntArray] = field(default_factory=dict[str, IntArray])


@dataclass(slots=True)
class PodCounter:
    """Matching pods on each row."""

    number: int
    matcher: PodMatcher
    tally: Tally


@dataclass(slots=True)
class TermColumn:
    """How many pods on each row carry this affinity term in this list."""

    kind: str
    term: AffinityTerm
    tally: Tally


@dataclass(slots=True)
class TopologyColumn:
    """The value of one node label as a code per row; -1 where the label is absent."""

    key: str
    codes: Codes
    values: list[str] = field(default_factory=list[str])
    index: dict[str, int] = field(default_factory=dict[str, int])

    def code_of(self, value: str | None) -> int:
        """The code of *value*, made when it is new."""
        if value is None:
            return -1
        code = self.index.get(value)
        if code is None:
            code = self.index[value] = len(self.values)
            self.values.append(value)
        return code


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
    """See the module. `active` are the rows in use, in the order the nodes were added."""

    def __init__(self) -> None:
        self._capacity = 16
        self.rows: dict[str, int] = {}
        self.nodes: list[Node | None] = [None] * self._capacity
        self._names: list[str] = [""] * self._capacity
        self.pods: list[dict[str, PodInfo]] = [{} for _ in range(self._capacity)]
        self.resource_names: list[str] = list(_NATIVE)
        self._resource_index: dict[str, int] = {name: i for i, name in enumerate(_NATIVE)}
        self.allocatable: Columns = np.zeros((len(_NATIVE), self._capacity), np.int64)
        self.requested: Columns = np.zeros((len(_NATIVE), self._capacity), np.int64)
        # Requested cpu and memory with defaults for what requests none, for the scores.
        self.scored: Columns = np.zeros((2, self._capacity), np.int64)
        self.pod_count: IntArray = np.zeros(self._capacity, np.int64)
        self.allowed_pods: IntArray = np.zeros(self._capacity, np.int64)
        self.unschedulable: BoolArray = np.zeros(self._capacity, np.bool_)
        self.taint_group: Codes = np.zeros(self._capacity, np.int32)
        self.taint_groups: list[tuple[Taint, ...]] = []
        self._taint_group_index: dict[tuple[Taint, ...], int] = {}
        self.images: list[dict[str, int]] = [{} for _ in range(self._capacity)]
        self.image_generation = 0
        # Image name -> its first seen size and the rows that have it, in the order of arrival.
        self.image_rows: dict[str, ImageState] = {}
        # Rows with images that have changed since the last snapshot; and when each row last told of
        # its images, counted in changes of anybody's.
        self.unseen: dict[int, None] = {}
        self._image_changes = 0
        self._told_at: list[int] = [0] * self._capacity
        self.ports: dict[tuple[str, int], dict[int, dict[str, None]]] = {}
        self.claim_users: dict[str, int] = {}
        # How many pods may have volumes that other pods fail on.
        self.pods_at_fault = 0
        # The rows that were touched, for whoever keeps something of them.
        self.log: ChangeLog[int] = ChangeLog()
        # Bumped whenever something static (labels, taints, names) about any node changes.
        self.static_generation = 0
        self._active: IntArray | None = None
        self._active_order: dict[int, None] = {}
        self._free: list[int] = list(range(self._capacity - 1, -1, -1))
        self._topologies: dict[str, TopologyColumn] = {}
        self._matches: dict[Any, BoolArray] = {}
        self._counters: dict[PodMatcher, PodCounter] = {}
        self._counter_list: list[PodCounter] = []
        self._counters_of: dict[tuple[str, bytes, bool], list[int]] = {}
        self._terms: dict[str, dict[AffinityTerm, TermColumn]] = {kind: {} for kind in _TERM_KINDS}
        # How many different terms pods ever carried, or may soon; there are never fewer.
        self.term_count = 0
        self._name_rank: IntArray | None = None
        # Who knows in which order upstream's NodeInfo holds the pods of a node: the cache, if there
        # is one. And the rows where that order may have changed though nothing else did.
        self.lister: Callable[[str], Sequence[PodInfo]] | None = None
        self.reordered: dict[int, None] = {}
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
    def capacity(self) -> int:
        """How many rows the columns have room for."""
        return self._capacity

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

    def resource(self, name: str) -> int:
        """The column of resource *name*, made when it is new."""
        index = self._resource_index.get(name)
        if index is None:
            index = self._resource_index[name] = len(self.resource_names)
            self.resource_names.append(name)
            extra = np.zeros((1, self._capacity), np.int64)
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

    def topology(self, key: str) -> TopologyColumn:
        """The column of the values of label *key*."""
        column = self._topologies.get(key)
        if column is None:
            column = TopologyColumn(key, np.full(self._capacity, -1, np.int32))
            self._topologies[key] = column
            for row in self._active_order:
                column.codes[row] = column.code_of(self.node(row).labels.get(key))
        return column

    def matching(self, matcher: NodeMatcher) -> BoolArray:
        """Which rows *matcher* accepts; kept, and recomputed for a node whose labels change."""
        column = self._matches.get(matcher)
        if column is None:
            if len(self._matches) >= _MATCH_LIMIT:
                self._matches.clear()
            column = self._matches[matcher] = self._evaluate(matcher)
        return column

    def _evaluate(self, matcher: NodeMatcher) -> BoolArray:
        requirement = _only_requirement(matcher)
        if requirement is not None:
            # One label out of a few values, as in the affinity of a local volume: no need to ask
            # every node.
            topology = self.topology(requirement.key)
            known = [topology.index[v] for v in requirement.values if v in topology.index]
            if len(known) == 1:
                return topology.codes == known[0]
            return np.isin(topology.codes, np.array(known, np.int32))
        column = np.zeros(self._capacity, np.bool_)
        for row in self._active_order:
            node = self.node(row)
            column[row] = matcher.matches(node.labels, node.name)
        return column

    def counter(self, matcher: PodMatcher) -> PodCounter:
        """The live count of pods that *matcher* means; the first call looks at every pod."""
        counter = self._counters.get(matcher)
        if counter is None:
            counter = PodCounter(len(self._counter_list), matcher, self._new_tally())
            self._counters[matcher] = counter
            self._counter_list.append(counter)
            self._counters_of.clear()
            for row in self._active_order:
                for pod in self.pods[row].values():
                    if matcher.matches(
                        pod.pod.namespace, pod.pod.labels, deleting=is_deleting(pod)
                    ):
                        self._tally(counter.tally, row, 1)
        return counter

    def per_domain(self, tally: Tally, key: str) -> IntArray:
        """What *tally* counts, summed over the domains of label *key*, by the label's codes.

        Kept up to date from then on; not to be changed by the caller.
        """
        if tally.generation != self.static_generation:
            tally.domains.clear()
            tally.generation = self.static_generation
        summed = tally.domains.get(key)
        if summed is None:
            column = self.topology(key)
            size = max(1, len(column.values))
            # Code -1 (no label) goes to an extra last bin that is dropped.
            codes = np.where(column.codes < 0, size, column.codes)
            counted = np.bincount(codes, weights=tally.counts, minlength=size + 1)
            summed = tally.domains[key] = counted[:size].astype(np.int64)
        return summed

    def _new_tally(self) -> Tally:
        return Tally(np.zeros(self._capacity, np.int32))

    def _tally(self, tally: Tally, row: int, delta: int) -> None:
        tally.counts[row] += delta
        tally.total += delta
        if tally.generation != self.static_generation:
            return
        for key, summed in tally.domains.items():
            code = self._topologies[key].codes.item(row)
            if code >= 0:
                summed[code] += delta

    def terms(self, kind: str) -> list[TermColumn]:
        """The terms of *kind* that pods on some node carry."""
        return [column for column in self._terms[kind].values() if column.tally.total]

    def known_terms(self, kind: str) -> Iterable[TermColumn]:
        """The terms of *kind* that pods ever carried, or are expected to, in order."""
        return self._terms[kind].values()

    def has_terms(self, kind: str) -> bool:
        """Whether any pod ever carried, or is expected to carry, a term of *kind*."""
        return bool(self._terms[kind])

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
            self._name_rank = np.zeros(self._capacity, np.int64)
            for rank, name in enumerate(sorted(self.rows)):
                self._name_rank[self.rows[name]] = rank
        return self._name_rank

    # -- nodes -----------------------------------------------------------------------------------

    def add_node(self, node: Node) -> int:
        """Put a node in, or its newer version; returns its row."""
        row = self.rows.get(node.name)
        if row is None:
            return self._insert(node)
        self.update_node(row, node)
        return row

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
        self._read_labels(row, node)
        self._read_status(row, node)
        self._read_images(row, node)
        self.static_generation += 1
        self.touch(row)
        return row

    def update_node(self, row: int, node: Node) -> None:
        """Take over a newer version of the node at *row*."""
        old = self.node(row)
        self.nodes[row] = node
        if old.labels != node.labels:
            self._read_labels(row, node)
            self.static_generation += 1
        if old.spec != node.spec:
            self.static_generation += 1
        self._read_status(row, node)
        if old.status.get("images") != node.status.get("images"):
            self._forget_images(row)
            self._read_images(row, node)
        elif self._told_at[row] != self._image_changes:
            self._tell_images(row)
        self.note_change(row)
        self.touch(row)

    def remove_node(self, name: str) -> None:
        """Take the node out, with the pods counted on it. Unknown names are ignored."""
        row = self.rows.get(name)
        if row is None:
            return
        for pod in list(self.pods[row].values()):
            self.remove_pod(row, pod.key)
        self._forget_images(row)
        del self.rows[name]
        del self._active_order[row]
        self._active = None
        self.nodes[row] = None
        self._name_rank = None
        for column in self._topologies.values():
            column.codes[row] = -1
        for match in self._matches.values():
            match[row] = False
        for array in (self.allocatable, self.requested):
            array[:, row] = 0
        self.allowed_pods[row] = 0
        self.unschedulable[row] = False
        self._free.append(row)
        self.static_generation += 1
        self.touch(row)

    def _read_labels(self, row: int, node: Node) -> None:
        labels = node.labels
        for key, column in self._topologies.items():
            column.codes[row] = column.code_of(labels.get(key))
        for matcher, match in self._matches.items():
            match[row] = matcher.matches(labels, node.name)

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
        self.taint_group[row] = self._taint_code(node)

    def _taint_code(self, node: Node) -> int:
        taints = tuple(
            Taint(taint.get("key") or "", taint.get("value") or "", taint.get("effect") or "")
            for taint in node.taints
        )
        code = self._taint_group_index.get(taints)
        if code is None:
            code = self._taint_group_index[taints] = len(self.taint_groups)
            self.taint_groups.append(taints)
        return code

    def _read_images(self, row: int, node: Node) -> None:
        held: dict[str, int] = {}
        for name, size in node.image_sizes:
            state = self.image_rows.get(name)
            if state is None:
                state = self.image_rows[name] = ImageState(size)
            state.rows[row] = 0
            held.setdefault(name, len(state.rows))
        self.images[row] = held
        if held:
            self.image_generation += 1
            self._image_changes += 1
        self._told_at[row] = self._image_changes
        self.note_change(row)

    def _tell_images(self, row: int) -> None:
        """The node reports the images it had; how many others have them now goes with it.

        Of an image that nobody else has left, its size counts. Upstream: cache.go UpdateNode() takes
        the node's images out, and with its last node an image is forgotten, before they go in anew.
        """
        self._told_at[row] = self._image_changes
        # Of a name that comes twice the first size counts.
        sizes = dict(reversed(self.node(row).image_sizes))
        for name, size in sizes.items():
            state = self.image_rows[name]
            if len(state.rows) == 1 and state.size != size:
                state.size = size
                self.image_generation += 1
        held = {name: len(self.image_rows[name].rows) for name in self.images[row]}
        if held != self.images[row]:
            self.images[row] = held
            self.image_generation += 1

    def _forget_images(self, row: int) -> None:
        for name in self.images[row]:
            state = self.image_rows[name]
            state.rows.pop(row, None)
            if not state.rows:
                del self.image_rows[name]
            self.image_generation += 1
            self._image_changes += 1
        self.images[row] = {}
        self.unseen.pop(row, None)

    def note_change(self, row: int) -> None:
        """The node at *row*, or who is on it, has changed: the next snapshot copies it again."""
        if self.images[row]:
            self.unseen[row] = None

    def take_snapshot(self) -> None:
        """Take over, for the nodes that changed since, how many nodes hold their images.

        Of a node that has not changed, upstream's snapshot keeps the copy it has, with the number of
        then. Upstream: UpdateSnapshot(), SnapshotConcrete().
        """
        for row in self.unseen:
            for name in self.images[row]:
                rows = self.image_rows[name].rows
                if rows[row] != len(rows):
                    rows[row] = len(rows)
                    self.image_generation += 1
        self.unseen.clear()

    def _grow(self) -> None:
        old, new = self._capacity, self._capacity * 2
        more = new - old
        self.nodes.extend([None] * more)
        self._names.extend([""] * more)
        self.pods.extend({} for _ in range(more))
        self.images.extend({} for _ in range(more))
        self._told_at.extend([0] * more)
        self.allocatable = np.pad(self.allocatable, ((0, 0), (0, more)))
        self.requested = np.pad(self.requested, ((0, 0), (0, more)))
        self.scored = np.pad(self.scored, ((0, 0), (0, more)))
        self.pod_count = np.pad(self.pod_count, (0, more))
        self.allowed_pods = np.pad(self.allowed_pods, (0, more))
        self.unschedulable = np.pad(self.unschedulable, (0, more))
        self.taint_group = np.pad(self.taint_group, (0, more))
        for column in self._topologies.values():
            column.codes = np.pad(column.codes, (0, more), constant_values=-1)
        for matcher, match in self._matches.items():
            self._matches[matcher] = np.pad(match, (0, more))
        for counter in self._counter_list:
            counter.tally.counts = np.pad(counter.tally.counts, (0, more))
        for terms in self._terms.values():
            for term in terms.values():
                term.tally.counts = np.pad(term.tally.counts, (0, more))
        self._free.extend(range(new - 1, old - 1, -1))
        self._sums = Sums(self.requested, self.scored, self.pod_count)
        self._capacity = new
        self._name_rank = None

    # -- pods ------------------------------------------------------------------------------------

    def listed(self, row: int) -> list[PodInfo]:
        """The pods on *row* in the order in which upstream's NodeInfo holds them.

        It matters where equals are put in order; `pods` has them in the order of arrival.
        """
        pods = self.pods[row]
        if self.lister is None or len(pods) < 2:
            return [*pods.values()]
        order = {pod.key: pods[pod.key] for pod in self.lister(self.name(row)) if pod.key in pods}
        return [*{**order, **pods}.values()]

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
        if pod.ports:
            if delta > 0:
                self._take_ports(row, pod.ports)
            else:
                self._free_ports(row, pod.ports)
        if pod.affinity.present:
            self._count_terms(row, pod, delta)
        if pod.pod.volumes:
            for name in pod.pod.named_claims:
                key = f"{pod.pod.namespace}/{name}"
                self.claim_users[key] = self.claim_users.get(key, 0) + delta
            if may_be_at_fault(pod.pod):
                self.pods_at_fault += delta
        if self._counter_list:
            for number in self._matching_counters(pod):
                self._tally(self._counter_list[number].tally, row, delta)
        self.log.note(row)

    def _shift(self, column: int, row: int, amount: int) -> None:
        self.requested[column, row] = wrapped(self.requested.item(column, row) + amount)

    def _matching_counters(self, pod: PodInfo) -> list[int]:
        deleting = is_deleting(pod)
        key = pod.pod.namespace, labels_key(pod), deleting
        numbers = self._counters_of.get(key)
        if numbers is None:
            numbers = self._counters_of[key] = [
                counter.number
                for counter in self._counter_list
                if counter.matcher.matches(pod.pod.namespace, pod.pod.labels, deleting=deleting)
            ]
        return numbers

    def expect(self, pod: PodInfo) -> None:
        """Know the terms that *pod* will carry, which is on no row yet."""
        for _ in self._columns_of(pod):
            pass

    def _count_terms(self, row: int, pod: PodInfo, delta: int) -> None:
        for column in self._columns_of(pod):
            self._tally(column.tally, row, delta)

    def _columns_of(self, pod: PodInfo) -> Iterator[TermColumn]:
        affinity = pod.affinity
        for kind, terms in (
            (REQUIRED_AFFINITY, affinity.required),
            (PREFERRED_AFFINITY, affinity.preferred),
            (REQUIRED_ANTI_AFFINITY, affinity.required_anti),
            (PREFERRED_ANTI_AFFINITY, affinity.preferred_anti),
        ):
            for term in terms:
                column = self._terms[kind].get(term)
                if column is None:
                    column = TermColumn(kind, term, self._new_tally())
                    self._terms[kind][term] = column
                    self.term_count += 1
                yield column

    def _take_ports(self, row: int, ports: Iterable[HostPort]) -> None:
        for port in ports:
            rows = self.ports.setdefault((port.protocol, port.port), {})
            rows.setdefault(row, {})[port.ip] = None

    def _free_ports(self, row: int, ports: Iterable[HostPort]) -> None:
        """Free for everybody, even if another pod of the node claims the same port.

        Upstream: HostPortInfo is a set, not a count.
        """
        for port in ports:
            rows = self.ports.get((port.protocol, port.port), {})
            addresses = rows.get(row)
            if addresses is not None:
                addresses.pop(port.ip, None)
                if not addresses:
                    del rows[row]

    def ports_at(self, row: int) -> list[HostPort]:
        """The ports taken on the node at *row*."""
        return [
            HostPort(ip=ip, protocol=protocol, port=number)
            for (protocol, number), rows in self.ports.items()
            for ip in rows.get(row, ())
        ]

    def reset_ports(self, row: int, ports: Iterable[HostPort]) -> None:
        """Make *ports* the ones taken at *row*, after a trial."""
        self._free_ports(row, self.ports_at(row))
        self._take_ports(row, ports)

    def rows_with_port_conflict(self, ports: Sequence[HostPort]) -> dict[int, HostPort]:
        """The rows where one of *ports* is taken, with the first such port.

        Upstream: HostPortInfo.CheckConflict(): 0.0.0.0 conflicts with every address.
        """
        conflicts: dict[int, HostPort] = {}
        for port in ports:
            for row, addresses in self.ports.get((port.protocol, port.port), {}).items():
                if port.ip == _ANY_ADDRESS or port.ip in addresses or _ANY_ADDRESS in addresses:
                    conflicts.setdefault(row, port)
        return conflicts

    @contextmanager
    def bare(self, rows: IntArray) -> Generator[None]:
        """While this lasts, nothing is requested of the nodes at *rows*, and no images are held."""
        requested, scored = self.requested[:, rows], self.scored[:, rows]
        images, self.image_rows = self.image_rows, {}
        self.requested[:, rows] = self.scored[:, rows] = 0
        try:
            yield
        finally:
            self.requested[:, rows], self.scored[:, rows] = requested, scored
            self.image_rows = images

    def touch(self, row: int) -> None:
        """Let whoever follows the log look at *row* again: something that is kept of it changed."""
        self.log.note(row)


@dataclass(slots=True)
class ImageState:
    """An image somewhere in the cluster: its size where it was first seen, and the rows.

    With each row goes how many there were when it was last copied to the snapshot; 0 before.
    """

    size: int
    rows: dict[int, int] = field(default_factory=dict[int, int])


def _only_requirement(matcher: NodeMatcher) -> Requirement | None:
    if not isinstance(matcher, NodeSelector) or len(matcher.terms) != 1:
        return None
    term = matcher.terms[0]
    if term.fields or len(term.expressions) != 1 or term.expressions[0].operator != IN:
        return None
    only = term.expressions[0]
    return None if only.is_unreadable else only


def is_deleting(pod: PodInfo) -> bool:
    """Whether the pod carries a deletion timestamp."""
    return "deletionTimestamp" in pod.pod.metadata
