"""Evenly used nodes. Upstream: plugins/noderesources/balanced_allocation.go."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scheduling.engine import names
from scheduling.engine.framework import (
    MAX_NODE_SCORE,
    SKIP,
    SUCCESS,
    CycleState,
    IntArray,
    Plugin,
    Status,
)
from scheduling.engine.handle import Arguments, Handle
from scheduling.engine.node_table import CPU, MEMORY
from scheduling.engine.plugins.node_resources_fit import resource_weights


class NodeResourcesBalancedAllocation(Plugin):
    """Prefers nodes whose resources would be used to the same degree.

    Upstream computes in float64 and cuts to an int, so this does too, in the same order.
    """

    name: ClassVar[str] = names.NODE_RESOURCES_BALANCED_ALLOCATION
    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        # v1.20: with defaults for containers that request nothing, and 0 for a node that is full.
        self._counts_defaults: bool = arguments.get("counts_defaults", False)
        default = ({"name": "cpu"}, {"name": "memory"})
        self._resources = [
            name for name, _ in resource_weights(arguments.get("resources") or default)
        ]

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """A pod that requests none of the resources would only disturb the order."""
        if self._counts_defaults:
            return SUCCESS
        fit = state.pod.resources.fit
        return SUCCESS if any(fit.get(name) for name in self._resources) else SKIP

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """100 minus the standard deviation of the used fractions, in percent."""
        if self._counts_defaults:
            return self._with_defaults(state, rows)
        if self._resources == ["cpu", "memory"]:
            return self._of_two(state, rows)
        fractions, counted = self._fractions(state, rows)
        number = counted.sum(axis=0)
        spread = np.zeros(len(rows))
        if len(fractions) == 2:
            pair = number == 2
            spread[pair] = np.abs((fractions[0][pair] - fractions[1][pair]) / 2)
        else:
            spread = _deviation(fractions, counted, number)
        return ((1 - spread) * MAX_NODE_SCORE).astype(np.int64)

    def _of_two(self, state: CycleState, rows: IntArray) -> IntArray:
        """cpu and memory only: the default, in as few array operations as it takes."""
        table, fit = self._table, state.pod.resources.fit
        shares: list[NDArray[np.float64]] = []
        for column, amount in ((CPU, fit.milli_cpu), (MEMORY, fit.memory)):
            allocatable = table.allocatable[column].take(rows)
            if not allocatable.all():
                # A missing resource leaves one fraction, which deviates from nothing.
                return np.array([self.score_row(state, row) for row in rows.tolist()], np.int64)
            used = table.requested[column].take(rows)
            used += amount
            share = used / allocatable
            shares.append(np.minimum(share, 1.0, out=share))
        spread = np.abs((shares[0] - shares[1]) / 2)
        return ((1 - spread) * MAX_NODE_SCORE).astype(np.int64)

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

    def score_row(self, state: CycleState, row: int) -> int:
        """As `score`, for one row."""
        if self._counts_defaults or self._resources != ["cpu", "memory"]:
            return int(self.score(state, np.array([row], np.int64))[0])
        table, fit = self._table, state.pod.resources.fit
        cpu, memory = table.allocatable.item(CPU, row), table.allocatable.item(MEMORY, row)
        if cpu == 0 or memory == 0:
            return MAX_NODE_SCORE
        first = min((table.requested.item(CPU, row) + fit.milli_cpu) / cpu, 1.0)
        second = min((table.requested.item(MEMORY, row) + fit.memory) / memory, 1.0)
        return int((1 - abs((first - second) / 2)) * MAX_NODE_SCORE)

    def _fractions(
        self, state: CycleState, rows: IntArray
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        table, fit = self._table, state.pod.resources.fit
        fractions = np.zeros((len(self._resources), len(rows)))
        counted = np.zeros((len(self._resources), len(rows)), np.bool_)
        for place, name in enumerate(self._resources):
            amount = fit.get(name)
            if amount == 0 and "/" in name:
                continue
            column = table.resource(name)
            allocatable = table.allocatable[column][rows]
            counted[place] = allocatable != 0
            used = table.requested[column][rows] + amount
            ratio = used / np.maximum(allocatable, 1)
            fractions[place] = np.where(counted[place], np.minimum(ratio, 1.0), 0.0)
        return fractions, counted


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
