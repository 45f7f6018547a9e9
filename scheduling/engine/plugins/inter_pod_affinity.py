"""Pod affinity and anti-affinity. Upstream: plugins/interpodaffinity/{filtering,scoring}.go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np

from kscope.sim.selectors import LabelSelector
from scheduling.engine import names
from scheduling.engine.framework import (
    MAX_NODE_SCORE,
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    SKIP,
    SUCCESS,
    BoolArray,
    Code,
    CycleState,
    Detail,
    IntArray,
    Plugin,
    PreFilterResult,
    Status,
)
from scheduling.engine.handle import Arguments, Handle
from scheduling.engine.listers import Listers
from scheduling.engine.node_table import (
    PREFERRED_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
    REQUIRED_AFFINITY,
    REQUIRED_ANTI_AFFINITY,
    NodeTable,
    PodMatcher,
    Tally,
)
from scheduling.engine.pod_info import AffinityTerm, PodInfo

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

_AFFINITY, _ANTI_AFFINITY, _EXISTING = 1, 2, 3
_EVERYTHING = LabelSelector.parse({})


@dataclass(slots=True)
class DomainCounts:
    """Pods per value of one topology label."""

    key: str
    counts: IntArray

    def on(self, table: NodeTable, rows: IntArray) -> tuple[IntArray, BoolArray]:
        """The count of each row's domain (0 without the label), and whether it has the label."""
        codes = table.topology(self.key).codes[rows]
        present = codes >= 0
        return np.where(present, self.counts[codes], 0), present


@dataclass(slots=True)
class PreFilterState:
    """What required terms say about each domain, for the pod of one cycle."""

    affinity_terms: tuple[AffinityTerm, ...]
    anti_terms: tuple[AffinityTerm, ...]
    affinity: list[DomainCounts]
    anti: list[DomainCounts]
    existing: dict[str, DomainCounts]
    matches_itself: bool


@dataclass(slots=True)
class ScoreState:
    """The weight that preferences put on each domain."""

    scores: dict[str, IntArray] = field(default_factory=dict[str, IntArray])


