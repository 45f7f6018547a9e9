"""Room for the pod's requests. Upstream: plugins/noderesources/fit.go and *_allocated.go."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from kscope.sim.objects import quantity
from kscope.sim.objects.pod_resources import (
    Resources,
    is_extended_resource_name,
    is_scalar_resource_name,
)
from scheduling.engine import names
from scheduling.engine.dynamic_resources.devices import DEVICE_CLASS
from scheduling.engine.dynamic_resources.extended import ListedClasses
from scheduling.engine.framework.framework import (
    MAX_NODE_SCORE,
    Code,
    CycleState,
    Detail,
    Plugin,
    Status,
)
from scheduling.engine.framework.handle import Arguments, Handle
from scheduling.engine.nodes.arrays import BoolArray, IntArray
from scheduling.engine.nodes.node_table import CPU, EPHEMERAL_STORAGE, MEMORY, NodeTable
from scheduling.engine.nodes.nominated import Reserved

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)

_TOO_MANY_PODS = 1
_UNRESOLVABLE = 1 << 62
_NO_COLUMNS: frozenset[int] = frozenset()
_CPU_AND_MEMORY: tuple[Mapping[str, Any], ...] = (
    {"name": "cpu", "weight": 1},
    {"name": "memory", "weight": 1},
)


class NodeResourcesFit(Plugin):
    """Refuses nodes without room, and scores the others by how full they would be.

    The code of a refused node is a set of bits: 1 for the pod count, then one per requested
    resource in the order of `wanted`, and the top bit where even an empty node is too small.
    """

    name: ClassVar[str] = names.NODE_RESOURCES_FIT
    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        self._classes = ListedClasses(handle.listers)
        # v1.36: what a DeviceClass stands for and a node does not have is left to DynamicResources.
        self._delegates: bool = arguments.get("delegates_to_devices", False)
        self._known: dict[int, list[tuple[int, int]]] = {}
        self._ignored: tuple[str, ...] = tuple(arguments.get("ignoredResources") or ())
        self._ignored_groups: tuple[str, ...] = tuple(arguments.get("ignoredResourceGroups") or ())
        strategy: Mapping[str, Any] = arguments.get("scoringStrategy") or {}
        self.strategy: str = strategy.get("type") or LEAST_ALLOCATED
        if self.strategy not in STRATEGIES:
            raise ValueError(f"scoringStrategy.type: {self.strategy!r} is not one of {STRATEGIES}")
        self.weights = resource_weights(strategy.get("resources") or _CPU_AND_MEMORY)
        # v1.20 tries evictions even when the empty node would be too small.
        self._gives_up: bool = arguments.get("gives_up_too_small", True)
        # v1.20 compares cpu, memory and disk even when the pod requests only other resources.
        self._compares_all: bool = arguments.get("compares_all", False)
        self._is_plain = [name for name, _ in self.weights] == ["cpu", "memory"]
        self._plain = [weight for _, weight in self.weights]
        ratio: Mapping[str, Any] = strategy.get("requestedToCapacityRatio") or {}
        # Shapes score up to 10.
        self._shape = [
            (utilization, score * MAX_NODE_SCORE // 10)
            for utilization, score in shape_points(ratio.get("shape") or ())
        ]

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The resources that are insufficient, as bits."""
        table = self._table
        codes = (table.pod_count[rows] + 1 > table.allowed_pods[rows]).astype(np.int64)
        delegated = self._delegated(state)
        for bit, (column, amount) in enumerate(self.wanted(state), 1):
            allocatable = table.allocatable[column][rows]
            short = amount > allocatable - table.requested[column][rows]
            hopeless = amount > allocatable
            if column in delegated:
                short &= allocatable != 0
                hopeless &= allocatable != 0
            codes |= short.astype(np.int64) << bit
            codes |= np.where(hopeless, _UNRESOLVABLE, 0)
        return codes

    def code_at(self, state: CycleState, row: int, reserved: Reserved | None = None) -> int:
        """As `filter` for one row, while what is *reserved* there is taken."""
        # First, for a resource that is new gets a column.
        wanted = self.wanted(state)
        table = self._table
        requested, allocatable = table.requested, table.allocatable
        taken = table.pod_count.item(row)
        if reserved is not None:
            taken += reserved.pods.item(row)
        code = int(taken + 1 > table.allowed_pods.item(row))
        delegated = self._delegated(state)
        for bit, (column, amount) in enumerate(wanted, 1):
            most = allocatable.item(column, row)
            if not most and column in delegated:
                continue
            used = requested.item(column, row)
            if reserved is not None:
                used += reserved.requested.item(column, row)
            code |= (amount > most - used) << bit
            if amount > most:
                code |= _UNRESOLVABLE
        return code

    def wanted(self, state: CycleState) -> list[tuple[int, int]]:
        """(column, amount) of each request; the same for every pod of a template."""
        number = state.template.number
        wanted = self._known.get(number)
        if wanted is None:
            fit = state.pod.resources.fit
            asked = (
                asked_amounts(self._table, fit) if self._compares_all else self._table.amounts(fit)
            )
            wanted = self._known[number] = [pair for pair in asked if not self._is_ignored(pair[0])]
        return wanted

    def _delegated(self, state: CycleState) -> frozenset[int]:
        """The columns of resources that devices may provide. Upstream: shouldDelegateResourceToDRA()."""
        if not self._delegates or not self._listers.has(DEVICE_CLASS):
            return _NO_COLUMNS
        provided = self._classes.by_resource
        names = self._table.resource_names
        return frozenset(column for column, _ in self.wanted(state) if names[column] in provided)

    @property
    def resources_of_classes(self) -> Container[str] | None:
        """What may be left to devices; None where nothing is (DRAExtendedResource)."""
        return self._classes.by_resource if self._delegates else None

    def _is_ignored(self, column: int) -> bool:
        name = self._table.resource_names[column]
        if not is_extended_resource_name(name):
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups

    def row_filter(self, state: CycleState) -> Room | None:
        """`filter` without the reasons, for the state's template; None where devices may help."""
        if self._delegated(state):
            return None
        return Room(self._table, self.wanted(state))

    def explain(self, state: CycleState, code: int) -> Status:
        """One reason per missing resource."""
        reasons: list[str] = ["Too many pods"] if code & _TOO_MANY_PODS else []
        for bit, (column, _) in enumerate(self.wanted(state), 1):
            if code >> bit & 1:
                reasons.append(f"Insufficient {self._table.resource_names[column]}")
        is_hopeless = bool(code & _UNRESOLVABLE) and self._gives_up
        verdict = Code.UNRESOLVABLE if is_hopeless else Code.UNSCHEDULABLE
        return Status(verdict, tuple(reasons), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """For each missing resource: requested, used, allocatable, and how much is short."""
        wanted = [pair for bit, pair in enumerate(self.wanted(state), 1) if code >> bit & 1]
        return shortage(self._table, row, wanted, too_many_pods=bool(code & _TOO_MANY_PODS))

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """By strategy, with defaults for containers that request nothing."""
        plain = self.row_score(state)
        if plain is not None:
            return plain.score(rows)
        asked = state.pod.resources.scored
        total = np.zeros(len(rows), np.int64)
        weights = np.zeros(len(rows), np.int64)
        for name, weight in self.weights:
            if is_passed_over(name, asked):
                continue
            column = self._table.resource(name)
            amount = asked.get(name)
            allocatable = self._table.allocatable[column][rows]
            used = _scored(self._table, column)[rows] + amount
            scores = self._score_one(used, allocatable)
            counted = allocatable != 0
            if self.strategy == REQUESTED_TO_CAPACITY_RATIO:
                counted &= scores > 0
            total += np.where(counted, scores * weight, 0)
            weights += np.where(counted, weight, 0)
        if self.strategy == REQUESTED_TO_CAPACITY_RATIO:
            # Upstream: math.Round(float64(nodeScore) / float64(weightSum))
            mean = total / np.maximum(weights, 1)
            return np.where(weights > 0, np.floor(mean + 0.5), 0).astype(np.int64)
        return np.where(weights > 0, total // np.maximum(weights, 1), 0)

    def row_score(self, state: CycleState) -> LeastAllocated | None:
        """`score` for the state's template, where it is the default: of cpu and memory only."""
        if not self._is_plain or self.strategy != LEAST_ALLOCATED:
            return None
        resources = state.pod.resources
        cpu, memory = self._plain
        return LeastAllocated(
            self._table,
            ((CPU, cpu, resources.score_milli_cpu), (MEMORY, memory, resources.score_memory)),
        )

    def _score_one(self, used: IntArray, allocatable: IntArray) -> IntArray:
        capacity = np.maximum(allocatable, 1)
        if self.strategy == LEAST_ALLOCATED:
            return np.where(
                used > allocatable, 0, (allocatable - used) * MAX_NODE_SCORE // capacity
            )
        if self.strategy == MOST_ALLOCATED:
            return np.minimum(used, allocatable) * MAX_NODE_SCORE // capacity
        utilization = np.where(
            (allocatable == 0) | (used > allocatable), 100, used * 100 // capacity
        )
        return broken_linear(self._shape, utilization)


def asked_amounts(table: NodeTable, fit: Resources) -> list[tuple[int, int]]:
    """(column, amount) as old versions compare them: all native resources, if any is requested.

    Upstream: PodFitsResources() (v1.16), fitsRequest() (v1.20).
    """
    if not (fit.milli_cpu or fit.memory or fit.ephemeral_storage or fit.scalars):
        return []
    native = [
        (CPU, fit.milli_cpu),
        (MEMORY, fit.memory),
        (EPHEMERAL_STORAGE, fit.ephemeral_storage),
    ]
    return native + [(table.resource(name), amount) for name, amount in fit.scalars]


class Room:
    """Whether rows have room for the requests of one template, a list of (column, amount).

    It refers to the table's own arrays: create it again when they are replaced; do not pickle it.
    """

    goes_by_sums: ClassVar[bool] = True
    __slots__ = ("_allowed", "_columns", "_pods", "_row_allowed", "_row_columns", "_row_pods")

    def __init__(self, table: NodeTable, wanted: list[tuple[int, int]]) -> None:
        self._pods, self._allowed = table.pod_count, table.allowed_pods
        self._columns = [
            (table.allocatable[column], table.requested[column], amount)
            for column, amount in wanted
        ]
        # Single ints are read several times faster through a memoryview.
        self._row_pods, self._row_allowed = self._pods.data, self._allowed.data
        self._row_columns = [
            (allocatable.data, requested.data, amount)
            for allocatable, requested, amount in self._columns
        ]

    def fits(self, rows: IntArray) -> BoolArray:
        """For each of *rows*."""
        fits = self._pods.take(rows) < self._allowed.take(rows)
        for allocatable, requested, amount in self._columns:
            fits &= allocatable.take(rows) - requested.take(rows) >= amount
        return fits

    def fits_row(self, row: int) -> bool:
        """For one row, in plain ints."""
        if self._row_pods[row] >= self._row_allowed[row]:
            return False
        for allocatable, requested, amount in self._row_columns:
            if amount > allocatable[row] - requested[row]:
                return False
        return True


class LeastAllocated:
    """The free share of a row's resources, each as (column, weight, requested amount).

    It refers to the table's own arrays: create it again when they are replaced; do not pickle it.
    Upstream: noderesources/least_allocated.go leastResourceScorer().
    """

    goes_by_sums: ClassVar[bool] = True
    __slots__ = ("_columns", "_row_columns", "_weights")

    def __init__(self, table: NodeTable, resources: tuple[tuple[int, int, int], ...]) -> None:
        self._columns = [
            (table.allocatable[column], table.scored[column], weight, amount)
            for column, weight, amount in resources
        ]
        self._row_columns = [
            (allocatable.data, used.data, weight, amount)
            for allocatable, used, weight, amount in self._columns
        ]
        self._weights = sum(weight for _, weight, _ in resources)

    def score(self, rows: IntArray) -> IntArray:
        """The score of each row, with few array operations."""
        total: IntArray | None = None
        missing: IntArray | None = None
        for allocatable_of, used_of, weight, amount in self._columns:
            allocatable = allocatable_of.take(rows)
            free = allocatable - used_of.take(rows)
            free -= amount
            np.maximum(free, 0, out=free)
            free *= MAX_NODE_SCORE
            if np.minimum.reduce(allocatable, initial=1) > 0:
                free //= allocatable
            else:
                free //= np.maximum(allocatable, 1)
                without = (allocatable <= 0) * weight
                missing = without if missing is None else missing + without
            if weight != 1:
                free *= weight
            total = free if total is None else total + free
        assert total is not None, "there are no resources to score"
        if missing is None:
            total //= self._weights
            return total
        return total // np.maximum(self._weights - missing, 1)

    def score_row(self, row: int) -> int:
        """For one row, in plain ints."""
        total, weights = 0, self._weights
        for allocatable_of, used_of, weight, amount in self._row_columns:
            allocatable = allocatable_of[row]
            if allocatable == 0:
                weights -= weight
                continue
            free = allocatable - used_of[row] - amount
            if free > 0:
                total += free * MAX_NODE_SCORE // allocatable * weight
        return total // weights if weights else 0


def shortage(
    table: NodeTable, row: int, wanted: list[tuple[int, int]], *, too_many_pods: bool
) -> Detail:
    """Evidence for a node that lacks room for (column, amount) pairs, or for one more pod."""
    amounts = tuple(
        (
            table.resource_names[column],
            amount,
            int(table.allocatable[column][row]),
            int(table.requested[column][row]),
        )
        for column, amount in wanted
    )
    pods = (int(table.pod_count[row]), int(table.allowed_pods[row])) if too_many_pods else None
    return _shortage(amounts, pods)


@lru_cache(maxsize=512)
def _shortage(
    amounts: tuple[tuple[str, int, int, int], ...], pods: tuple[int, int] | None
) -> Detail:
    """The evidence, made once for nodes of equal figures.

    Each amount is (resource, requested, allocatable, used). *pods* are (placed, allowed), where no
    more are allowed.
    """
    texts: list[str] = []
    numbers: dict[str, Any] = {}
    shorts: list[tuple[int, str]] = []
    for name, amount, allocatable, used in amounts:
        short = amount - (allocatable - used)
        numbers[name] = {
            "requested": amount,
            "used": used,
            "allocatable": allocatable,
            "short": short,
        }
        texts.append(f"{name} {format_amount(name, short)} short")
        shorts.append((short, name))
    if pods is not None:
        count, allowed = pods
        numbers["pods"] = {"requested": 1, "used": count, "allocatable": allowed}
        texts.append(f"{count} of {allowed} pods")
        # On an overfull node more than one pod must be removed.
        shorts.append((count + 1 - allowed, "pods"))
    short, unit = shorts[0]
    return Detail(text=", ".join(texts), short=short, unit=unit, numbers=numbers)


def format_amount(name: str, amount: int) -> str:
    """An amount of a resource for people: "250m", "1.5Gi", "2"."""
    if name == "cpu":
        return quantity.format_cpu(amount)
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        return quantity.format_bytes(amount)
    return str(amount)


def resource_weights(resources: Any) -> list[tuple[str, int]]:
    """(name, weight) pairs of a scoring strategy; a missing weight is 1, a missing name ""."""
    return [(str(spec.get("name") or ""), int(spec.get("weight") or 1)) for spec in resources]


def is_passed_over(name: str, asked: Resources) -> bool:
    """Whether resource *name* does not count in the scores of a pod that requests *asked*.

    cpu, memory and ephemeral storage always count, a scalar resource counts if it is requested, and
    any other never does. Upstream: resource_allocation.go calculateResourceAllocatableRequest().
    """
    if name in ("cpu", "memory", "ephemeral-storage"):
        return False
    return not (is_scalar_resource_name(name) and asked.get(name))


def shape_points(shape: Iterable[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """(utilization, score) of each point of a function; missing values are 0."""
    return [(int(one.get("utilization") or 0), int(one.get("score") or 0)) for one in shape]


def broken_linear(shape: list[tuple[int, int]], values: IntArray) -> IntArray:
    """The piecewise linear function through *shape*. Upstream: helper.BuildBrokenLinearFunction()."""
    result = np.full_like(values, shape[-1][1])
    for place in range(len(shape) - 1, -1, -1):
        x1, y1 = shape[place]
        if place == 0:
            scores = np.full_like(values, y1)
        else:
            x0, y0 = shape[place - 1]
            # Go's integer division truncates towards zero.
            product = (y1 - y0) * (values - x0)
            scores = y0 + np.sign(product) * (np.abs(product) // (x1 - x0))
        result = np.where(values <= x1, scores, result)
    return result


def _scored(table: NodeTable, column: int) -> IntArray:
    return table.scored[column] if column <= MEMORY else table.requested[column]
