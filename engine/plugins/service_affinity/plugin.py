"""Service affinity as v1.20 has it: one plugin of the framework for what were two of a Policy.

Upstream: v1.20 pkg/scheduler/framework/plugins/serviceaffinity/service_affinity.go.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import MAX_NODE_SCORE, Code, CycleState, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.kernel.sentences import say
from engine.plugins.service_affinity.arguments import check_arguments
from engine.plugins.service_affinity.predicate import CheckServiceAffinity
from engine.plugins.service_affinity.services import service_pods, spread_scores

ERROR_NO_NODE = "node not found"


class ServiceAffinity(CheckServiceAffinity):
    """Pods of one service stay where some labels are equal, and spread where others differ.

    Arguments: affinityLabels, antiAffinityLabelsPreference.
    """

    name: ClassVar[str] = names.SERVICE_AFFINITY
    formula: ClassVar[str] = "100 × (pods − pods with this label value) ÷ pods"
    may_fail: ClassVar[bool] = True
    no_node: ClassVar[Status] = Status(Code.ERROR, (ERROR_NO_NODE,), names.SERVICE_AFFINITY)
    check_arguments = staticmethod(check_arguments)

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        super().__init__({"labels": arguments.get("affinityLabels")}, handle)
        self._spread: tuple[str, ...] = tuple(arguments.get("antiAffinityLabelsPreference") or ())

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """How many pods of the pod's first service are on the node."""
        return service_pods(state.pod, self._listers, self._table)[rows]

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        (raw,) = self.score(state, np.array([row], np.int64)).tolist()
        return Terms.sum_of((Term(say("pods of the first service"), raw),))

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The mean over the labels. Upstream: updateNodeScoresForLabel()."""
        result = np.zeros(len(rows))
        for label in self._spread:
            codes = self._table.topology(label).codes[rows]
            result += spread_scores(codes, scores, float(MAX_NODE_SCORE)) / len(self._spread)
        return result.astype(np.int64)