class InterPodAffinity(Plugin):
    """Refuses nodes by required terms, of the pod and of placed pods; prefers by weighted ones."""

    name: ClassVar[str] = names.INTER_POD_AFFINITY

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        weight = arguments.get("hardPodAffinityWeight")
        self._hard_weight = 1 if weight is None else int(weight)
        self._ignore_existing = bool(arguments.get("ignorePreferredTermsOfExistingPods"))

    # -- filter ----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Count, per domain, the pods that matter."""
        pod = state.pod
        own = pod.affinity
        if not (own.required or own.required_anti or self._table.has_terms(REQUIRED_ANTI_AFFINITY)):
            return PRE_FILTER_SKIP
        existing = self._existing_anti_affinity(pod)
        if not existing and not own.required and not own.required_anti:
            return PRE_FILTER_SKIP
        affinity_terms = resolved_terms(own.required, self._listers)
        anti_terms = resolved_terms(own.required_anti, self._listers)
        together = self._table.counter(PodMatcher(affinity_terms)).tally if affinity_terms else None
        state.data[self.name] = PreFilterState(
            affinity_terms=affinity_terms,
            anti_terms=anti_terms,
            affinity=[
                domain_counts(self._table, term.topology_key, together)
                for term in affinity_terms
                if together is not None
            ],
            anti=[
                domain_counts(
                    self._table, term.topology_key, self._table.counter(PodMatcher((term,))).tally
                )
                for term in anti_terms
            ],
            existing=existing,
            matches_itself=all(
                term.matches(pod.pod.namespace, pod.pod.labels) for term in affinity_terms
            ),
        )
        return PRE_FILTER_OK

    def _existing_anti_affinity(self, pod: PodInfo) -> dict[str, DomainCounts]:
        found: dict[str, DomainCounts] = {}
        namespace, labels = pod.pod.namespace, pod.pod.labels
        namespace_labels = self._listers.namespace_labels(namespace)
        for column in self._table.terms(REQUIRED_ANTI_AFFINITY):
            term = column.term
            if not term.matches(namespace, labels, namespace_labels):
                continue
            counts = domain_counts(self._table, term.topology_key, column.tally)
            if not counts.counts.any():
                continue
            before = found.get(term.topology_key)
            if before is not None:
                counts.counts += before.counts
            found[term.topology_key] = counts
        return found

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Own affinity, own anti-affinity, then the anti-affinity of placed pods."""
        counted = cast("PreFilterState", state.data[self.name])
        codes = np.zeros(len(rows), np.int64)
        codes[self._violates_existing(counted, rows)] = _EXISTING
        codes[self._violates_anti(counted, rows)] = _ANTI_AFFINITY
        codes[~self._satisfies_affinity(counted, rows)] = _AFFINITY
        return codes

    def _violates_existing(self, counted: PreFilterState, rows: IntArray) -> BoolArray:
        violated = np.zeros(len(rows), np.bool_)
        for domain in counted.existing.values():
            counts, _ = domain.on(self._table, rows)
            violated |= counts > 0
        return violated

    def _violates_anti(self, counted: PreFilterState, rows: IntArray) -> BoolArray:
        violated = np.zeros(len(rows), np.bool_)
        for domain in counted.anti:
            counts, _ = domain.on(self._table, rows)
            violated |= counts > 0
        return violated

    def _satisfies_affinity(self, counted: PreFilterState, rows: IntArray) -> BoolArray:
        labelled = np.ones(len(rows), np.bool_)
        satisfied = np.ones(len(rows), np.bool_)
        for domain in counted.affinity:
            counts, present = domain.on(self._table, rows)
            labelled &= present
            satisfied &= counts > 0
        # The first pod of a series that has affinity to itself may go anywhere with the labels.
        if counted.matches_itself and not any(d.counts.any() for d in counted.affinity):
            return labelled
        return labelled & satisfied

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """Upstream: AddPod() and RemovePod(), updateWithPod()."""
        counted = cast("PreFilterState | None", state.data.get(self.name))
        if counted is None:
            return
        namespace, labels = other.pod.namespace, other.pod.labels
        if counted.affinity_terms and all(
            term.matches(namespace, labels) for term in counted.affinity_terms
        ):
            for domain in counted.affinity:
                self._shift(domain, row, delta)
        for term, domain in zip(counted.anti_terms, counted.anti, strict=True):
            if term.matches(namespace, labels):
                self._shift(domain, row, delta)
        incoming = state.pod.pod
        namespace_labels = self._listers.namespace_labels(incoming.namespace)
        for term in other.affinity.required_anti:
            if term.matches(incoming.namespace, incoming.labels, namespace_labels):
                self._shift(self._existing_domain(counted, term.topology_key), row, delta)

    def clone_state(self, data: object) -> object:
        """A copy for one node's dry run."""
        counted = cast("PreFilterState", data)
        return replace(
            counted,
            affinity=[DomainCounts(d.key, d.counts.copy()) for d in counted.affinity],
            anti=[DomainCounts(d.key, d.counts.copy()) for d in counted.anti],
            existing={
                key: DomainCounts(key, d.counts.copy()) for key, d in counted.existing.items()
            },
        )

    def _existing_domain(self, counted: PreFilterState, key: str) -> DomainCounts:
        domain = counted.existing.get(key)
        if domain is None:
            empty = np.zeros(max(1, len(self._table.topology(key).values)), np.int64)
            domain = counted.existing[key] = DomainCounts(key, empty)
        return domain

    def _shift(self, domain: DomainCounts, row: int, delta: int) -> None:
        code = int(self._table.topology(domain.key).codes[row])
        if code >= 0:
            domain.counts[code] += delta

    def explain(self, state: CycleState, code: int) -> Status:
        """Evicting pods cannot bring about affinity, but can undo anti-affinity."""
        if code == _AFFINITY:
            return Status(Code.UNRESOLVABLE, (REASON_AFFINITY,), self.name)
        reason = REASON_ANTI_AFFINITY if code == _ANTI_AFFINITY else REASON_EXISTING
        return Status(Code.UNSCHEDULABLE, (reason,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The topology key and domain in question."""
        counted = cast("PreFilterState", state.data[self.name])
        at = np.array([row], np.int64)
        if code == _EXISTING:
            return self._domain_detail(counted.existing.values(), at, "a pod there refuses it")
        if code == _ANTI_AFFINITY:
            return self._domain_detail(counted.anti, at, "a pod it avoids is there")
        for domain in counted.affinity:
            counts, present = domain.on(self._table, at)
            if not present[0]:
                return Detail(text=f"no label {domain.key}", numbers={"topologyKey": domain.key})
            if counts[0] <= 0:
                value = self._value(domain.key, row)
                return Detail(
                    text=f"no matching pod in {domain.key}={value}",
                    numbers={"topologyKey": domain.key, "domain": value, "pods": 0},
                )
        return Detail(text="no matching pod")

    def _domain_detail(self, domains: Iterable[DomainCounts], at: IntArray, text: str) -> Detail:
        for domain in domains:
            counts, _ = domain.on(self._table, at)
            if counts[0] > 0:
                value = self._value(domain.key, int(at[0]))
                numbers: dict[str, Any] = {
                    "topologyKey": domain.key,
                    "domain": value,
                    "pods": int(counts[0]),
                }
                return Detail(text=f"{text}: {domain.key}={value}", numbers=numbers)
        return Detail(text=text)

    def _value(self, key: str, row: int) -> str:
        return self._table.node(row).labels.get(key, "")

    # -- score -----------------------------------------------------------------------------------

    def has_nothing_to_score(self, state: CycleState) -> bool:
        """Nobody prefers anything: the common case."""
        own = state.pod.affinity
        return not (
            own.preferred
            or own.preferred_anti
            or any(map(self._table.has_terms, (REQUIRED_AFFINITY, PREFERRED_AFFINITY)))
            or self._table.has_terms(PREFERRED_ANTI_AFFINITY)
        )

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Sum the weights of matching terms per domain; no match, no score."""
        own = state.pod.affinity
        scores = ScoreState()
        has_preferences = bool(own.preferred or own.preferred_anti)
        if has_preferences:
            for terms, sign in ((own.preferred, 1), (own.preferred_anti, -1)):
                for term in resolved_terms(terms, self._listers):
                    counter = self._table.counter(PodMatcher((replace(term, weight=0),)))
                    self._weigh(scores, term.topology_key, counter.tally, sign * term.weight)
        elif self._ignore_existing:
            return SKIP
        self._weigh_existing(state.pod, scores)
        if not scores.scores:
            return SKIP
        state.data[f"{self.name}/score"] = scores
        return SUCCESS

    def _weigh_existing(self, pod: PodInfo, scores: ScoreState) -> None:
        """The preferences of placed pods, and their required affinity at `hardPodAffinityWeight`."""
        namespace, labels = pod.pod.namespace, pod.pod.labels
        namespace_labels = self._listers.namespace_labels(namespace)
        for kind, sign in (
            (REQUIRED_AFFINITY, self._hard_weight),
            (PREFERRED_AFFINITY, 1),
            (PREFERRED_ANTI_AFFINITY, -1),
        ):
            if sign == 0:
                continue
            for column in self._table.terms(kind):
                term = column.term
                if term.matches(namespace, labels, namespace_labels):
                    weight = sign if kind == REQUIRED_AFFINITY else sign * term.weight
                    self._weigh(scores, term.topology_key, column.tally, weight)

    def _weigh(self, scores: ScoreState, key: str, tally: Tally, weight: int) -> None:
        per_domain = self._table.per_domain(tally, key)
        if not per_domain.any():
            return
        before = scores.scores.get(key)
        scored = per_domain * weight
        scores.scores[key] = scored if before is None else before + scored

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The sum over the node's domains."""
        scored = cast("ScoreState", state.data[f"{self.name}/score"])
        total = np.zeros(len(rows), np.int64)
        for key, scores in scored.scores.items():
            counts, _ = DomainCounts(key, scores).on(self._table, rows)
            total += counts
        return total

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Lowest becomes 0, highest 100, in float64 as upstream."""
        low, high = int(scores.min()), int(scores.max())
        if high == low:
            return np.zeros_like(scores)
        return (float(MAX_NODE_SCORE) * ((scores - low) / float(high - low))).astype(np.int64)


def domain_counts(table: NodeTable, key: str, tally: Tally) -> DomainCounts:
    """What *tally* counts, per domain of label *key*; a copy."""
    return DomainCounts(key, table.per_domain(tally, key).copy())


def resolved_terms(terms: Iterable[AffinityTerm], listers: Listers) -> tuple[AffinityTerm, ...]:
    """The incoming pod's terms with namespace selectors replaced by the namespaces they select.

    Upstream: mergeAffinityTermNamespacesIfNotEmpty(); the empty selector selects also namespaces
    that nobody has heard of.
    """
    return tuple(_resolved(term, listers) for term in terms)


def _resolved(term: AffinityTerm, listers: Listers) -> AffinityTerm:
    selector = term.namespace_selector
    if selector is None or selector == _EVERYTHING:
        return term
    selected = {obj.name for obj in listers.all("Namespace") if selector.matches(obj.labels)}
    return replace(term, namespaces=term.namespaces | selected, namespace_selector=None)
