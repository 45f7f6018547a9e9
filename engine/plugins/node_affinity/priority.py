"""Preferred node affinity before v1.18. Upstream: priorities/node_affinity.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.framework import CycleState, default_normalize
from engine.framework.nodes.arrays import IntArray
from engine.objects.selectors import NodeSelector, NodeSelectorTerm
from engine.plugins.classic import MAX_PRIORITY, Priority


class NodeAffinityPriority(Priority):
    """Prefers the nodes that the pod prefers."""

    name: ClassVar[str] = names.NODE_AFFINITY_PRIORITY
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The sum of the matching weights; matchFields were not looked at then."""
        scores = np.zeros(len(rows), np.int64)
        for weight, selector in state.template.preferred_nodes:
            if weight:
                scores += weight * self._table.matching(_expressions_only(selector))[rows]
        return scores

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The best node gets 10."""
        return default_normalize(scores, MAX_PRIORITY, reverse=False)


def _expressions_only(selector: NodeSelector) -> NodeSelector:
    return NodeSelector(tuple(NodeSelectorTerm(term.expressions) for term in selector.terms))
