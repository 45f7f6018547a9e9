"""alwaysCheckAllPredicates: every predicate runs on every node, and all reasons are reported.

Upstream: v1.16 core/generic_scheduler.go podFitsOnNode().
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np

from engine.framework.framework import FITS, Code, CycleState, Detail, FilterPlugin, Plugin, Status
from engine.framework.nodes.arrays import IntArray
from engine.kernel.sentences import in_turn

Codes = tuple[int, ...]


class AllPredicates(Plugin):
    """Runs all filters of a profile; its code is 1 + the place of a combination of their codes."""

    name: ClassVar[str] = "AllPredicates"

    def __init__(self, filters: Sequence[FilterPlugin]) -> None:
        self.filters = tuple(filters)

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The combined code of all filters that refuse each node."""
        codes = np.zeros((len(rows), len(self.filters)), np.int64)
        for place, plugin in enumerate(self.filters):
            if plugin.name not in state.skip_filter:
                codes[:, place] = plugin.filter(state, rows)
        combinations = self._combinations(state)
        numbers = np.zeros(len(rows), np.int64)
        for place in np.flatnonzero(codes.any(axis=1)).tolist():
            found = tuple(codes[place].tolist())
            numbers[place] = combinations.setdefault(found, len(combinations) + 1)
        return numbers

    def explain(self, state: CycleState, code: int) -> Status:
        """All reasons; an error of one predicate is an error of the attempt."""
        statuses = [plugin.explain(state, one) for plugin, one in self._refusing(state, code)]
        for status in statuses:
            if status.code is Code.ERROR:
                return status
        unresolvable = any(status.code is Code.UNRESOLVABLE for status in statuses)
        return Status(
            Code.UNRESOLVABLE if unresolvable else Code.UNSCHEDULABLE,
            tuple(reason for status in statuses for reason in status.reasons),
            statuses[0].plugin,
        )

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The measure of the first detail that has one, with the texts of all."""
        details = [plugin.detail(state, row, one) for plugin, one in self._refusing(state, code)]
        measured = next((one for one in details if one.short is not None), details[0])
        return Detail(
            text=in_turn([detail.text for detail in details]),
            short=measured.short,
            unit=measured.unit,
            numbers=measured.numbers,
        )

    def _refusing(self, state: CycleState, code: int) -> list[tuple[FilterPlugin, int]]:
        found = list(self._combinations(state))[code - 1]
        return [
            (plugin, one) for plugin, one in zip(self.filters, found, strict=True) if one != FITS
        ]

    def _combinations(self, state: CycleState) -> dict[Codes, int]:
        return cast("dict[Codes, int]", state.data.setdefault(self.name, {}))
