"""Pod affinity and anti-affinity. Upstream: plugins/interpodaffinity/{filtering,scoring}.go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np

from kscope.sim.objects.selectors import LabelSelector
from scheduling.engine import names
from scheduling.engine.columns.cells import Trait
from scheduling.engine.framework.framework import (
    MAX_NODE_SCORE,
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    SKIP,
    SUCCESS,
    Code,
    CycleState,
    Detail,
    Plugin,
    PreFilterResult,
    Status,
)
from scheduling.engine.framework.handle import Arguments, Handle
from scheduling.engine.nodes.arrays import BoolArray, IntArray
from scheduling.engine.nodes.listers import Listers
from scheduling.engine.nodes.node_table import NodeTable
from scheduling.engine.nodes.pod_counts import (
    PREFERRED_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
    REQUIRED_AFFINITY,
    REQUIRED_ANTI_AFFINITY,
    PodMatcher,
    Tally,
    TermColumn,
)
from scheduling.engine.pods.pod_info import AffinityTerm, PodInfo, labels_key

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

_AFFINITY, _ANTI_AFFINITY, _EXISTING = 1, 2, 3
_EVERYTHING = LabelSelector.parse({})
_CONCERNS_KEPT = 4_096


@dataclass(slots=True)
class DomainCounts:
    """Pods per value of one topology label."""

    key: str
    counts: IntArray

    def on(self, table: NodeTable, rows: IntArray) -> tuple[IntArray, BoolArray]:
        """The count of each row's domain (0 without the label), and whether it has the label."""
        codes = table.topology(self.key).codes.take(rows)
        present = codes >= 0
        # Code -1, a missing label, indexes an arbitrary domain, whose count is discarded.
        return self.counts.take(codes, mode="wrap") * present, present

    def at(self, table: NodeTable, row: int) -> int:
        """The count of the row's domain; -1 without the label."""
        code = table.topology(self.key).codes.item(row)
        return self.counts.item(code) if code >= 0 else -1


@dataclass(slots=True)
class PreFilterState:
    """The effect of required terms on each domain, for the pod of one cycle."""

    affinity_terms: tuple[AffinityTerm, ...]
    anti_terms: tuple[AffinityTerm, ...]
    affinity: list[DomainCounts]
    anti: list[DomainCounts]
    existing: dict[str, DomainCounts]
    matches_itself: bool


@dataclass(slots=True)
class Concern:
    """The terms that apply to pods of one template with these labels, while `stamp` is the same.

    The tallies are the table's own and keep changing.
    """

    stamp: tuple[int, int]
    affinity_terms: tuple[AffinityTerm, ...]
    anti_terms: tuple[AffinityTerm, ...]
    matches_itself: bool
    together: Tally | None
    apart: list[Tally]
    existing: list[TermColumn]
    # Preferences, the pod's own and those of placed pods: (topology key, tally, weight).
    weights: list[tuple[str, Tally, int]]
    traits: list[Trait] = field(default_factory=list[Trait])


