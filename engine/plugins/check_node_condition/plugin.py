"""The conditions of a node, before they became taints. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

from engine.framework import names
from engine.framework.handle import Arguments, Handle
from engine.objects.objects import Node
from engine.plugins.check_node_condition.node_check import NodeCheck


class CheckNodeCondition(NodeCheck):
    """Ready, with a network, not cordoned: runs when TaintNodesByCondition is off.

    The code has a digit for each reason, in the order of the message.
    """

    name: ClassVar[str] = names.CHECK_NODE_CONDITION
    _REASONS: ClassVar[dict[int, str]] = {
        1: "node(s) were not ready",
        2: "node(s) were out of disk space",
        3: "node(s) had unavailable network",
        4: "node(s) were unschedulable",
    }
    _DIGITS: ClassVar[int] = 8
    # So many fit into a code.
    _MOST: ClassVar[int] = 20

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        super().__init__(arguments, handle)
        # What each condition has to be, and the reason where it is not. v1.11: out of disk is a
        # condition of its own, which has since become a pressure.
        self._wanted = {"Ready": ("True", 1), "NetworkUnavailable": ("False", 3)}
        if arguments.get("knows_out_of_disk"):
            self._wanted["OutOfDisk"] = ("False", 2)

    def check(self, node: Node) -> int:
        """Everything that is wrong, in the order of the node's conditions."""
        found: list[int] = []
        for kind, status in node.conditions:
            wanted, reason = self._wanted.get(kind, (status, 0))
            if status != wanted:
                found.append(reason)
        if node.spec.get("unschedulable"):
            found.append(4)
        code = 0
        for reason in reversed(found[: self._MOST]):
            code = code * self._DIGITS + reason
        return code

    def reasons(self, code: int) -> tuple[str, ...]:
        """One per digit."""
        found: list[str] = []
        while code:
            code, reason = divmod(code, self._DIGITS)
            found.append(self._REASONS[reason])
        return tuple(found)
