"""Labels that a Policy asks for, or forbids. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

from engine.framework import names
from engine.framework.framework import SUCCESS, Code, Status
from engine.framework.handle import Arguments
from engine.framework.simple import NodeState, SimplePlugin
from engine.objects.objects import Pod

REASON_LABELS = "node(s) didn't have the requested labels"


class CheckNodeLabelPresence(SimplePlugin):
    """Labels that a node must have, or must not have. Arguments: labels, presence."""

    name: ClassVar[str] = names.CHECK_NODE_LABEL_PRESENCE
    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._labels: tuple[str, ...] = tuple(arguments.get("labels") or ())
        self._presence = bool(arguments.get("presence"))

    def fits(self, pod: Pod, node: NodeState) -> Status:
        """Refuses a node where one of the labels is absent that must be there, or the reverse."""
        if all((label in node.labels) == self._presence for label in self._labels):
            return SUCCESS
        return Status(Code.UNRESOLVABLE, (REASON_LABELS,))
