"""Gives the groups of a triage what a page draws of them."""

from __future__ import annotations

from dataclasses import replace

from scheduling.engine.observed.evidence import Evidence
from scheduling.engine.triage.deciding import Deciding
from scheduling.engine.triage.page.counts import PodCounts
from scheduling.engine.triage.page.nodes import nodes_by_reason
from scheduling.engine.triage.page.short import short_of, short_of_pending
from scheduling.engine.triage.pending_pods.held import Held
from scheduling.engine.triage.report import Group


class Shown:
    """What is drawn of the groups of one triage."""

    def __init__(self, evidence: Evidence) -> None:
        self._counts = PodCounts(evidence)

    def group(self, group: Group) -> Group:
        """A group whose pods have a node, or no need of one."""
        return replace(group, short=short_of(group), workload_counts=self._counts.of(group))

    def pending(self, group: Group, deciding: Deciding, held: Held) -> Group:
        """A group of pods without a node."""
        return replace(
            group,
            short=short_of_pending(held),
            workload_counts=self._counts.of(group),
            nodes_by_reason=nodes_by_reason(deciding, held),
        )
