"""OpportunisticBatching: the scores of one cycle say where to try the next pod first.

    begin ─▶ a hint: the next best node of the last search ─▶ decide ─▶ store

A hint is given only if the pod has the signature of the pod before and does not fit on the node that
this one went to. Then no node is better than the next one in the order of that search, and if the
pod fits there, no other node is looked at.

Upstream: framework/runtime/batch.go (v1.35).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from engine.framework.framework import FITS, Code
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Framework
from engine.kernel.rng import Stream
from engine.kernel.units import MILLISECOND
from engine.scheduler.cycle.decision.result import SCHEDULED, ScheduleResult
from engine.scheduler.cycle.decision.signatures import PodSigner

_MAX_AGE: Final = 500 * MILLISECOND
_REJECTED: Final = (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)


class BatchTrial(NamedTuple):
    """One pod in one scheduling cycle: its signature, and the node to try first ("": none)."""

    cycle: int
    signature: bytes | None
    hint: str


@dataclass(slots=True)
class _Batch:
    """The nodes that the last full search did not choose, the best one last."""

    signature: bytes
    created: int
    names: list[str]
    totals: list[int]


class OpportunisticBatch:
    """What one profile keeps from cycle to cycle. *ties* draws among nodes with the same total."""

    def __init__(self, signer: PodSigner, framework: Framework, ties: Stream | None) -> None:
        self._signer = signer
        self._framework = framework
        self._handle = framework.handle
        self._ties = ties
        self._batch: _Batch | None = None
        # The last cycle in which this profile found a node, and that node.
        self._last_cycle = 0
        self._last_node = ""

    def begin(self, pod: PodInfo, cycle: int) -> BatchTrial:
        """Sign *pod*, and take a hint from the batch. Upstream: GetNodeHint()."""
        signature = self._signer.sign(pod)
        batch = self._batch
        if batch is None or not self._applies(batch, pod, signature, cycle):
            return BatchTrial(cycle, signature, "")
        return BatchTrial(cycle, signature, self._pop(batch))

    def store(self, trial: BatchTrial, result: ScheduleResult) -> None:
        """Keep the order of the nodes for the next pod. Upstream: StoreScheduleResults()."""
        if result.result != SCHEDULED or result.node is None:
            # The next cycle does not follow the last one with a node, and gets no hint.
            return
        self._last_cycle, self._last_node = trial.cycle, result.node
        if trial.hint == result.node:
            return
        self._batch = None
        scores = result.scores
        if trial.signature is None or result.feasible < 2 or scores is None:
            return
        table = self._handle.table
        others = scores.rows != result.row
        rows, totals = scores.rows[others], scores.total[others]
        order = np.lexsort((-table.name_rank[rows], totals))
        names = table.names(rows[order].tolist())
        self._batch = _Batch(trial.signature, self._handle.now, names, totals[order].tolist())

    def _applies(self, batch: _Batch, pod: PodInfo, signature: bytes | None, cycle: int) -> bool:
        """Upstream: batchStateCompatible()."""
        return (
            bool(batch.names)
            and cycle == self._last_cycle + 1
            and signature == batch.signature
            and self._handle.now <= batch.created + _MAX_AGE
            and self._is_rejected_by_last_node(pod)
        )

    def _is_rejected_by_last_node(self, pod: PodInfo) -> bool:
        """Where the pod still fits there, the node would have to be scored again."""
        row = self._handle.table.rows.get(self._last_node)
        if row is None:
            return False
        state = self._framework.new_state(pod)
        status, _, _ = self._framework.run_pre_filters(state)
        if not status.is_success:
            return False
        # Nominated pods do not count. Upstream: RunFilterPlugins().
        plugin, code = self._framework.filter_one(state, row)
        return code != FITS and self._framework.explain(state, plugin, code).code in _REJECTED

    def _pop(self, batch: _Batch) -> str:
        """The best node that is left. Upstream: sortedNodeScores Pop()."""
        place = len(batch.names) - 1
        if self._ties is not None:
            first = bisect_left(batch.totals, batch.totals[-1])
            if first < place:
                place = first + self._ties.below(place - first + 1)
        batch.totals.pop()
        return batch.names.pop(place)
