"""Pod affinity as it was in v1.11, where a pod had to meet all terms by itself.

A pod counts for the incoming pod's affinity if it matches the selectors of all required terms, and
a node has it near if both share the topologies of all terms; for anti-affinity likewise. Since v1.12
the topologies of the terms are counted one by one, so that different pods can meet them. Upstream:
v1.11 pkg/scheduler/algorithm/predicates/predicates.go InterPodAffinityMatches(), metadata.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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
from engine.framework.nodes.arrays import BoolArray, Codes, IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import PodMatcher
from engine.framework.pods.pod_info import AffinityTerm, PodInfo
from engine.kernel.sentences import enumerated, say
from engine.plugins.inter_pod_affinity.changes import pod_affinity_changes
from engine.plugins.inter_pod_affinity.facts import explain_pod_affinity
from engine.plugins.inter_pod_affinity.predicate import AffinityState, MatchInterPodAffinity


@dataclass(slots=True)
class MatchingPods:
    """How many pods on each row match all *terms*, and which rows ever had one.

    A row whose last matching pod was removed on trial stays in `listed`. Upstream:
    nodeNameToMatchingAffinityPods, whose RemovePod() leaves a node's key with an empty list.
    """

    terms: tuple[AffinityTerm, ...]
    counts: Codes
    listed: BoolArray

    @classmethod
    def of(cls, table: NodeTable, terms: tuple[AffinityTerm, ...]) -> MatchingPods:
        """Those that are on the nodes of *table* now."""
        if not terms:
            nothing = np.zeros(table.capacity, np.int32)
            return cls(terms, nothing, nothing > 0)
        counts = table.pod_counts.counter(PodMatcher(terms)).tally.counts.copy()
        return cls(terms, counts, counts > 0)

    def matches(self, pod: PodInfo) -> bool:
        """Whether *pod* matches every term; False if there are none."""
        namespace, labels = pod.pod.namespace, pod.pod.labels
        return bool(self.terms) and all(term.matches(namespace, labels) for term in self.terms)

    def count(self, row: int, delta: int) -> None:
        """A matching pod came to *row*, or left it."""
        self.counts[row] += delta
        self.listed[row] |= delta > 0

    def near(self, table: NodeTable, rows: IntArray) -> BoolArray:
        """Which of *rows* share the topologies of all terms with a row that has a matching pod."""
        found = np.zeros(len(rows), np.bool_)
        holders = np.flatnonzero(self.counts > 0)
        if not self.terms or not len(holders):
            return found
        domains = np.zeros(table.capacity, np.int64)
        labelled = np.ones(table.capacity, np.bool_)
        for key in dict.fromkeys(term.topology_key for term in self.terms):
            column = table.topology(key)
            domains = domains * (len(column.values) + 1) + column.codes
            labelled &= column.codes >= 0
        taken = domains[holders[labelled[holders]]]
        return labelled[rows] & np.isin(domains[rows], taken)

    def copy(self) -> MatchingPods:
        """For one node's dry run."""
        return replace(self, counts=self.counts.copy(), listed=self.listed.copy())


@dataclass(slots=True)
class JointState:
    """The pods that matter to the incoming pod. `others` has the anti-affinity of placed pods."""

    joined: MatchingPods
    avoided: MatchingPods
    others: AffinityState


class JointPodAffinity(Plugin):
    """MatchInterPodAffinity of v1.11."""

    name: ClassVar[str] = names.MATCH_INTER_POD_AFFINITY
    family: ClassVar[str] = "affinity"

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        # The anti-affinity of placed pods is judged as in later versions.
        self._later = MatchInterPodAffinity(arguments, handle)

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Upstream: GetMetadata()."""
        own, own_anti = state.pod.affinity.required, state.pod.affinity.required_anti
        others = AffinityState((), (), {}, {}, self._later.existing(state.pod), False)
        if not own and not own_anti and not others.existing:
            return PRE_FILTER_SKIP
        joined, avoided = (MatchingPods.of(self._table, terms) for terms in (own, own_anti))
        state.data[self.name] = JointState(joined, avoided, others)
        return PRE_FILTER_OK

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The anti-affinity of placed pods first, then the pod's own affinity and anti-affinity."""
        counted = cast("JointState", state.data[self.name])
        codes = np.zeros(len(rows), np.int64)
        codes[counted.avoided.near(self._table, rows)] = MatchInterPodAffinity.ANTI
        joined = counted.joined
        is_first = not joined.listed.any() and joined.matches(state.pod)
        if joined.terms and not is_first:
            codes[~joined.near(self._table, rows)] = MatchInterPodAffinity.AFFINITY
        codes[self._later.any_counted(counted.others.existing, rows)] = (
            MatchInterPodAffinity.EXISTING
        )
        return codes

    def clone_state(self, data: object) -> object:
        """A copy for one node's dry run."""
        counted = cast("JointState", data)
        others = cast("AffinityState", self._later.clone_state(counted.others))
        return JointState(counted.joined.copy(), counted.avoided.copy(), others)

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """A nominated pod, which is on no node yet, counts by its own anti-affinity only.

        Upstream: AddPod() and RemovePod() of the metadata.
        """
        counted = cast("JointState | None", state.data.get(self.name))
        if counted is None:
            return
        self._later.update_counts(counted.others, state.pod, other, row, delta)
        for matching in (counted.joined, counted.avoided) if other.node_name else ():
            if matching.matches(other):
                matching.count(row, delta)

    def explain(self, state: CycleState, code: int) -> Status:
        """Always two reasons. Evictions are tried for each of them."""
        reasons = self._later.explain(state, code).reasons
        return Status(Code.UNSCHEDULABLE, reasons, self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The topology labels in question."""
        counted = cast("JointState", state.data[self.name])
        if code == MatchInterPodAffinity.EXISTING:
            return self._later.domain_detail(counted.others, row, code)
        joins = code == MatchInterPodAffinity.AFFINITY
        terms = (counted.joined if joins else counted.avoided).terms
        labels = self._table.node(row).labels
        for term in terms if joins else ():
            if term.topology_key not in labels:
                key = term.topology_key
                return Detail(text=say("no label {key}", key=key), numbers={"topologyKey": key})
        keys = dict.fromkeys(term.topology_key for term in terms)
        where = enumerated([f"{key}={labels[key]}" for key in keys])
        text = say("a pod it avoids: {domains}", domains=where)
        if joins:
            text = say("no matching pod in {domains}", domains=where)
        return Detail(text=text, numbers={} if joins else {"topologyKeys": [*keys]})

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_pod_affinity(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return pod_affinity_changes(refusals)


def match_inter_pod_affinity(arguments: Arguments, handle: Handle) -> Plugin:
    """The plugin of the version: with `needs_one_pod`, that of v1.11."""
    kind = JointPodAffinity if arguments.get("needs_one_pod") else MatchInterPodAffinity
    return kind(arguments, handle)
