"""The affinity terms that apply to a pod: its own and those of placed pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from engine.framework.columns.cells import Trait
from engine.framework.framework import CycleState
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import (
    PREFERRED_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
    REQUIRED_AFFINITY,
    REQUIRED_ANTI_AFFINITY,
    PodMatcher,
    Tally,
    TermColumn,
)
from engine.framework.pods.pod_info import AffinityTerm, PodInfo, labels_key
from engine.objects.selectors import LabelSelector

_EVERYTHING = LabelSelector.parse({})
_TERMS_KEPT = 4_096


@dataclass(slots=True)
class ApplicableTerms:
    """The terms that apply to pods of one template with these labels, while `stamp` is the same.

    The tallies are the table's own and keep changing.
    """

    stamp: tuple[int, int]
    affinity_terms: tuple[AffinityTerm, ...]
    anti_terms: tuple[AffinityTerm, ...]
    matches_itself: bool
    # The pods that match every affinity term; those that match each anti-affinity term.
    together: Tally | None
    apart: list[Tally]
    # The required anti-affinity terms of placed pods.
    existing: list[TermColumn]
    # Preferences, the pod's own and those of placed pods: (topology key, tally, weight).
    weights: list[tuple[str, Tally, int]]
    traits: list[Trait] = field(default_factory=list[Trait])


class TermFinder:
    """Finds the terms that apply to a pod, once per pod template and labels.

    *hard_weight* is the weight of placed pods' required affinity; 0 for none.
    """

    def __init__(
        self, table: NodeTable, listers: Listers, hard_weight: int, ignore_existing: bool
    ) -> None:
        self._table = table
        self._listers = listers
        self._hard_weight = hard_weight
        self._ignore_existing = ignore_existing
        self._kept: dict[tuple[int, bytes], ApplicableTerms] = {}

    def find(self, state: CycleState) -> ApplicableTerms:
        """The terms of the pod of *state*; computed again when terms or namespaces are added."""
        stamp = (self._table.pod_counts.term_count, self._listers.generation.get("Namespace", 0))
        key = (state.template.number, labels_key(state.pod.pod))
        found = self._kept.get(key)
        if found is None or found.stamp != stamp:
            if len(self._kept) >= _TERMS_KEPT:
                self._kept.clear()
            found = self._kept[key] = self._compute(state.pod, stamp)
        return found

    def _compute(self, pod: PodInfo, stamp: tuple[int, int]) -> ApplicableTerms:
        own, namespace, labels = pod.affinity, pod.pod.namespace, pod.pod.labels
        affinity_terms = resolved_terms(own.required, self._listers)
        anti_terms = resolved_terms(own.required_anti, self._listers)
        counter = self._table.pod_counts.counter
        found = ApplicableTerms(
            stamp=stamp,
            affinity_terms=affinity_terms,
            anti_terms=anti_terms,
            matches_itself=all(term.matches(namespace, labels) for term in affinity_terms),
            together=counter(PodMatcher(affinity_terms)).tally if affinity_terms else None,
            apart=[counter(PodMatcher((term,))).tally for term in anti_terms],
            existing=list(self._of_placed_pods(REQUIRED_ANTI_AFFINITY, pod)),
            weights=list(self._weights(pod)),
        )
        found.traits = _traits(found)
        return found

    def _of_placed_pods(self, kind: str, pod: PodInfo) -> Iterator[TermColumn]:
        """The terms of placed pods that match this one."""
        namespace, labels = pod.pod.namespace, pod.pod.labels
        namespace_labels = self._listers.namespace_labels(namespace)
        for column in self._table.pod_counts.known_terms(kind):
            if column.term.matches(namespace, labels, namespace_labels):
                yield column

    def _weights(self, pod: PodInfo) -> Iterator[tuple[str, Tally, int]]:
        """The pod's own preferences; those of placed pods, and their required affinity."""
        own = pod.affinity
        for terms, sign in ((own.preferred, 1), (own.preferred_anti, -1)):
            for term in resolved_terms(terms, self._listers):
                tally = self._table.pod_counts.counter(PodMatcher((replace(term, weight=0),))).tally
                yield term.topology_key, tally, sign * term.weight
        if self._ignore_existing and not own.preferred and not own.preferred_anti:
            return
        for column in self._of_placed_pods(REQUIRED_AFFINITY, pod) if self._hard_weight else ():
            yield column.term.topology_key, column.tally, self._hard_weight
        for kind, sign in ((PREFERRED_AFFINITY, 1), (PREFERRED_ANTI_AFFINITY, -1)):
            for column in self._of_placed_pods(kind, pod):
                yield column.term.topology_key, column.tally, sign * column.term.weight


def _traits(terms: ApplicableTerms) -> list[Trait]:
    """The domains of a row, and the pods counted there."""
    pairs: list[tuple[str, Tally]] = []
    if terms.together is not None:
        pairs.extend((term.topology_key, terms.together) for term in terms.affinity_terms)
    anti = zip(terms.anti_terms, terms.apart, strict=True)
    pairs.extend((term.topology_key, tally) for term, tally in anti)
    pairs.extend((column.term.topology_key, column.tally) for column in terms.existing)
    pairs.extend((key, tally) for key, tally, _ in terms.weights)
    return [Trait(key=key, tally=tally) for key, tally in pairs]


def resolved_terms(terms: Iterable[AffinityTerm], listers: Listers) -> tuple[AffinityTerm, ...]:
    """The incoming pod's terms; the namespaces that their selectors select are added.

    Upstream: mergeAffinityTermNamespacesIfNotEmpty(); the empty selector selects also namespaces
    that do not exist.
    """
    return tuple(_resolved(term, listers) for term in terms)


def _resolved(term: AffinityTerm, listers: Listers) -> AffinityTerm:
    selector = term.namespace_selector
    if selector is None or selector == _EVERYTHING:
        return term
    selected = {obj.name for obj in listers.all("Namespace") if selector.matches(obj.labels)}
    # Upstream, in v1.34: the selector stays, for the term is passed by value (kubernetes#141526). It
    # is matched with no labels from then on, so that one of NotIn and DoesNotExist selects all.
    return replace(term, namespaces=term.namespaces | selected)
