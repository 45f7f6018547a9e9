"""Labels that a Policy prefers. Upstream: priorities/node_label.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.simple import NodeState, SimplePlugin
from engine.kernel.sentences import say
from engine.objects.objects import Pod
from engine.plugins.classic import MAX_PRIORITY


class NodeLabelPriority(SimplePlugin):
    """Prefers nodes that have a label, or nodes that do not. Arguments: label, presence."""

    name: ClassVar[str] = names.NODE_LABEL_PRIORITY
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, pod: Pod, node: NodeState) -> Terms:
        """10 or 0."""
        label = str(self.arguments.get("label") or "")
        wanted = (label in node.labels) == bool(self.arguments.get("presence"))
        return Terms.sum_of(
            (Term(say("label {label}", label=label), MAX_PRIORITY if wanted else 0),)
        )
