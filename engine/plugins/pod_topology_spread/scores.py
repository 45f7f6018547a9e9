"""The score of a node by the soft topology spread constraints.

Upstream: plugins/podtopologyspread/scoring.go.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import MAX_NODE_SCORE, CycleState
from engine.framework.nodes.arrays import BoolArray, Codes, IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import Tally
from engine.framework.pods.pod_template import SpreadConstraint
from engine.kernel.sentences import say
from engine.plugins.pod_topology_spread.constraints import HOSTNAME, Constraints, PodConstraints
from engine.plugins.pod_topology_spread.domains import Eligible, TopologyDomains, included

FloatArray = NDArray[np.floating[Any]]


@dataclass(slots=True)
class SoftCounts:
    """Matching pods by row for the hostname, else by domain, and how much each of them counts."""

    constraint: SpreadConstraint
    codes: Codes
    counts: Codes | IntArray
    weight: float

    def part(self, row: int) -> float:
        """The score of the node at *row* by this constraint; less is better."""
        pods = self.pods(row)
        if pods is None:
            return 0.0
        return _score_for_count(pods, self.weight, self.constraint.max_skew)

    def pods(self, row: int) -> int | None:
        """The matching pods that count for the node at *row*; None without the topology label."""
        code = self.codes.item(row)
        if code < 0:
            return None
        return self.counts.item(row if self.constraint.topology_key == HOSTNAME else code)

    def parts(self, rows: IntArray) -> FloatArray:
        """The same for many rows."""
        codes = self.codes.take(rows)
        places = rows if self.constraint.topology_key == HOSTNAME else codes
        counts = self.counts.take(places, mode="clip")
        found = _score_for_count(counts, self.weight, self.constraint.max_skew)
        found[codes < 0] = 0.0
        return found


@dataclass(slots=True)
class ScoreState:
    """Soft constraints as they are counted.

    `ignored` says of each place among the rows that are scored whether it lacks a label, `has_labels`
    the opposite of each row of the table.
    """

    soft: list[SoftCounts]
    ignored: BoolArray
    has_labels: BoolArray


class SpreadScores:
    """Scores nodes by the matching pods in their domains.

    Without *rounds* the fraction of a score is truncated, as in v1.20.
    """

    def __init__(
        self,
        table: NodeTable,
        constraints: PodConstraints,
        domains: TopologyDomains,
        *,
        rounds: bool,
    ) -> None:
        self._table = table
        self._constraints = constraints
        self._topology = domains
        self._half = 0.5 if rounds else 0.0

    def count(self, state: CycleState, constraints: Constraints, rows: IntArray) -> ScoreState:
        """The matching pods of each domain with one of *rows*, which are feasible."""
        scored = self._scored_rows(state, constraints)
        has_labels = scored.take(rows)
        looked_at = rows[has_labels]
        sizes = [
            len(looked_at) if one.topology_key == HOSTNAME else self._count_domains(one, looked_at)
            for one in constraints.soft
        ]
        soft = self._soft_counts(state, constraints, sizes, scored)
        return ScoreState(soft, ~has_labels, scored)

    def score(self, counted: ScoreState, rows: IntArray) -> IntArray:
        """The weighted number of matching pods near the node: less is better."""
        total = np.zeros(len(rows))
        for one in counted.soft:
            total = total + one.parts(rows)
        total[counted.ignored] = 0
        return (total + self._half).astype(np.int64)

    def arithmetic(self, counted: ScoreState, row: int) -> Terms:
        """Of each constraint the matching pods, and what they add in thousandths."""
        if not counted.has_labels.item(row):
            return Terms((Term(say("lacks a topology label"), 0),), 0)
        terms: list[Term] = []
        for one in counted.soft:
            key, pods = one.constraint.topology_key, one.pods(row)
            if pods is not None:
                terms.append(Term(say("matching pods of the same {key}", key=key), pods))
                terms.append(
                    Term(say("score of {key}", key=key), int(one.part(row) * 1000), "/1000")
                )
        return Terms(tuple(terms), self._score_row(counted.soft, row))

    def normalize(self, scored: ScoreState, scores: IntArray) -> IntArray:
        """Inverted, so that the least crowded node gets the highest score; ignored nodes get 0."""
        counted = scores[~scored.ignored]
        if len(counted) == 0:
            return np.zeros_like(scores)
        low, high = int(np.minimum.reduce(counted)), int(np.maximum.reduce(counted))
        result = np.full_like(scores, MAX_NODE_SCORE)
        if high:
            result = _inverted(scores, low, high)
        return np.where(scored.ignored, 0, result)

    def rank(
        self,
        state: CycleState,
        constraints: Constraints,
        rows: Sequence[int],
        weights: Sequence[int],
    ) -> list[int]:
        """The normalized scores of *rows*, each of which represents as many feasible rows."""
        scored = self._scored_rows(state, constraints)
        counted = [place for place, row in enumerate(rows) if scored.item(row)]
        ranks = [0] * len(rows)
        if not counted:
            return ranks
        looked_at = [rows[place] for place in counted]
        nodes = sum([weights[place] for place in counted])
        sizes = [
            nodes if one.topology_key == HOSTNAME else self._count_domains_of_few(one, looked_at)
            for one in constraints.soft
        ]
        soft = self._soft_counts(state, constraints, sizes, scored)
        scores = [self._score_row(soft, row) for row in looked_at]
        low, high = min(scores), max(scores)
        for place, score in zip(counted, scores, strict=True):
            ranks[place] = _inverted(score, low, high) if high else MAX_NODE_SCORE
        return ranks

    def _score_row(self, soft: list[SoftCounts], row: int) -> int:
        # Added in the same order as in `score`, so the floats are equal.
        total = 0.0
        for one in soft:
            total += one.part(row)
        return int(total + self._half)

    def _scored_rows(self, state: CycleState, constraints: Constraints) -> BoolArray:
        """The rows that have the labels of all constraints; the others are ignored."""
        need_all = bool(state.template.spread) or self._constraints.all_labels_required
        return self._topology.with_labels(constraints.soft if need_all else ())

    def _count_domains(self, constraint: SpreadConstraint, rows: IntArray) -> int:
        """The number of domains of *rows*; a row without the label is in domain "", as upstream."""
        column = self._table.labels.topology(constraint.topology_key)
        domains = np.zeros(len(column.values) + 1, np.bool_)
        domains[column.codes.take(rows)] = True
        both = "" in column.index and domains[-1] and domains[column.index[""]]
        return int(np.count_nonzero(domains)) - int(both)

    def _count_domains_of_few(self, constraint: SpreadConstraint, rows: list[int]) -> int:
        """The same for few rows."""
        column = self._table.labels.topology(constraint.topology_key)
        code_of = column.codes.item
        domains = {code_of(row) for row in rows}
        return len(domains) - ("" in column.index and domains.issuperset((-1, column.index[""])))

    def _soft_counts(
        self, state: CycleState, constraints: Constraints, sizes: list[int], scored: BoolArray
    ) -> list[SoftCounts]:
        """Matching pods per domain (or node) of the feasible rows; only *scored* rows count.

        Upstream counts in those domains only; the other counts are never read.
        """
        eligible = self._topology.of_soft(state.template, constraints.soft, scored)
        return [
            SoftCounts(
                constraint,
                self._table.labels.topology(constraint.topology_key).codes,
                self._per_row(tally)
                if constraint.topology_key == HOSTNAME
                else self._soft_domains(state, constraint, tally, among, scored),
                math.log(size + 2),
            )
            for constraint, tally, among, size in zip(
                constraints.soft, constraints.soft_tallies, eligible, sizes, strict=True
            )
        ]

    def _soft_domains(
        self,
        state: CycleState,
        constraint: SpreadConstraint,
        tally: Tally | None,
        among: Eligible,
        scored: BoolArray,
    ) -> IntArray:
        """The pods per domain, where nodes without the label share domain "" with those whose label is "".

        Upstream: PreScore() reads a label that is not there as "".
        """
        counts = self._topology.pods_per_domain(constraint, tally, among)
        column = self._table.labels.topology(constraint.topology_key)
        empty = column.index.get("")
        if empty is None or tally is None:
            return counts
        bare = scored & (column.codes < 0)
        counted = included(self._table, state.template, constraint)
        if counted is not None:
            bare &= counted
        counts = counts.copy()
        counts[empty] += int(tally.counts[bare].sum())
        return counts

    def _per_row(self, tally: Tally | None) -> Codes:
        if tally is None or self._table.is_returned:
            return np.zeros(self._table.capacity, np.int32)
        return tally.counts


@overload
def _score_for_count(count: int, weight: float, max_skew: int) -> float: ...


@overload
def _score_for_count(count: Codes | IntArray, weight: float, max_skew: int) -> FloatArray: ...


def _score_for_count(
    count: int | Codes | IntArray, weight: float, max_skew: int
) -> float | FloatArray:
    """With a high maxSkew, few pods make less of a difference. Upstream: scoreForCount()."""
    return count * weight + float(max_skew - 1)


@overload
def _inverted(score: int, low: int, high: int) -> int: ...


@overload
def _inverted(score: IntArray, low: int, high: int) -> IntArray: ...


def _inverted(score: int | IntArray, low: int, high: int) -> int | IntArray:
    """Upstream: NormalizeScore()."""
    return MAX_NODE_SCORE * (high + low - score) // high
