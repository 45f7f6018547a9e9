"""Taints before v1.18, as a priority. Upstream: priorities/taint_toleration.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

from engine.framework import names
from engine.framework.arithmetic import Terms
from engine.framework.framework import CycleState, default_normalize
from engine.framework.nodes.arrays import IntArray
from engine.plugins.classic import MAX_PRIORITY, Priority
from engine.plugins.taint_toleration.plugin import soft_taints, soft_terms


class TaintTolerationPriority(Priority):
    """Prefers nodes with few untolerated soft taints."""

    name: ClassVar[str] = names.TAINT_TOLERATION_PRIORITY
    formula: ClassVar[str] = "10 − raw × 10 ÷ highest"
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The number of untolerated PreferNoSchedule taints."""
        return soft_taints(state.template, self._table.taints.groups)[
            self._table.taints.codes[rows]
        ]

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        taints = self._table.taints.groups[self._table.taints.codes.item(row)]
        return soft_terms(state.template, taints)

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Fewer taints, higher score."""
        return default_normalize(scores, MAX_PRIORITY, reverse=True)
