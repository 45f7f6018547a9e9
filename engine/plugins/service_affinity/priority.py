"""Pods of a service spread over the values of a label. Upstream: priorities/selector_spreading.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.kernel.sentences import say
from engine.plugins.classic import MAX_PRIORITY, Priority
from engine.plugins.service_affinity.services import service_pods, spread_scores


class ServiceAntiAffinityPriority(Priority):
    """Spreads the pods of a service over the values of a label. Arguments: label."""

    name: ClassVar[str] = names.SERVICE_ANTI_AFFINITY_PRIORITY
    formula: ClassVar[str] = "10 × (pods − pods with this label value) ÷ pods"

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """How many pods of the pod's first service are on the node."""
        return service_pods(state.pod, self._listers, self._table)[rows]

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        (raw,) = self.score(state, np.array([row], np.int64)).tolist()
        return Terms.sum_of((Term(say("pods of the first service"), raw),))

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Few in the node's domain, high score; a node without the label gets 0."""
        codes = self._table.topology(str(self._arguments.get("label") or "")).codes[rows]
        return spread_scores(codes, scores, float(MAX_PRIORITY)).astype(np.int64)
