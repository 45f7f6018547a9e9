"""Preferred node affinity before v1.18. Upstream: priorities/node_affinity.go (v1.16)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import CycleState, default_normalize
from engine.framework.nodes.arrays import IntArray
from engine.kernel.sentences import say
from engine.objects.selectors import NodeSelector, NodeSelectorTerm
from engine.plugins.classic import MAX_PRIORITY, Priority


class NodeAffinityPriority(Priority):
    """Prefers the nodes that the pod prefers."""

    name: ClassVar[str] = names.NODE_AFFINITY_PRIORITY
    formula: ClassVar[str] = "raw × 10 ÷ highest"
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The sum of the matching weights; matchFields were not looked at then."""
        scores = np.zeros(len(rows), np.int64)
        for _, weights in self._preferences(state, rows):
            scores += weights
        return scores

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        return Terms.sum_of(
            Term(say("prefers {selector}", selector=str(selector)), int(weights[0]))
            for selector, weights in self._preferences(state, np.array([row], np.int64))
        )

    def _preferences(
        self, state: CycleState, rows: IntArray
    ) -> Iterator[tuple[NodeSelector, IntArray]]:
        """Each preferred term, with its weight where it matches and 0 elsewhere."""
        for weight, preferred in state.template.preferred_nodes:
            if weight:
                selector = _expressions_only(preferred)
                yield selector, weight * self._table.matching(selector)[rows]

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The best node gets 10."""
        return default_normalize(scores, MAX_PRIORITY, reverse=False)


def _expressions_only(selector: NodeSelector) -> NodeSelector:
    return NodeSelector(tuple(NodeSelectorTerm(term.expressions) for term in selector.terms))
