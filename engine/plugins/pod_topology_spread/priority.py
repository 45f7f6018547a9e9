"""Soft spread constraints in v1.16, an alpha feature. Upstream: priorities/even_pods_spread.go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, cast

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import SKIP, SUCCESS, CycleState, Status
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.pods.pod_template import SpreadConstraint
from engine.kernel.sentences import say
from engine.plugins.classic import MAX_PRIORITY, Priority
from engine.plugins.pod_topology_spread.constraints import pods_matching


class EvenPodsSpreadPriority(Priority):
    """Soft topology spread constraints (alpha). Upstream: even_pods_spread.go (priorities)."""

    name: ClassVar[str] = names.EVEN_PODS_SPREAD_PRIORITY
    formula: ClassVar[str] = "10 × (sum of raw − raw) ÷ (sum of raw − lowest)"

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Without soft constraints there is nothing to score."""
        soft = [constraint for constraint in state.template.spread if not constraint.is_hard]
        state.data[self.name] = soft
        return SUCCESS if soft else SKIP

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """Matching pods in the node's domains; -1 for a node that lacks a label."""
        total = np.zeros(len(rows), np.int64)
        for _, pods in self._pods(state, rows):
            total += pods
        return np.where(self._labelled(state)[rows], total, -1)

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        if not self._labelled(state).item(row):
            return Terms.sum_of((Term(say("lacks a topology label"), -1),))
        return Terms.sum_of(
            Term(say("matching pods of the same {key}", key=key), int(pods[0]))
            for key, pods in self._pods(state, np.array([row], np.int64))
        )

    def _labelled(self, state: CycleState) -> BoolArray:
        """The rows with the labels of all constraints."""
        soft = cast("list[SpreadConstraint]", state.data[self.name])
        table = self._table
        labelled = np.zeros(table.capacity, np.bool_)
        labelled[table.active] = True
        for constraint in soft:
            labelled &= table.topology(constraint.topology_key).codes >= 0
        return labelled

    def _pods(self, state: CycleState, rows: IntArray) -> Iterator[tuple[str, IntArray]]:
        """For each constraint its key, and the matching pods in the domain of each row."""
        soft, table = cast("list[SpreadConstraint]", state.data[self.name]), self._table
        counted = self._labelled(state)
        if not state.template.required_affinity.is_empty:
            counted &= table.matching(state.template.required_affinity)
        for constraint in soft:
            column = table.topology(constraint.topology_key)
            per_domain = np.zeros(len(column.values) + 1, np.int64)
            if constraint.selector is not None:
                # Whatever their namespace, and also while they are being deleted.
                matcher = pods_matching(constraint.selector, None, live_only=False)
                counts = table.pod_counts.counter(matcher).tally.counts
                np.add.at(per_domain, column.codes[counted], counts[counted])
            yield constraint.topology_key, per_domain[column.codes[rows]]

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The sum over all nodes less the node's own, against the best of them."""
        qualified = scores >= 0
        if not qualified.any():
            return np.zeros_like(scores)
        total, low = int(scores[qualified].sum()), int(scores[qualified].min())
        if total == low:
            return np.where(qualified, MAX_PRIORITY, 0)
        shares = float(MAX_PRIORITY) * ((total - scores) / float(total - low))
        return np.where(qualified, shares.astype(np.int64), 0)
