"""Nodes that ask to be avoided. Upstream: priorities/node_prefer_avoid_pods.go (v1.16)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import orjson

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.input.any_case import in_any_case
from engine.kernel.sentences import say
from engine.plugins.classic import MAX_PRIORITY, Priority

_AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"


class NodePreferAvoidPodsPriority(Priority):
    """Avoids nodes whose annotation names the pod's controller."""

    name: ClassVar[str] = names.NODE_PREFER_AVOID_PODS_PRIORITY

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """10, or 0 for an avoided node."""
        scores = np.full(len(rows), MAX_PRIORITY, np.int64)
        owner = _controller_of(state.pod)
        if owner is None or owner.get("kind") not in ("ReplicationController", "ReplicaSet"):
            return scores
        for place, row in enumerate(rows.tolist()):
            text = self._table.node(row).annotations.get(_AVOID)
            if text and _avoids(text, owner):
                scores[place] = 0
        return scores

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        (raw,) = self.score(state, np.array([row], np.int64)).tolist()
        return Terms.sum_of((Term(say("not to be avoided"), raw),))


def _controller_of(pod: PodInfo) -> dict[str, Any] | None:
    return next((ref for ref in pod.pod.owner_references if ref.get("controller")), None)


def _avoids(text: str, owner: dict[str, Any]) -> bool:
    """Upstream: GetAvoidPodsFromNodeAnnotations(); an annotation that cannot be read avoids no pods."""
    owner_id = owner.get("kind") or "", owner.get("uid") or ""
    found: list[tuple[str, str]] = []
    try:
        avoided: dict[str, Any] = orjson.loads(text) or {}
        # All entries are read, because one that cannot be read makes the whole annotation void.
        for entry in in_any_case(avoided, "preferAvoidPods") or ():
            signature: dict[str, Any] = in_any_case(entry, "podSignature") or {}
            controller: dict[str, Any] = in_any_case(signature, "podController") or {}
            found.append(
                (in_any_case(controller, "kind") or "", in_any_case(controller, "uid") or "")
            )
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        return False
    return owner_id in found
