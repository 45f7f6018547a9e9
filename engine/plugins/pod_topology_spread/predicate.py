"""Hard spread constraints in v1.16, an alpha feature. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

from engine.framework import names
from engine.framework.columns.cells import Trait
from engine.framework.framework import PRE_FILTER_SKIP, Code, CycleState, PreFilterResult, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.pods.pod_info import PodInfo
from engine.plugins.pod_topology_spread.constraints import Constraints
from engine.plugins.pod_topology_spread.plugin import Domains, PodTopologySpread

REASON_SPREAD = "node(s) didn't match pod topology spread constraints"


# Without slots, for the sake of super().
@dataclass
class TriedDomains(Domains):
    """Domains to which pods came, or which they left, on trial: these count whatever lies in them.

    `came` and `left` have the domains by the pods' keys.
    """

    came: dict[str, int] = field(default_factory=dict[str, int])
    left: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def smallest(self) -> int:
        """The global minimum."""
        tried = (*self.came.values(), *self.left.values())
        return min((super().smallest, *map(self.counts.item, tried)))

    def note(self, key: str, domain: int, delta: int) -> None:
        """The pod of this *key* came or left; one that comes and goes again leaves no trace."""
        self.counts[domain] += delta
        if delta < 0 and self.came.pop(key, None) is None:
            self.left[key] = domain
        elif delta > 0 and key not in self.left:
            self.came[key] = domain

    def copy(self) -> TriedDomains:
        """For one node's dry run."""
        counts, came, left = self.counts.copy(), dict(self.came), dict(self.left)
        return replace(self, counts=counts, came=came, left=left)


class EvenPodsSpread(PodTopologySpread):
    """Hard topology spread constraints, with one reason for whatever is wrong (alpha)."""

    name: ClassVar[str] = names.EVEN_PODS_SPREAD
    counts_live_only: ClassVar[bool] = False

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        super().__init__({"defaultingType": "List"}, handle)

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Where no node has all the labels, every node fits.

        Upstream: EvenPodsSpreadPredicate(), without any entry in tpPairToMatchNum.
        """
        result = super().pre_filter(state)
        return result if result.status.is_success and self._has_domains(state) else PRE_FILTER_SKIP

    def _all_domains(
        self, state: CycleState, constraints: Constraints, *, live: bool
    ) -> list[Domains]:
        return [
            TriedDomains(one.constraint, one.counts, one.eligible, one.matches_itself)
            for one in super()._all_domains(state, constraints, live=live)
        ]

    def clone_state(self, data: object) -> object:
        """A copy for one node's dry run."""
        return [domains.copy() for domains in cast("list[TriedDomains]", data)]

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """Upstream: podSpreadCache.updatePod().

        It looks at a node's labels only, not at whether the pod selects the node.
        """
        found = cast("list[TriedDomains]", state.data[self.name])
        labelled = self._topology.with_labels(tuple(domains.constraint for domains in found))
        if other.pod.namespace != state.template.namespace or not labelled[row]:
            return
        for domains in found:
            selector, key = domains.constraint.selector, domains.constraint.topology_key
            if selector is not None and selector.matches(other.pod.labels):
                domains.note(other.key, self._table.topology(key).codes.item(row), delta)

    def look(self, state: CycleState) -> list[Trait]:
        """The same for the fast path."""
        traits = super().look(state)
        if self.name not in state.skip_filter and not self._has_domains(state):
            state.skip_filter.add(self.name)
        return traits

    def _has_domains(self, state: CycleState) -> bool:
        domains = cast("list[Domains]", state.data[self.name])
        return any(domain.eligible.domains for domain in domains)

    def explain(self, state: CycleState, code: int) -> Status:
        """Upstream: ErrTopologySpreadConstraintsNotMatch."""
        return Status(Code.UNSCHEDULABLE, (REASON_SPREAD,), self.name)
