"""Room for the pod's requests. Upstream: plugins/noderesources/fit.go and *_allocated.go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from kscope.sim import quantity
from scheduling.engine import names
from scheduling.engine.framework import (
    MAX_NODE_SCORE,
    BoolArray,
    Code,
    CycleState,
    Detail,
    IntArray,
    Plugin,
    Status,
)
from scheduling.engine.handle import Arguments, Handle
from scheduling.engine.node_table import CPU, MEMORY, NodeTable

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)

_TOO_MANY_PODS = 1
_UNRESOLVABLE = 1 << 62
_CPU_AND_MEMORY: tuple[Mapping[str, Any], ...] = (
    {"name": "cpu", "weight": 1},
    {"name": "memory", "weight": 1},
)


class NodeResourcesFit(Plugin):
    """Refuses nodes without room, and scores the others by how full they would be.

    The code of a refused node is a set of bits: 1 for the pod count, then one per requested
    resource in the order of `_wanted`, and the top bit where even an empty node is too small.
    """

    name: ClassVar[str] = names.NODE_RESOURCES_FIT
    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._known: dict[int, list[tuple[int, int]]] = {}
        self._ignored: tuple[str, ...] = tuple(arguments.get("ignoredResources") or ())
        self._ignored_groups: tuple[str, ...] = tuple(arguments.get("ignoredResourceGroups") or ())
        strategy: Mapping[str, Any] = arguments.get("scoringStrategy") or {}
        self.strategy: str = strategy.get("type") or LEAST_ALLOCATED
        if self.strategy not in STRATEGIES:
            raise ValueError(f"scoringStrategy.type: {self.strategy!r} is not one of {STRATEGIES}")
        self.weights = resource_weights(strategy.get("resources") or _CPU_AND_MEMORY)
        self._is_plain = [name for name, _ in self.weights] == ["cpu", "memory"]
        self._plain = [weight for _, weight in self.weights]
        ratio: Mapping[str, Any] = strategy.get("requestedToCapacityRatio") or {}
        self._shape = [
            (int(point["utilization"]), int(point["score"]) * MAX_NODE_SCORE // 10)
            for point in ratio.get("shape") or ()
        ]

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Which resources do not suffice."""
        table = self._table
        codes = (table.pod_count[rows] + 1 > table.allowed_pods[rows]).astype(np.int64)
        for bit, (column, amount) in enumerate(self._wanted(state), 1):
            allocatable = table.allocatable[column][rows]
            codes |= (amount > allocatable - table.requested[column][rows]).astype(np.int64) << bit
            codes |= np.where(amount > allocatable, _UNRESOLVABLE, 0)
        return codes

    def _wanted(self, state: CycleState) -> list[tuple[int, int]]:
        """(column, amount) of what the pod asks for; the same for every pod of a template."""
        number = state.template.number
        wanted = self._known.get(number)
        if wanted is None:
            wanted = self._known[number] = [
                pair
                for pair in self._table.amounts(state.pod.resources.fit)
                if not self._is_ignored(pair[0])
            ]
        return wanted

    def _is_ignored(self, column: int) -> bool:
        name = self._table.resource_names[column]
        if "/" not in name:
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups

    def fits(self, state: CycleState, rows: IntArray) -> BoolArray:
        """`filter` without the reasons."""
        table = self._table
        fits = table.pod_count.take(rows) < table.allowed_pods.take(rows)
        for column, amount in self._wanted(state):
            free = table.allocatable[column].take(rows) - table.requested[column].take(rows)
            fits &= free >= amount
        return fits

    def fits_row(self, state: CycleState, row: int) -> bool:
        """As `filter`, for one row."""
        table = self._table
        if table.pod_count.item(row) + 1 > table.allowed_pods.item(row):
            return False
        allocatable, requested = table.allocatable, table.requested
        for column, amount in self._wanted(state):
            if amount > allocatable.item(column, row) - requested.item(column, row):
                return False
        return True

    def explain(self, state: CycleState, code: int) -> Status:
        """One reason per missing resource."""
        reasons: list[str] = ["Too many pods"] if code & _TOO_MANY_PODS else []
        for bit, (column, _) in enumerate(self._wanted(state), 1):
            if code >> bit & 1:
                reasons.append(f"Insufficient {self._table.resource_names[column]}")
        verdict = Code.UNRESOLVABLE if code & _UNRESOLVABLE else Code.UNSCHEDULABLE
        return Status(verdict, tuple(reasons), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """For each missing resource: asked, used, allocatable, and how much is short."""
        wanted = [pair for bit, pair in enumerate(self._wanted(state), 1) if code >> bit & 1]
        return shortage(self._table, row, wanted, too_many_pods=bool(code & _TOO_MANY_PODS))

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """By strategy, with defaults for containers that request nothing."""
        resources = state.pod.resources
        if self._is_plain and self.strategy == LEAST_ALLOCATED:
            return self._least_allocated(state, rows)
        defaults = {CPU: resources.score_milli_cpu, MEMORY: resources.score_memory}
        total = np.zeros(len(rows), np.int64)
        weights = np.zeros(len(rows), np.int64)
        for name, weight in self.weights:
            column = self._table.resource(name)
            amount = defaults.get(column, resources.fit.get(name))
            allocatable = self._table.allocatable[column][rows]
            if amount == 0 and column > MEMORY and "/" in name:
                continue
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

    def _least_allocated(self, state: CycleState, rows: IntArray) -> IntArray:
        """cpu and memory only: the default, in as few array operations as it takes."""
        table, resources = self._table, state.pod.resources
        total = np.zeros(len(rows), np.int64)
        weights = np.zeros(len(rows), np.int64)
        for column, weight, amount in (
            (CPU, self._plain[0], resources.score_milli_cpu),
            (MEMORY, self._plain[1], resources.score_memory),
        ):
            allocatable = table.allocatable[column].take(rows)
            free = allocatable - table.scored[column].take(rows)
            free -= amount
            np.maximum(free, 0, out=free)
            free *= MAX_NODE_SCORE
            counted = allocatable > 0
            if counted.all():
                free //= allocatable
                weights += weight
            else:
                free //= np.maximum(allocatable, 1)
                weights += counted * weight
            total += free if weight == 1 else free * weight
        return total // np.maximum(weights, 1)

    def score_row(self, state: CycleState, row: int) -> int:
        """As `score`, for one row."""
        if self.strategy != LEAST_ALLOCATED or not self._is_plain:
            return int(self.score(state, np.array([row], np.int64))[0])
        table, resources = self._table, state.pod.resources
        total = weights = 0
        for column, weight, amount, used in (
            (CPU, self._plain[0], resources.score_milli_cpu, table.scored[CPU]),
            (MEMORY, self._plain[1], resources.score_memory, table.scored[MEMORY]),
        ):
            allocatable = table.allocatable.item(column, row)
            if allocatable == 0:
                continue
            free = allocatable - used.item(row) - amount
            weights += weight
            if free > 0:
                total += free * MAX_NODE_SCORE // allocatable * weight
        return total // weights if weights else 0

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


def shortage(
    table: NodeTable, row: int, wanted: list[tuple[int, int]], *, too_many_pods: bool
) -> Detail:
    """Evidence for a node that lacks room for (column, amount) pairs, or for one more pod."""
    texts: list[str] = []
    numbers: dict[str, Any] = {}
    shorts: list[tuple[int, str]] = []
    for column, amount in wanted:
        name = table.resource_names[column]
        allocatable = int(table.allocatable[column][row])
        used = int(table.requested[column][row])
        short = amount - (allocatable - used)
        numbers[name] = {
            "requested": amount,
            "used": used,
            "allocatable": allocatable,
            "short": short,
        }
        texts.append(f"{name} {format_amount(name, short)} short")
        shorts.append((short, name))
    if too_many_pods:
        count, allowed = int(table.pod_count[row]), int(table.allowed_pods[row])
        numbers["pods"] = {"requested": 1, "used": count, "allocatable": allowed}
        texts.append(f"{count} of {allowed} pods")
    short, unit = shorts[0] if shorts else (1, "pods")
    return Detail(text=", ".join(texts), short=short, unit=unit, numbers=numbers)


def format_amount(name: str, amount: int) -> str:
    """An amount of a resource for people: "250m", "1.5Gi", "2"."""
    if name == "cpu":
        return quantity.format_cpu(amount)
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        return quantity.format_bytes(amount)
    return str(amount)


def resource_weights(resources: Any) -> list[tuple[str, int]]:
    """(name, weight) pairs of a scoring strategy; a weight that is not given is 1."""
    return [(str(spec["name"]), int(spec.get("weight") or 1)) for spec in resources]


def broken_linear(shape: list[tuple[int, int]], values: IntArray) -> IntArray:
    """The piecewise linear function through *shape*. Upstream: helper.BuildBrokenLinearFunction()."""
    result = np.full_like(values, shape[-1][1])
    for place in range(len(shape) - 1, -1, -1):
        x1, y1 = shape[place]
        if place == 0:
            scores = np.full_like(values, y1)
        else:
            x0, y0 = shape[place - 1]
            # Go's integer division goes towards zero.
            product = (y1 - y0) * (values - x0)
            scores = y0 + np.sign(product) * (np.abs(product) // (x1 - x0))
        result = np.where(values <= x1, scores, result)
    return result


def _scored(table: NodeTable, column: int) -> IntArray:
    return table.scored[column] if column <= MEMORY else table.requested[column]
