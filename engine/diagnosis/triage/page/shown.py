"""Gives the groups of a triage what a page draws of them."""

from __future__ import annotations

from dataclasses import replace

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.deciding import Deciding
from engine.diagnosis.triage.page.counts import PodCounts
from engine.diagnosis.triage.page.nodes import nodes_by_reason
from engine.diagnosis.triage.page.short import short_of, short_of_pending
from engine.diagnosis.triage.pending_pods.held import Held
from engine.diagnosis.triage.report import Group


class Shown:
    """What is drawn of the groups of one triage."""

    def __init__(self, evidence: Evidence) -> None:
        self._counts = PodCounts(evidence)

    def group(self, group: Group) -> Group:
        """A group whose pods have a node, or no need of one."""
        return replace(
            group,
            short=group.short or short_of(group),
            workload_counts=self._counts.of(group),
        )

    def pending(self, group: Group, deciding: Deciding, held: Held) -> Group:
        """A group of pods without a node."""
        return replace(
            group,
            short=short_of_pending(held),
            workload_counts=self._counts.of(group),
            nodes_by_reason=nodes_by_reason(deciding, held),
        )
