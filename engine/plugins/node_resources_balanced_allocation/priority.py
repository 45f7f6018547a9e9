"""Evenly used nodes before v1.18. Upstream: priorities/balanced_resource_allocation.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.framework import names
from engine.framework.arithmetic import Terms
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.plugins.classic import MAX_PRIORITY, Priority


class BalancedResourceAllocation(Priority):
    """Prefers nodes whose cpu and memory would be used to the same degree, in float64."""

    name: ClassVar[str] = names.BALANCED_RESOURCE_ALLOCATION
    is_local: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """10 minus ten times the difference; 0 for a node that would be full."""
        cpu, memory = (
            _fraction(used, allocatable)
            for used, allocatable in zip(
                self._used(state, rows), self._allocatable(rows), strict=True
            )
        )
        scores = ((1 - np.abs(cpu - memory)) * float(MAX_PRIORITY)).astype(np.int64)
        return np.where((cpu >= 1) | (memory >= 1), 0, scores)

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        (raw,) = self.score(state, np.array([row], np.int64)).tolist()
        return Terms(tuple(self._usage(state, row)), raw)


def _fraction(used: IntArray, allocatable: IntArray) -> NDArray[np.float64]:
    return np.where(allocatable == 0, 1.0, used / np.maximum(allocatable, 1))
