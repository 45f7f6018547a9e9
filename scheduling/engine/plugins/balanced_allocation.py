"""Evenly used nodes. Upstream: plugins/noderesources/balanced_allocation.go."""

from __future__ import annotations

from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from kscope.sim.objects.pod_resources import Resources
from scheduling.engine import names
from scheduling.engine.framework.framework import (
    MAX_NODE_SCORE,
    SKIP,
    SUCCESS,
    CycleState,
    Plugin,
    Status,
)
from scheduling.engine.framework.handle import Arguments, Handle
from scheduling.engine.nodes.arrays import IntArray
from scheduling.engine.nodes.node_table import CPU, MEMORY, NodeTable
from scheduling.engine.plugins.node_resources_fit import is_passed_over, resource_weights

Score = TypeVar("Score", int, IntArray)


class NodeResourcesBalancedAllocation(Plugin):
    """Prefers nodes whose resources would be used to the same degree.

    Since v1.36 a node's score is how much more evenly it would be used than it is now, from 50 to
    100: 75 means that nothing changes. Upstream computes in float64 and truncates to an int; so does this, in the same order.
    """

    name: ClassVar[str] = names.NODE_RESOURCES_BALANCED_ALLOCATION
    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        # v1.20: uses defaults for containers that request nothing, and gives a full node 0.
        self._counts_defaults: bool = arguments.get("counts_defaults", False)
        # v1.36: compares the node with the pod and without it.
        self._scores_improvement: bool = arguments.get("scores_improvement", False)
        default = ({"name": "cpu"}, {"name": "memory"})
        self._resources = [
            name for name, _ in resource_weights(arguments.get("resources") or default)
        ]

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """SKIP for a pod that requests none of the resources: its scores would mean nothing."""
        if self._counts_defaults:
            return SUCCESS
        return SUCCESS if self._asks_for_any(state) else SKIP

    def _asks_for_any(self, state: CycleState) -> bool:
        fit = state.pod.resources.fit
        return any(fit.get(name) for name in self._resources)

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """100 minus the standard deviation of the used fractions, in percent."""
        if self._counts_defaults:
            return self._with_defaults(state, rows)
        if not self._asks_for_any(state):
            # Such a pod gets here only when PreScore is disabled.
            return np.zeros(len(rows), np.int64)
        plain = self.row_score(state)
        if plain is not None:
            return plain.score(rows)
        fit = state.pod.resources.fit
        after = self._evenness(fit, rows, adds_pod=True)
        if not self._scores_improvement:
            return after
        return improvement(after, self._evenness(fit, rows, adds_pod=False))

    def _evenness(self, fit: Resources, rows: IntArray, *, adds_pod: bool) -> IntArray:
        """How evenly each node is used, with the pod or without it; 50 to 100."""
        fractions, counted = self._fractions(fit, rows, adds_pod=adds_pod)
        number = counted.sum(axis=0)
        spread = np.zeros(len(rows))
        if len(fractions) == 2:
            pair = number == 2
            spread[pair] = np.abs((fractions[0][pair] - fractions[1][pair]) / 2)
        else:
            spread = _deviation(fractions, counted, number)
        return ((1 - spread) * MAX_NODE_SCORE).astype(np.int64)

    def row_score(self, state: CycleState) -> Balance | None:
        """`score` for the state's template, where it is the default: of cpu and memory only."""
        if self._counts_defaults or self._resources != ["cpu", "memory"]:
            return None
        kind = Improvement if self._scores_improvement else Balance
        return kind(self._table, state.pod.resources.fit)

    def _with_defaults(self, state: CycleState, rows: IntArray) -> IntArray:
        """Upstream: balancedResourceScorer() at release-1.20."""
        table, resources = self._table, state.pod.resources
        shares: list[NDArray[np.float64]] = []
        for column, amount in ((CPU, resources.score_milli_cpu), (MEMORY, resources.score_memory)):
            allocatable = table.allocatable[column].take(rows)
            used = table.scored[column].take(rows) + amount
            shares.append(np.where(allocatable == 0, 1.0, used / np.maximum(allocatable, 1)))
        spread = np.abs(shares[0] - shares[1])
        scores = ((1 - spread) * MAX_NODE_SCORE).astype(np.int64)
        return np.where((shares[0] >= 1) | (shares[1] >= 1), 0, scores)

    def _fractions(
        self, fit: Resources, rows: IntArray, *, adds_pod: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        table = self._table
        fractions = np.zeros((len(self._resources), len(rows)))
        counted = np.zeros((len(self._resources), len(rows)), np.bool_)
        for place, name in enumerate(self._resources):
            if is_passed_over(name, fit):
                continue
            amount = fit.get(name) if adds_pod else 0
            column = table.resource(name)
            allocatable = table.allocatable[column][rows]
            counted[place] = allocatable != 0
            used = table.requested[column][rows] + amount
            ratio = used / np.maximum(allocatable, 1)
            fractions[place] = np.where(counted[place], np.minimum(ratio, 1.0), 0.0)
        return fractions, counted


class Balance:
    """How evenly a row's cpu and memory would be used with the requests of one template.

    It refers to the table's own arrays: create it again when they are replaced; do not pickle it.
    """

    goes_by_sums: ClassVar[bool] = True
    __slots__ = ("_amounts", "_columns", "_row_columns")

    def __init__(self, table: NodeTable, fit: Resources) -> None:
        self._amounts = (fit.milli_cpu, fit.memory)
        self._columns = [
            (table.allocatable[column], table.requested[column]) for column in (CPU, MEMORY)
        ]
        self._row_columns = tuple(column.data for columns in self._columns for column in columns)

    def score(self, rows: IntArray) -> IntArray:
        """The score of each row, with few array operations."""
        return self._evenness(rows, self._amounts)

    def score_row(self, row: int) -> int:
        """For one row, in plain ints."""
        return self._evenness_of(row, self._amounts)

    def _evenness(self, rows: IntArray, amounts: tuple[int, int]) -> IntArray:
        shares: list[NDArray[np.float64]] = []
        for (allocatable_of, requested_of), amount in zip(self._columns, amounts, strict=True):
            allocatable = allocatable_of.take(rows)
            if not np.minimum.reduce(allocatable, initial=1):
                # A missing resource leaves one fraction, which deviates from nothing.
                found = [self._evenness_of(row, amounts) for row in rows.tolist()]
                return np.array(found, np.int64)
            used = requested_of.take(rows)
            used += amount
            share = used / allocatable
            shares.append(np.minimum(share, 1.0, out=share))
        spread = shares[0]
        spread -= shares[1]
        spread /= 2
        np.abs(spread, out=spread)
        np.subtract(1, spread, out=spread)
        spread *= MAX_NODE_SCORE
        return spread.astype(np.int64)

    def _evenness_of(self, row: int, amounts: tuple[int, int]) -> int:
        cpu_of, cpu_used, memory_of, memory_used = self._row_columns
        cpu, memory = cpu_of[row], memory_of[row]
        if cpu == 0 or memory == 0:
            return MAX_NODE_SCORE
        milli_cpu, amount = amounts
        first = (cpu_used[row] + milli_cpu) / cpu
        second = (memory_used[row] + amount) / memory
        if first > 1.0:
            first = 1.0
        if second > 1.0:
            second = 1.0
        return int((1 - abs((first - second) / 2)) * MAX_NODE_SCORE)


class Improvement(Balance):
    """How much more evenly a row's cpu and memory would be used than they are."""

    __slots__ = ()

    def score(self, rows: IntArray) -> IntArray:
        """The score of each row, with few array operations."""
        return improvement(self._evenness(rows, self._amounts), self._evenness(rows, (0, 0)))

    def score_row(self, row: int) -> int:
        """For one row, in plain ints."""
        return improvement(self._evenness_of(row, self._amounts), self._evenness_of(row, (0, 0)))


def improvement(after: Score, before: Score) -> Score:
    """50 to 100, from how evenly a node would be used and is. Upstream: balancedResourceScorer()."""
    return 50 + (50 + after - before) // 2


def _deviation(
    fractions: NDArray[np.float64], counted: NDArray[np.bool_], number: IntArray
) -> NDArray[np.float64]:
    """The population standard deviation per column, over the counted entries."""
    total = np.zeros(fractions.shape[1])
    for fraction in fractions:
        total = total + fraction
    mean = total / np.maximum(number, 1)
    squares = np.zeros(fractions.shape[1])
    for fraction, present in zip(fractions, counted, strict=True):
        squares = squares + np.where(present, (fraction - mean) * (fraction - mean), 0.0)
    spread = np.sqrt(squares / np.maximum(number, 1))
    spread[number < 2] = 0.0
    pair = number == 2
    if pair.any():
        # Two resources: |a - b| / 2, which rounds differently from the general formula.
        high = np.where(counted, fractions, -1.0).max(axis=0)
        low = np.where(counted, fractions, 2.0).min(axis=0)
        spread[pair] = np.abs((high[pair] - low[pair]) / 2)
    return spread
