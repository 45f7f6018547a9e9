"""The predicate MatchInterPodAffinity of v1.16 and v1.11.

Upstream: pkg/scheduler/algorithm/predicates/{predicates,metadata}.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np

from engine.framework import names
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import (
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    Code,
    CycleState,
    Detail,
    Plugin,
    PreFilterResult,
    Status,
)
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.pod_counts import REQUIRED_ANTI_AFFINITY as REQUIRED_ANTI
from engine.framework.nodes.pod_counts import PodMatcher
from engine.framework.pods.pod_info import AffinityTerm, PodInfo
from engine.kernel.sentences import Sentence, enumerated, say
from engine.plugins.inter_pod_affinity.changes import pod_affinity_changes
from engine.plugins.inter_pod_affinity.domains import (
    AFFINITY,
    ANTI_AFFINITY,
    OF_PLACED_PODS,
    DomainCounts,
    domain_counts,
    kept_counts,
)
from engine.plugins.inter_pod_affinity.facts import explain_pod_affinity

REASON_POD_AFFINITY = "node(s) didn't match pod affinity/anti-affinity"
REASON_AFFINITY_RULES = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY_RULES = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING_RULES = "node(s) didn't satisfy existing pods anti-affinity rules"


@dataclass(slots=True)
class AffinityState:
    """Topology pairs with matching pods, and what pods added on trial contributed.

    Upstream: predicateMetadata's three topologyPairsMaps.
    """

    own: tuple[AffinityTerm, ...]
    own_anti: tuple[AffinityTerm, ...]
    affinity: dict[str, DomainCounts]
    anti: dict[str, DomainCounts]
    existing: dict[str, DomainCounts]
    matches_itself: bool
    trials: dict[str, list[tuple[DomainCounts, int]]] = field(
        default_factory=dict[str, "list[tuple[DomainCounts, int]]"]
    )


class MatchInterPodAffinity(Plugin):
    """Pod affinity and anti-affinity. Upstream: InterPodAffinityMatches()."""

    name: ClassVar[str] = names.MATCH_INTER_POD_AFFINITY
    family: ClassVar[str] = "affinity"

    AFFINITY, ANTI, EXISTING = 1, 2, 3

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def kept(self, state: CycleState) -> Iterator[Sentence]:
        """See `Keeps`: the matching pods of each domain, for the three kinds of terms."""
        kept = cast("AffinityState", state.data[self.name])
        yield from kept_counts(AFFINITY, self._table, kept.affinity.values())
        yield from kept_counts(ANTI_AFFINITY, self._table, kept.anti.values())
        yield from kept_counts(OF_PLACED_PODS, self._table, kept.existing.values())

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Upstream: GetMetadata()."""
        pod = state.pod
        own, own_anti = pod.affinity.required, pod.affinity.required_anti
        affinity: dict[str, DomainCounts] = {}
        if own:
            counts = self._table.pod_counts.counter(PodMatcher(own)).tally
            for term in own:
                affinity[term.topology_key] = domain_counts(self._table, term.topology_key, counts)
        anti: dict[str, DomainCounts] = {}
        for term in own_anti:
            counts = self._table.pod_counts.counter(PodMatcher((term,))).tally
            self._merge(anti, domain_counts(self._table, term.topology_key, counts))
        existing = self.existing(pod)
        if not own and not own_anti and not existing:
            return PRE_FILTER_SKIP
        matches_itself = bool(own) and all(
            term.matches(pod.pod.namespace, pod.pod.labels) for term in own
        )
        state.data[self.name] = AffinityState(
            own, own_anti, affinity, anti, existing, matches_itself
        )
        return PRE_FILTER_OK

    def existing(self, pod: PodInfo) -> dict[str, DomainCounts]:
        """Per topology label, how many pods with anti-affinity against *pod* each domain has."""
        existing: dict[str, DomainCounts] = {}
        # The terms of nominated pods are included; these are put on a node on trial only later.
        for column in self._table.pod_counts.known_terms(REQUIRED_ANTI):
            if column.term.matches(pod.pod.namespace, pod.pod.labels):
                key = column.term.topology_key
                self._merge(existing, domain_counts(self._table, key, column.tally))
        return existing

    @staticmethod
    def _merge(domains: dict[str, DomainCounts], more: DomainCounts) -> None:
        before = domains.get(more.key)
        if before is None:
            domains[more.key] = more
        else:
            before.counts += more.counts

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Placed pods' anti-affinity first, then the pod's own affinity and anti-affinity."""
        counted = cast("AffinityState", state.data[self.name])
        codes = np.zeros(len(rows), np.int64)
        codes[self.any_counted(counted.anti, rows)] = self.ANTI
        if counted.own:
            nowhere = not any(domain.counts.any() for domain in counted.affinity.values())
            if not (nowhere and counted.matches_itself):
                codes[~self._all(counted, rows)] = self.AFFINITY
        codes[self.any_counted(counted.existing, rows)] = self.EXISTING
        return codes

    def any_counted(self, domains: Mapping[str, DomainCounts], rows: IntArray) -> BoolArray:
        """Which of *rows* are in a domain with a count."""
        found = np.zeros(len(rows), np.bool_)
        for domain in domains.values():
            counts, _ = domain.on(self._table, rows)
            found |= counts > 0
        return found

    def _all(self, counted: AffinityState, rows: IntArray) -> BoolArray:
        found = np.ones(len(rows), np.bool_)
        for domain in counted.affinity.values():
            counts, present = domain.on(self._table, rows)
            found &= present & (counts > 0)
        return found

    def clone_state(self, data: object) -> object:
        """A copy for one node's dry run."""
        counted = cast("AffinityState", data)
        return AffinityState(
            counted.own,
            counted.own_anti,
            _copied(counted.affinity),
            _copied(counted.anti),
            _copied(counted.existing),
            counted.matches_itself,
        )

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """Upstream: AddPod() and RemovePod() of the metadata."""
        counted = cast("AffinityState | None", state.data.get(self.name))
        if counted is not None:
            self.update_counts(counted, state.pod, other, row, delta)

    def update_counts(
        self, counted: AffinityState, pod: PodInfo, other: PodInfo, row: int, delta: int
    ) -> None:
        """Count *other*, which came to *row* or left it, for the incoming *pod*."""
        trial = counted.trials.pop(other.key, None) if delta < 0 else None
        if trial is not None:
            for domain, code in trial:
                domain.counts[code] -= 1
            return
        parts = self._contributions(counted, pod, other, row, added=delta > 0)
        for domain, code in parts:
            domain.counts[code] += delta
        if delta > 0:
            counted.trials[other.key] = parts

    def _contributions(
        self, counted: AffinityState, pod: PodInfo, other: PodInfo, row: int, *, added: bool
    ) -> list[tuple[DomainCounts, int]]:
        """The domains in which *other* counts.

        AddPod differs from counting afresh: a pod without a node name (a nominated one) does not
        count for the incoming pod's own terms, and one that matches any anti-affinity term counts
        for all of them.
        """
        parts: list[tuple[DomainCounts, int]] = []
        incoming = pod.pod
        for term in other.affinity.required_anti:
            if term.matches(incoming.namespace, incoming.labels):
                self._add(parts, counted.existing, term.topology_key, row)
        if added and not other.node_name:
            return parts
        namespace, labels = other.pod.namespace, other.pod.labels
        if counted.own and all(term.matches(namespace, labels) for term in counted.own):
            for key in counted.affinity:
                self._add(parts, counted.affinity, key, row)
        matched = [term for term in counted.own_anti if term.matches(namespace, labels)]
        for term in counted.own_anti if added and matched else matched:
            self._add(parts, counted.anti, term.topology_key, row)
        return parts

    def _add(
        self,
        parts: list[tuple[DomainCounts, int]],
        domains: dict[str, DomainCounts],
        key: str,
        row: int,
    ) -> None:
        column = self._table.topology(key)
        code = int(column.codes[row])
        if code < 0:
            return
        domain = domains.get(key)
        if domain is None:
            domain = domains[key] = DomainCounts(key, np.zeros(len(column.values), np.int64))
        parts.append((domain, code))

    def explain(self, state: CycleState, code: int) -> Status:
        """Always two reasons: that it failed, and by which rules."""
        rules = {
            self.AFFINITY: REASON_AFFINITY_RULES,
            self.ANTI: REASON_ANTI_AFFINITY_RULES,
            self.EXISTING: REASON_EXISTING_RULES,
        }[code]
        verdict = Code.UNRESOLVABLE if code == self.AFFINITY else Code.UNSCHEDULABLE
        return Status(verdict, (REASON_POD_AFFINITY, rules), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The topology key and domain in question."""
        return self.domain_detail(cast("AffinityState", state.data[self.name]), row, code)

    def domain_detail(self, counted: AffinityState, row: int, code: int) -> Detail:
        """The same from the counts themselves."""
        labels = self._table.node(row).labels
        if code == self.AFFINITY:
            for key in counted.affinity:
                if key not in labels:
                    return Detail(text=say("no label {key}", key=key), numbers={"topologyKey": key})
            where = enumerated([f"{key}={labels[key]}" for key in counted.affinity])
            return Detail(text=say("no matching pod in {domains}", domains=where))
        domains = counted.existing if code == self.EXISTING else counted.anti
        at = np.array([row], np.int64)
        for key, domain in domains.items():
            counts, _ = domain.on(self._table, at)
            if counts[0] > 0:
                text = say("a pod it avoids: {key}={value}", key=key, value=labels[key])
                if code == self.EXISTING:
                    text = say("a pod there refuses it: {key}={value}", key=key, value=labels[key])
                return Detail(
                    text=text,
                    numbers={"topologyKey": key, "domain": labels[key], "pods": int(counts[0])},
                )
        return Detail(text=say("anti-affinity"))

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_pod_affinity(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return pod_affinity_changes(refusals)


def _copied(domains: Mapping[str, DomainCounts]) -> dict[str, DomainCounts]:
    return {key: DomainCounts(key, domain.counts.copy()) for key, domain in domains.items()}
