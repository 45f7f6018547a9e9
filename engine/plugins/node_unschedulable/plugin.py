"""Nodes that are cordoned. Upstream: plugins/nodeunschedulable/node_unschedulable.go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from engine.framework import names
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.fixes import SmallestFix
from engine.framework.framework import Code, CycleState, Detail, Plugin, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed, sign_tolerations
from engine.framework.registrations import Registration
from engine.kernel.sentences import say
from engine.plugins.arguments import no_arguments
from engine.plugins.node_unschedulable.changes import uncordon
from engine.plugins.node_unschedulable.cordon import tolerates_cordon
from engine.plugins.node_unschedulable.events import EVENTS
from engine.plugins.node_unschedulable.facts import explain_cordon

REASON_UNSCHEDULABLE = "node(s) were unschedulable"


class NodeUnschedulable(Plugin):
    """Refuses cordoned nodes unless the pod tolerates the taint that goes with the cordon."""

    name: ClassVar[str] = names.NODE_UNSCHEDULABLE
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True
    check_arguments = staticmethod(no_arguments)

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for a cordoned node."""
        codes = self._table.unschedulable[rows].astype("int64")
        if codes.any() and tolerates_cordon(state.template):
            codes[:] = 0
        return codes

    def explain(self, state: CycleState, code: int) -> Status:
        """The one reason there is."""
        return Status(Code.UNRESOLVABLE, (REASON_UNSCHEDULABLE,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Says that the node is cordoned."""
        return Detail(text=say("cordoned"))

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_cordon(case)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return sign_tolerations(pod)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return EVENTS

    def smallest_fix(
        self, pod: PodInfo, node: str, numbers: Mapping[str, Any]
    ) -> SmallestFix | None:
        """See `Fixes`."""
        return uncordon(node)
