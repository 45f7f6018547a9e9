"""Cordoned nodes before v1.18. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from engine.framework import names
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.fixes import SmallestFix
from engine.framework.framework import Code, CycleState, Detail, Plugin, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import say
from engine.plugins.node_unschedulable.changes import uncordon
from engine.plugins.node_unschedulable.cordon import tolerates_cordon
from engine.plugins.node_unschedulable.facts import explain_cordon
from engine.plugins.node_unschedulable.plugin import REASON_UNSCHEDULABLE


class CheckNodeUnschedulable(Plugin):
    """Cordoned nodes."""

    name: ClassVar[str] = names.CHECK_NODE_UNSCHEDULABLE
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for a cordoned node."""
        if tolerates_cordon(state.template):
            return np.zeros(len(rows), np.int64)
        return self._table.unschedulable[rows].astype(np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        """The one reason there is."""
        return Status(Code.UNRESOLVABLE, (REASON_UNSCHEDULABLE,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Cordoned."""
        return Detail(text=say("cordoned"))

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_cordon(case)

    def smallest_fix(
        self, pod: PodInfo, node: str, numbers: Mapping[str, Any]
    ) -> SmallestFix | None:
        """See `Fixes`."""
        return uncordon(node)
