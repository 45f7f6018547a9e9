"""The pressures of a node, before they became taints. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

from engine.framework import names
from engine.framework.framework import PRE_FILTER_OK, PRE_FILTER_SKIP, CycleState, PreFilterResult
from engine.framework.handle import Arguments, Handle
from engine.objects.objects import Manifest, Node
from engine.objects.values.quantity import parse
from engine.plugins.check_node_condition.node_check import NodeCheck


class _Pressure(NodeCheck):
    condition: ClassVar[str] = ""
    reason: ClassVar[str] = ""

    def check(self, node: Node) -> int:
        """1 under pressure."""
        # Upstream keeps the last condition of a type: SetNode().
        return int(dict(node.conditions).get(self.condition) == "True")

    def reasons(self, code: int) -> tuple[str, ...]:
        """The one reason there is."""
        return (self.reason,)


class CheckNodeMemoryPressure(_Pressure):
    """Best-effort pods keep off nodes that are short of memory."""

    name: ClassVar[str] = names.CHECK_NODE_MEMORY_PRESSURE
    condition: ClassVar[str] = "MemoryPressure"
    reason: ClassVar[str] = "node(s) had memory pressure"
    # The quality of service is no part of the template.
    is_local: ClassVar[bool] = False

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        super().__init__(arguments, handle)
        reads_all: bool = arguments.get("reads_init_containers", True)
        self._lists = ("containers", "initContainers") if reads_all else ("containers",)

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """SKIP for pods that are not best-effort."""
        spec = state.pod.pod.spec
        containers = [one for name in self._lists for one in spec.get(name) or ()]
        return PRE_FILTER_OK if _are_best_effort(containers) else PRE_FILTER_SKIP


def _are_best_effort(containers: list[Manifest]) -> bool:
    """Whether none of *containers* asks for cpu or memory. Upstream: v1qos.GetPodQOS()."""
    for container in containers:
        resources: Manifest = container.get("resources") or {}
        asked: tuple[Manifest, ...] = (
            resources.get("requests") or {},
            resources.get("limits") or {},
        )
        for amounts in asked:
            if any(parse(amounts.get(name) or 0).nanos > 0 for name in ("cpu", "memory")):
                return False
    return True


class CheckNodeDiskPressure(_Pressure):
    """Nodes that are short of disk."""

    name: ClassVar[str] = names.CHECK_NODE_DISK_PRESSURE
    condition: ClassVar[str] = "DiskPressure"
    reason: ClassVar[str] = "node(s) had disk pressure"


class CheckNodePIDPressure(_Pressure):
    """Nodes that are short of process ids."""

    name: ClassVar[str] = names.CHECK_NODE_PID_PRESSURE
    condition: ClassVar[str] = "PIDPressure"
    reason: ClassVar[str] = "node(s) had pid pressure"
