"""What the predicates and priorities before v1.18 have in common."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.framework.arithmetic import Term
from engine.framework.framework import CycleState, Plugin
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import CPU, MEMORY
from engine.kernel.sentences import say

ERROR_PLUGIN = "error"
MAX_PRIORITY = 10


class Priority(Plugin):
    """A priority that reads the node table and the listers."""

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        self._arguments = arguments

    def _used(self, state: CycleState, rows: IntArray) -> tuple[IntArray, IntArray]:
        """What cpu and memory would be requested, with the defaults for what requests nothing."""
        resources = state.pod.resources
        return (
            self._table.scored[CPU].take(rows) + resources.score_milli_cpu,
            self._table.scored[MEMORY].take(rows) + resources.score_memory,
        )

    def _usage(self, state: CycleState, row: int) -> Iterator[Term]:
        """The terms of what would be used of cpu and memory, and of how much."""
        rows = np.array([row], np.int64)
        used, allocatable = self._used(state, rows), self._allocatable(rows)
        for place, (name, unit) in enumerate((("cpu", "m"), ("memory", ""))):
            yield Term(say("{name} used with the pod", name=name), int(used[place][0]), unit)
            yield Term(say("{name} allocatable", name=name), int(allocatable[place][0]), unit)

    def _allocatable(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        return self._table.allocatable[CPU][rows], self._table.allocatable[MEMORY][rows]
