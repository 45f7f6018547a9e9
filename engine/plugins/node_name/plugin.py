"""Pods that name their node. Upstream: plugins/nodename/node_name.go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.framework import Code, CycleState, Detail, Plugin, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed, SignFragment
from engine.framework.registrations import Registration
from engine.kernel.sentences import Sentence, say
from engine.plugins.arguments import no_arguments
from engine.plugins.node_affinity.facts import explain_selector
from engine.plugins.node_name.events import EVENTS

REASON_NODE_NAME = "node(s) didn't match the requested node name"


class NodeName(Plugin):
    """Refuses every node but the one in spec.nodeName."""

    name: ClassVar[str] = names.NODE_NAME
    short: ClassVar[Sentence] = say("named node does not take them")
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True
    check_arguments = staticmethod(no_arguments)

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for every other node."""
        wanted = state.template.node_name
        if not wanted:
            return np.zeros(len(rows), np.int64)
        return (rows != self._table.rows.get(wanted, -1)).astype(np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        """The one reason there is."""
        return Status(Code.UNRESOLVABLE, (REASON_NODE_NAME,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Which node the pod asks for."""
        wanted = state.template.node_name
        return Detail(
            text=say("pod asks for {wanted}", wanted=wanted), numbers={"nodeName": wanted}
        )

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_selector(case)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return (SignFragment("spec.nodeName", pod.pod.node_name),)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return EVENTS
