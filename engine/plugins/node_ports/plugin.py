"""Host ports. Upstream: plugins/nodeports/node_ports.go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed
from engine.framework.registrations import Registration
from engine.framework.unprepared import Unprepared
from engine.kernel.sentences import Sentence, say
from engine.plugins.arguments import no_arguments
from engine.plugins.node_ports.events import EVENTS
from engine.plugins.node_ports.facts import explain_port
from engine.plugins.node_ports.signature import signature_of

REASON_PORTS = "node(s) didn't have free ports for the requested pod ports"


class NodePorts(Plugin):
    """Refuses nodes where a host port of the pod is taken."""

    name: ClassVar[str] = names.NODE_PORTS
    family: ClassVar[str] = "port"
    is_local: ClassVar[bool] = True
    check_arguments = staticmethod(no_arguments)
    unprepared = Unprepared(filter='reading "PreFilterNodePorts" from cycleState: not found')

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """SKIP for a pod without host ports, as most are."""
        return PRE_FILTER_OK if state.pod.ports else PRE_FILTER_SKIP

    def kept(self, state: CycleState) -> Iterator[Sentence]:
        """See `Keeps`: the host ports of the pod."""
        for port in state.pod.ports:
            yield say("host port {port}/{protocol}", port=port.port, protocol=port.protocol)

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 where a port is taken."""
        codes = np.zeros(len(rows), np.int64)
        conflicts = self._table.ports.conflicts(state.pod.ports)
        if conflicts:
            codes[np.isin(rows, np.fromiter(conflicts, np.int64, len(conflicts)))] = 1
        return codes

    def explain(self, state: CycleState, code: int) -> Status:
        """The one reason there is."""
        return Status(Code.UNSCHEDULABLE, (REASON_PORTS,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The port that is taken."""
        port = self._table.ports.conflicts(state.pod.ports)[row]
        return Detail(
            text=say("host port {port}/{protocol} taken", port=port.port, protocol=port.protocol),
            numbers={"port": port.port, "protocol": port.protocol, "hostIP": port.ip},
        )

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_port(case)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return signature_of(pod)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return EVENTS
