"""Pod affinity and anti-affinity. Upstream: plugins/interpodaffinity/{filtering,scoring}.go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, cast

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.columns.cells import Trait
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import (
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
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import REQUIRED_ANTI_AFFINITY, Tally
from engine.framework.pods.pod_info import AffinityTerm, PodInfo
from engine.framework.pods.signing import Signed
from engine.framework.registrations import Registration
from engine.framework.unprepared import Unprepared
from engine.kernel.sentences import Phrase, Sentence, phrase, say
from engine.plugins.inter_pod_affinity.arguments import check_arguments
from engine.plugins.inter_pod_affinity.changes import pod_affinity_changes
from engine.plugins.inter_pod_affinity.domains import (
    AFFINITY,
    ANTI_AFFINITY,
    OF_PLACED_PODS,
    DomainCounts,
    domain_counts,
    kept_counts,
    live_domain_counts,
    merge_into,
)
from engine.plugins.inter_pod_affinity.events import events_of
from engine.plugins.inter_pod_affinity.facts import explain_pod_affinity
from engine.plugins.inter_pod_affinity.signature import signature_of
from engine.plugins.inter_pod_affinity.terms import ApplicableTerms, TermFinder

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

_AFFINITY, _ANTI_AFFINITY, _EXISTING = 1, 2, 3


@dataclass(slots=True)
class PreFilterState:
    """The effect of required terms on each domain, for the pod of one cycle."""

    affinity_terms: tuple[AffinityTerm, ...]
    anti_terms: tuple[AffinityTerm, ...]
    affinity: list[DomainCounts]
    anti: list[DomainCounts]
    existing: dict[str, DomainCounts]
    matches_itself: bool


class InterPodAffinity(Plugin):
    """Filters by the required terms of the pod and of placed pods; scores by weighted terms."""

    name: ClassVar[str] = names.INTER_POD_AFFINITY
    formula: ClassVar[str] = "100 × (raw − lowest) ÷ (highest − lowest)"
    family: ClassVar[str] = "affinity"
    check_arguments = staticmethod(check_arguments)
    unprepared = Unprepared(
        filter='error reading "PreFilterInterPodAffinity" from cycleState: not found',
        score='failed to read "PreScoreInterPodAffinity" from cycleState: not found',
    )

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        # v1.36: hints also react to nominated pods, and to more that may help.
        self._complete_hints: bool = arguments.get("complete_pod_hints", False)
        self._listers = handle.listers
        weight = arguments.get("hardPodAffinityWeight")
        self._ignores_labels = bool(arguments.get("ignorePreferredTermsOfExistingPods"))
        self._terms = TermFinder(
            handle.table,
            handle.listers,
            hard_weight=1 if weight is None else int(weight),
            ignore_existing=self._ignores_labels,
        )
        # In v1.34, unlike v1.20, a plugin that skipped at PreFilter does not see nominated pods,
        # even if their anti-affinity would refuse the pod. Upstream: RunPreFilterExtensionAddPod().
        self._skips_early: bool = arguments.get("skips_early", True)

    def concerns(self, state: CycleState) -> bool:
        """False when no terms exist in the cluster, which is common."""
        return self._table.pod_counts.term_count > 0 or state.pod.affinity.present

    def look(self, state: CycleState) -> list[Trait]:
        """The effect of required terms, read from the table's own counts, which keep changing."""
        terms = self._terms.find(state)
        existing: dict[str, DomainCounts] = {}
        for column in terms.existing:
            if column.tally.total:
                key = column.term.topology_key
                merge_into(existing, live_domain_counts(self._table, key, column.tally))
        if not existing and not terms.affinity_terms and not terms.anti_terms:
            state.skip_filter.add(self.name)
        else:
            state.data[self.name] = self._counted(terms, existing, live_domain_counts)
        return terms.traits

    def _counted(
        self,
        terms: ApplicableTerms,
        existing: dict[str, DomainCounts],
        count: Callable[[NodeTable, str, Tally], DomainCounts],
    ) -> PreFilterState:
        table, together = self._table, terms.together
        return PreFilterState(
            affinity_terms=terms.affinity_terms,
            anti_terms=terms.anti_terms,
            affinity=[
                count(table, term.topology_key, together)
                for term in terms.affinity_terms
                if together is not None
            ],
            anti=[
                count(table, term.topology_key, tally)
                for term, tally in zip(terms.anti_terms, terms.apart, strict=True)
            ],
            existing=existing,
            matches_itself=terms.matches_itself,
        )

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
        terms = self._terms.find(state)
        existing = self._existing_anti_affinity(terms)
        is_refused = existing or (terms.existing and not self._skips_early)
        if not is_refused and not own.required and not own.required_anti:
            return PRE_FILTER_SKIP
        state.data[self.name] = self._counted(terms, existing, domain_counts)
        return PRE_FILTER_OK

    def kept(self, state: CycleState) -> Iterator[Sentence]:
        """See `Keeps`: the matching pods of each domain, for the three kinds of terms."""
        kept = cast("PreFilterState", state.data[self.name])
        yield from kept_counts(AFFINITY, self._table, kept.affinity)
        yield from kept_counts(ANTI_AFFINITY, self._table, kept.anti)
        yield from kept_counts(OF_PLACED_PODS, self._table, kept.existing.values())

    def _existing_anti_affinity(self, terms: ApplicableTerms) -> dict[str, DomainCounts]:
        found: dict[str, DomainCounts] = {}
        for column in terms.existing:
            if not column.tally.total:
                continue
            counts = domain_counts(self._table, column.term.topology_key, column.tally)
            if counts.counts.any():
                merge_into(found, counts)
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
                domain.shift(self._table, row, delta)
        for term, domain in zip(counted.anti_terms, counted.anti, strict=True):
            if term.matches(namespace, labels):
                domain.shift(self._table, row, delta)
        incoming = state.pod.pod
        namespace_labels = self._listers.namespace_labels(incoming.namespace)
        for term in other.affinity.required_anti:
            if term.matches(incoming.namespace, incoming.labels, namespace_labels):
                domain = self._existing_domain(counted, term.topology_key)
                domain.shift(self._table, row, delta)

    def clone_state(self, data: object) -> object:
        """A copy for one node's dry run."""
        counted = cast("PreFilterState", data)
        return replace(
            counted,
            affinity=[domain.copy() for domain in counted.affinity],
            anti=[domain.copy() for domain in counted.anti],
            existing={key: domain.copy() for key, domain in counted.existing.items()},
        )

    def _existing_domain(self, counted: PreFilterState, key: str) -> DomainCounts:
        domain = counted.existing.get(key)
        if domain is None:
            empty = np.zeros(max(1, len(self._table.labels.topology(key).values)), np.int64)
            domain = counted.existing[key] = DomainCounts(key, empty)
        return domain

    def explain(self, state: CycleState, code: int) -> Status:
        """Evictions cannot create affinity, but they can remove anti-affinity."""
        if code == _AFFINITY:
            return Status(Code.UNRESOLVABLE, (REASON_AFFINITY,), self.name)
        reason = REASON_ANTI_AFFINITY if code == _ANTI_AFFINITY else REASON_EXISTING
        return Status(Code.UNSCHEDULABLE, (reason,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The topology key and domain in question."""
        counted = cast("PreFilterState", state.data[self.name])
        if code == _EXISTING:
            return self._domain_detail(counted.existing.values(), row, _REFUSED)
        if code == _ANTI_AFFINITY:
            return self._domain_detail(counted.anti, row, _AVOIDED)
        for domain in counted.affinity:
            count = domain.at(self._table, row)
            if domain.key not in self._table.node(row).labels:
                return Detail(
                    text=say("no label {key}", key=domain.key),
                    numbers={"topologyKey": domain.key},
                )
            if count <= 0:
                return _in_domain(_UNMATCHED, domain.key, self._value(domain.key, row), 0)
        return Detail(text=say("no matching pod"))

    def _domain_detail(
        self, domains: Iterable[DomainCounts], row: int, texts: tuple[Phrase, Phrase]
    ) -> Detail:
        text, text_of_domain = texts
        for domain in domains:
            count = domain.at(self._table, row)
            if count > 0:
                return _in_domain(text_of_domain, domain.key, self._value(domain.key, row), count)
        return Detail(text=text.say())

    def _value(self, key: str, row: int) -> str:
        return self._table.node(row).labels.get(key, "")

    # -- score -----------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Sum the weights of matching terms per domain; no match, no score."""
        own = state.pod.affinity
        if not (own.preferred or own.preferred_anti or self._table.pod_counts.term_count):
            return SKIP
        scores: dict[str, IntArray] = {}
        for key, tally, weight in self._terms.find(state).weights:
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
            (table.labels.topology(key).codes, table.pod_counts.per_domain(tally, key), weight)
            for key, tally, weight in self._terms.find(state).weights
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
        for _, weights in self._weights(state, rows):
            total += weights
        return total

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`: the weights of all terms that count in each domain of the node."""
        return Terms.sum_of(
            Term(
                say("pods in {key}={value}", key=key, value=self._value(key, row)), int(weights[0])
            )
            for key, weights in self._weights(state, np.array([row], np.int64))
        )

    def _weights(self, state: CycleState, rows: IntArray) -> Iterator[tuple[str, IntArray]]:
        """By topology key, the sum of the weights of the terms that count for each row."""
        for domain in cast("list[DomainCounts]", state.data[f"{self.name}/score"]):
            yield domain.key, domain.on(self._table, rows)[0]

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Lowest becomes 0, highest 100, in float64 as upstream."""
        low, high = int(np.minimum.reduce(scores)), int(np.maximum.reduce(scores))
        if high == low:
            return np.zeros_like(scores)
        return (float(MAX_NODE_SCORE) * ((scores - low) / float(high - low))).astype(np.int64)

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_pod_affinity(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return pod_affinity_changes(refusals)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return signature_of(pod, ignores_labels=self._ignores_labels)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return events_of(complete=self._complete_hints)


_REFUSED = (phrase("a pod there refuses it"), phrase("a pod there refuses it: {key}={value}"))
_AVOIDED = (phrase("a pod it avoids is there"), phrase("a pod it avoids is there: {key}={value}"))
_UNMATCHED = phrase("no matching pod in {key}={value}")


@lru_cache(maxsize=512)
def _in_domain(text: Phrase, key: str, value: str, count: int) -> Detail:
    """The evidence of a domain with *count* pods; the nodes of a domain share one."""
    numbers: dict[str, Any] = {"topologyKey": key, "domain": value, "pods": count}
    return Detail(text=text.say(key=key, value=value), numbers=numbers)
