"""The nodes that a topology spread constraint counts, and the matching pods in each domain.

Upstream: plugins/podtopologyspread/common.go, matchNodeInclusionPolicies(), countPodsMatchSelector().
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.framework.nodes.arrays import BoolArray, Codes, IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import Tally
from engine.framework.pods.pod_template import PodTemplate, SpreadConstraint
from engine.plugins.taint_toleration.plugin import untolerated


@dataclass(slots=True)
class Eligible:
    """The rows that a constraint counts for a template, and their domains.

    With `all_labelled` every node with the label counts, so the table's own sums are correct.
    """

    rows: BoolArray
    codes: Codes
    present: BoolArray
    domains: int
    all_labelled: bool


class TopologyDomains:
    """Which rows have the labels of constraints, which are eligible, and the pods per domain.

    Rows are kept until a node changes its labels or taints.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._labelled: dict[tuple[str, ...], tuple[int, BoolArray]] = {}
        # By template; a template's hard and its soft constraints have different rows.
        self._hard: dict[int, tuple[int, list[Eligible]]] = {}
        self._soft: dict[int, tuple[int, list[Eligible]]] = {}

    def with_labels(self, constraints: tuple[SpreadConstraint, ...]) -> BoolArray:
        """The rows with the labels of all *constraints*."""
        keys = tuple([constraint.topology_key for constraint in constraints])
        generation = self._table.static_generation
        known = self._labelled.get(keys)
        if known is not None and known[0] == generation:
            return known[1]
        labelled = np.ones(self._table.capacity, np.bool_)
        for key in keys:
            labelled &= self._table.labels.topology(key).codes >= 0
        self._labelled[keys] = (generation, labelled)
        return labelled

    def of_hard(
        self, template: PodTemplate, constraints: tuple[SpreadConstraint, ...]
    ) -> list[Eligible]:
        """The eligible rows of each of the template's hard constraints."""
        known = self._hard.get(template.number)
        if known is None or known[0] != self._table.static_generation:
            labelled = self.with_labels(constraints)
            known = self._hard[template.number] = self._count(template, constraints, labelled)
        return known[1]

    def of_soft(
        self, template: PodTemplate, constraints: tuple[SpreadConstraint, ...], scored: BoolArray
    ) -> list[Eligible]:
        """The eligible rows of each of its soft constraints; only *scored* rows count."""
        known = self._soft.get(template.number)
        if known is None or known[0] != self._table.static_generation:
            known = self._soft[template.number] = self._count(template, constraints, scored)
        return known[1]

    def _count(
        self, template: PodTemplate, constraints: tuple[SpreadConstraint, ...], labelled: BoolArray
    ) -> tuple[int, list[Eligible]]:
        found = [self._count_eligible(template, one, labelled) for one in constraints]
        return self._table.static_generation, found

    def _count_eligible(
        self, template: PodTemplate, constraint: SpreadConstraint, labelled: BoolArray
    ) -> Eligible:
        column = self._table.labels.topology(constraint.topology_key)
        counted = included(self._table, template, constraint)
        has_label = column.codes >= 0
        rows = labelled & has_label
        if counted is not None:
            rows &= counted
        codes = column.codes[rows]
        present = np.zeros(max(1, len(column.values)), np.bool_)
        present[codes] = True
        all_labelled = len(codes) == int(np.count_nonzero(has_label))
        return Eligible(rows, codes, present, int(present.sum()), all_labelled)

    def pods_per_domain(
        self, constraint: SpreadConstraint, tally: Tally | None, eligible: Eligible
    ) -> IntArray:
        """Matching pods on the eligible rows; the table's own counts where all are."""
        size = len(eligible.present)
        if tally is None:
            return np.zeros(size, np.int64)
        if eligible.all_labelled:
            return self._table.pod_counts.per_domain(tally, constraint.topology_key)
        weights = tally.counts[eligible.rows]
        return np.bincount(eligible.codes, weights=weights, minlength=size).astype(np.int64)


def included(
    table: NodeTable, template: PodTemplate, constraint: SpreadConstraint
) -> BoolArray | None:
    """The rows that the constraint's inclusion policies allow; None for all.

    Upstream: matchNodeInclusionPolicies().
    """
    rows: BoolArray | None = None
    if constraint.honors_affinity and not template.required_affinity.is_empty:
        rows = table.matching(template.required_affinity)
    if constraint.honors_taints:
        tolerated = np.array(
            [
                untolerated(template, taints, ("NoSchedule", "NoExecute")) is None
                for taints in table.taints.groups
            ],
            np.bool_,
        )
        by_taint = tolerated[table.taints.codes]
        rows = by_taint if rows is None else rows & by_taint
    return rows
