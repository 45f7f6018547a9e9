"""How evenly a node would be used. Upstream computes in float64, and so does this, in the same order."""

from __future__ import annotations

from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.framework.framework import MAX_NODE_SCORE
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import CPU, MEMORY, NodeTable
from engine.objects.pods.pod_resources import Resources

Score = TypeVar("Score", int, IntArray)


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


def deviation(
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