class InterPodAffinity(Plugin):
    """Filters by the required terms of the pod and of placed pods; scores by weighted terms."""

    name: ClassVar[str] = names.INTER_POD_AFFINITY

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        weight = arguments.get("hardPodAffinityWeight")
        self._hard_weight = 1 if weight is None else int(weight)
        self._ignore_existing = bool(arguments.get("ignorePreferredTermsOfExistingPods"))
        # In v1.34, unlike v1.20, a plugin that skipped at PreFilter does not see nominated pods,
        # even if their anti-affinity would refuse the pod. Upstream: RunPreFilterExtensionAddPod().
        self._skips_early: bool = arguments.get("skips_early", True)
        self._concerns: dict[tuple[int, bytes], Concern] = {}

    # -- terms that apply to the pod -------------------------------------------------------------

    def concerns(self, state: CycleState) -> bool:
        """False when no terms exist in the cluster, which is common."""
        return self._table.pod_counts.term_count > 0 or state.pod.affinity.present

    def _concern(self, state: CycleState) -> Concern:
        """Computed once per template and labels, until terms or namespaces are added."""
        stamp = (self._table.pod_counts.term_count, self._listers.generation.get("Namespace", 0))
        key = (state.template.number, labels_key(state.pod))
        concern = self._concerns.get(key)
        if concern is None or concern.stamp != stamp:
            if len(self._concerns) >= _CONCERNS_KEPT:
                self._concerns.clear()
            concern = self._concerns[key] = self._find_concern(state.pod, stamp)
        return concern

    def _find_concern(self, pod: PodInfo, stamp: tuple[int, int]) -> Concern:
        own, namespace, labels = pod.affinity, pod.pod.namespace, pod.pod.labels
        affinity_terms = resolved_terms(own.required, self._listers)
        anti_terms = resolved_terms(own.required_anti, self._listers)
        counter = self._table.pod_counts.counter
        concern = Concern(
            stamp=stamp,
            affinity_terms=affinity_terms,
            anti_terms=anti_terms,
            matches_itself=all(term.matches(namespace, labels) for term in affinity_terms),
            together=counter(PodMatcher(affinity_terms)).tally if affinity_terms else None,
            apart=[counter(PodMatcher((term,))).tally for term in anti_terms],
            existing=list(self._matching(REQUIRED_ANTI_AFFINITY, pod)),
            weights=list(self._weights(pod)),
        )
        concern.traits = _traits(concern)
        return concern

    def _matching(self, kind: str, pod: PodInfo) -> Iterator[TermColumn]:
        """The terms of other pods that match this one."""
        namespace, labels = pod.pod.namespace, pod.pod.labels
        namespace_labels = self._listers.namespace_labels(namespace)
        for column in self._table.pod_counts.known_terms(kind):
            if column.term.matches(namespace, labels, namespace_labels):
                yield column

    def _weights(self, pod: PodInfo) -> Iterator[tuple[str, Tally, int]]:
        """The pod's own preferences; those of placed pods, and their required affinity.

        The latter counts at `hardPodAffinityWeight`.
        """
        own = pod.affinity
        for terms, sign in ((own.preferred, 1), (own.preferred_anti, -1)):
            for term in resolved_terms(terms, self._listers):
                tally = self._table.pod_counts.counter(PodMatcher((replace(term, weight=0),))).tally
                yield term.topology_key, tally, sign * term.weight
        if self._ignore_existing and not own.preferred and not own.preferred_anti:
            return
        for column in self._matching(REQUIRED_AFFINITY, pod) if self._hard_weight else ():
            yield column.term.topology_key, column.tally, self._hard_weight
        for kind, sign in ((PREFERRED_AFFINITY, 1), (PREFERRED_ANTI_AFFINITY, -1)):
            for column in self._matching(kind, pod):
                yield column.term.topology_key, column.tally, sign * column.term.weight

    def look(self, state: CycleState) -> list[Trait]:
        """The effect of required terms, read from the table's own counts, which keep changing."""
        concern = self._concern(state)
        existing: dict[str, DomainCounts] = {}
        for column in concern.existing:
            if column.tally.total:
                self._merge(existing, self._live(column.term.topology_key, column.tally))
        if not existing and not concern.affinity_terms and not concern.anti_terms:
            state.skip_filter.add(self.name)
            return concern.traits
        state.data[self.name] = PreFilterState(
            affinity_terms=concern.affinity_terms,
            anti_terms=concern.anti_terms,
            affinity=[
                self._live(term.topology_key, concern.together)
                for term in concern.affinity_terms
                if concern.together is not None
            ],
            anti=[
                self._live(term.topology_key, tally)
                for term, tally in zip(concern.anti_terms, concern.apart, strict=True)
            ],
            existing=existing,
            matches_itself=concern.matches_itself,
        )
        return concern.traits

    def _live(self, key: str, tally: Tally) -> DomainCounts:
        return DomainCounts(key, self._table.pod_counts.per_domain(tally, key))

    @staticmethod
    def _merge(found: dict[str, DomainCounts], counts: DomainCounts) -> None:
        before = found.get(counts.key)
        if before is not None:
            counts = DomainCounts(counts.key, before.counts + counts.counts)
        found[counts.key] = counts

    # -- filter ----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Count the matching pods of each domain."""
        own = state.pod.affinity
        if not (
            own.required
            or own.required_anti
            or self._table.pod_counts.has_terms(REQUIRED_ANTI_AFFINITY)
        ):
            return PRE_FILTER_SKIP
        concern = self._concern(state)
        existing = self._existing_anti_affinity(concern)
        concerned = existing or (concern.existing and not self._skips_early)
        if not concerned and not own.required and not own.required_anti:
            return PRE_FILTER_SKIP
        state.data[self.name] = PreFilterState(
            affinity_terms=concern.affinity_terms,
            anti_terms=concern.anti_terms,
            affinity=[
                domain_counts(self._table, term.topology_key, concern.together)
                for term in concern.affinity_terms
                if concern.together is not None
            ],
            anti=[
                domain_counts(self._table, term.topology_key, tally)
                for term, tally in zip(concern.anti_terms, concern.apart, strict=True)
            ],
            existing=existing,
            matches_itself=concern.matches_itself,
        )
        return PRE_FILTER_OK

    def _existing_anti_affinity(self, concern: Concern) -> dict[str, DomainCounts]:
        found: dict[str, DomainCounts] = {}
        for column in concern.existing:
            if not column.tally.total:
                continue
            counts = domain_counts(self._table, column.term.topology_key, column.tally)
            if counts.counts.any():
                self._merge(found, counts)
        return found

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Own affinity, own anti-affinity, then the anti-affinity of placed pods."""
        counted = cast("PreFilterState", state.data[self.name])
        codes = np.zeros(len(rows), np.int64)
        for domain in counted.existing.values():
            counts, _ = domain.on(self._table, rows)
            codes[counts > 0] = _EXISTING
        for domain in counted.anti:
            counts, _ = domain.on(self._table, rows)
            codes[counts > 0] = _ANTI_AFFINITY
        if counted.affinity:
            codes[~self._satisfies_affinity(counted, rows)] = _AFFINITY
        return codes

    def fits_row(self, state: CycleState, row: int) -> bool:
        """Whether `filter` accepts *row*, after `look`."""
        table, counted = self._table, cast("PreFilterState", state.data[self.name])
        for domain in (*counted.existing.values(), *counted.anti):
            if domain.at(table, row) > 0:
                return False
        fewest = min([domain.at(table, row) for domain in counted.affinity], default=1)
        return fewest > 0 or (fewest == 0 and self._is_first(counted))

    @staticmethod
    def _is_first(counted: PreFilterState) -> bool:
        """The first pod of a group with affinity to itself may go to any node with the labels."""
        return counted.matches_itself and not any(d.counts.any() for d in counted.affinity)

    def _satisfies_affinity(self, counted: PreFilterState, rows: IntArray) -> BoolArray:
        labelled = np.ones(len(rows), np.bool_)
        satisfied = np.ones(len(rows), np.bool_)
        for domain in counted.affinity:
            counts, present = domain.on(self._table, rows)
            labelled &= present
            satisfied &= counts > 0
        return labelled if self._is_first(counted) else labelled & satisfied

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
        """Evictions cannot create affinity, but they can remove anti-affinity."""
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

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Sum the weights of matching terms per domain; no match, no score."""
        own = state.pod.affinity
        if not (own.preferred or own.preferred_anti or self._table.pod_counts.term_count):
            return SKIP
        scores: dict[str, IntArray] = {}
        for key, tally, weight in self._concern(state).weights:
            per_domain = self._table.pod_counts.per_domain(tally, key) if tally.total else None
            if per_domain is not None and per_domain.any():
                scored = per_domain * weight
                scores[key] = scores[key] + scored if key in scores else scored
        if not scores:
            return SKIP
        found = [DomainCounts(key, counts) for key, counts in scores.items()]
        state.data[f"{self.name}/score"] = found
        return SUCCESS

    def rank_cells(
        self, state: CycleState, rows: Sequence[int], cell_sizes: Sequence[int]
    ) -> list[int] | None:
        """`pre_score`, `score` and `normalize` of a few rows, from the table's own counts."""
        table = self._table
        weighed = [
            (table.topology(key).codes, table.pod_counts.per_domain(tally, key), weight)
            for key, tally, weight in self._concern(state).weights
            if tally.total
        ]
        scores = [0] * len(rows)
        for codes, counts, weight in weighed:
            for place, row in enumerate(rows):
                code = codes.item(row)
                if code >= 0:
                    scores[place] += counts.item(code) * weight
        low, high = min(scores), max(scores)
        if high == low:
            return None
        return [int(float(MAX_NODE_SCORE) * ((one - low) / float(high - low))) for one in scores]

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The sum over the node's domains."""
        total = np.zeros(len(rows), np.int64)
        for domain in cast("list[DomainCounts]", state.data[f"{self.name}/score"]):
            total += domain.on(self._table, rows)[0]
        return total

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Lowest becomes 0, highest 100, in float64 as upstream."""
        low, high = int(np.minimum.reduce(scores)), int(np.maximum.reduce(scores))
        if high == low:
            return np.zeros_like(scores)
        return (float(MAX_NODE_SCORE) * ((scores - low) / float(high - low))).astype(np.int64)


def _traits(concern: Concern) -> list[Trait]:
    """The domains of a row, and the pods counted there."""
    pairs: list[tuple[str, Tally]] = []
    if concern.together is not None:
        pairs.extend((term.topology_key, concern.together) for term in concern.affinity_terms)
    anti = zip(concern.anti_terms, concern.apart, strict=True)
    pairs.extend((term.topology_key, tally) for term, tally in anti)
    pairs.extend((column.term.topology_key, column.tally) for column in concern.existing)
    pairs.extend((key, tally) for key, tally, _ in concern.weights)
    return [Trait(key=key, tally=tally) for key, tally in pairs]


def domain_counts(table: NodeTable, key: str, tally: Tally) -> DomainCounts:
    """What *tally* counts, per domain of label *key*; a copy."""
    return DomainCounts(key, table.pod_counts.per_domain(tally, key).copy())


def resolved_terms(terms: Iterable[AffinityTerm], listers: Listers) -> tuple[AffinityTerm, ...]:
    """The incoming pod's terms with the namespaces that their selectors select put in.

    Upstream: mergeAffinityTermNamespacesIfNotEmpty(); the empty selector selects also namespaces
    that nobody has heard of.
    """
    return tuple(_resolved(term, listers) for term in terms)


def _resolved(term: AffinityTerm, listers: Listers) -> AffinityTerm:
    selector = term.namespace_selector
    if selector is None or selector == _EVERYTHING:
        return term
    selected = {obj.name for obj in listers.all("Namespace") if selector.matches(obj.labels)}
    # Upstream, in v1.34: the selector stays, for the term is passed by value (kubernetes#141526). It
    # is asked about no labels from then on, so that one of NotIn and DoesNotExist selects all.
    return replace(term, namespaces=term.namespaces | selected)
