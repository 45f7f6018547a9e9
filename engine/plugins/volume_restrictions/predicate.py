"""Disks that cannot be shared, before v1.18. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.framework import (
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    Code,
    CycleState,
    Detail,
    Plugin,
    PreFilterResult,
    Status,
)
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.kernel.sentences import say
from engine.plugins.volume_restrictions.disks import has_disk_conflict, restricted_disks
from engine.plugins.volume_restrictions.facts import explain_claim_in_use

REASON_DISK = "node(s) had no available disk"


class NoDiskConflict(Plugin):
    """In-tree disks that two pods of one node may not share."""

    name: ClassVar[str] = names.NO_DISK_CONFLICT
    needs_volumes: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """SKIP for a pod without such disks."""
        return PRE_FILTER_OK if restricted_disks(state.pod.pod) else PRE_FILTER_SKIP

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for a conflict."""
        disks = restricted_disks(state.pod.pod)
        return np.array(
            [has_disk_conflict(self._table, row, disks) for row in rows.tolist()], np.int64
        )

    def explain(self, state: CycleState, code: int) -> Status:
        """The one reason there is."""
        return Status(Code.UNSCHEDULABLE, (REASON_DISK,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """In use."""
        return Detail(text=say("disk in use on this node"))

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_claim_in_use(case)
