"""Taints before v1.18, as predicates. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from engine.framework import names
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.fixes import SmallestFix
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import Code, CycleState, Detail, Plugin, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.plugins.taint_toleration.changes import taint_changes, tolerate
from engine.plugins.taint_toleration.facts import explain_taint
from engine.plugins.taint_toleration.plugin import taint_detail, untolerated

REASON_TAINTS = "node(s) had taints that the pod didn't tolerate"


class PodToleratesNodeTaints(Plugin):
    """Untolerated taints; the code is 1 + taint group * 256 + place in the group."""

    name: ClassVar[str] = names.POD_TOLERATES_NODE_TAINTS
    family: ClassVar[str] = "taint"
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True
    effects: ClassVar[tuple[str, ...]] = ("NoSchedule", "NoExecute")

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The first untolerated taint."""
        verdicts: list[int] = []
        for group, taints in enumerate(self._table.taints.groups):
            place = untolerated(state.template, taints, self.effects)
            verdicts.append(0 if place is None else 1 + group * 256 + place)
        return np.array(verdicts, np.int64)[self._table.taints.codes[rows]]

    def explain(self, state: CycleState, code: int) -> Status:
        """The reason does not name the taint."""
        return Status(Code.UNRESOLVABLE, (REASON_TAINTS,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The taint, which the reason leaves out."""
        group, place = divmod(code - 1, 256)
        return taint_detail(self._table.taints.groups[group][place])

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_taint(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return taint_changes(refusals)

    def smallest_fix(
        self, pod: PodInfo, node: str, numbers: Mapping[str, Any]
    ) -> SmallestFix | None:
        """See `Fixes`."""
        return tolerate(pod, node, numbers)


class PodToleratesNodeNoExecuteTaints(PodToleratesNodeTaints):
    """Only NoExecute taints; used for DaemonSets."""

    name: ClassVar[str] = names.POD_TOLERATES_NODE_NO_EXECUTE_TAINTS
    effects: ClassVar[tuple[str, ...]] = ("NoExecute",)

    def smallest_fix(
        self, pod: PodInfo, node: str, numbers: Mapping[str, Any]
    ) -> SmallestFix | None:
        """None: the fixes of an attempt are part of a run's history, and runs had none here."""
        return None
