"""How full a node would be. Upstream: plugins/noderesources/{least,most}_allocated.go and others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from engine.framework.framework import MAX_NODE_SCORE
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.objects.pods.pod_resources import Resources, is_scalar_resource_name

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)


class ScoredResource(NamedTuple):
    """One resource of some rows: what would be used, of how much, and the score from 0 to 100."""

    name: str
    weight: int
    used: IntArray
    allocatable: IntArray
    scores: IntArray


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
