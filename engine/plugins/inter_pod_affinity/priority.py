"""Preferred pod affinity before v1.18. Upstream: priorities/interpod_affinity.go (v1.16)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.pod_counts import (
    PREFERRED_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
    REQUIRED_AFFINITY,
    PodMatcher,
    Tally,
)
from engine.framework.pods.pod_info import AffinityTerm
from engine.kernel.sentences import say
from engine.plugins.classic import MAX_PRIORITY, Priority
from engine.plugins.inter_pod_affinity.domains import domain_counts


class InterPodAffinityPriority(Priority):
    """Prefers domains by the weights of pods' preferences, the pod's own and placed pods'."""

    name: ClassVar[str] = names.INTER_POD_AFFINITY_PRIORITY
    formula: ClassVar[str] = "10 × (raw − min(lowest, 0)) ÷ (max(highest, 0) − min(lowest, 0))"

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The sum of weights over the node's domains."""
        total = np.zeros(len(rows), np.int64)
        for _, weights in self._weights(state, rows):
            total += weights
        return total

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        return Terms.sum_of(
            Term(say("pods of the same {key}", key=key), int(weights[0]))
            for key, weights in self._weights(state, np.array([row], np.int64))
        )

    def _weights(self, state: CycleState, rows: IntArray) -> Iterator[tuple[str, IntArray]]:
        """For each term its topology key, and the weight of the pods that match, by row."""
        hard = self._arguments.get("hardPodAffinitySymmetricWeight")
        hard_weight = 1 if hard is None else int(hard)
        pod = state.pod
        namespace, labels = pod.pod.namespace, pod.pod.labels
        for terms, sign in ((pod.affinity.preferred, 1), (pod.affinity.preferred_anti, -1)):
            for term in terms:
                tally = self._table.pod_counts.counter(PodMatcher((_unweighted(term),))).tally
                key = term.topology_key
                yield key, self._weighed(key, tally, rows, sign * term.weight)
        for kind, sign in (
            (REQUIRED_AFFINITY, hard_weight),
            (PREFERRED_AFFINITY, 1),
            (PREFERRED_ANTI_AFFINITY, -1),
        ):
            for column in self._table.pod_counts.terms(kind):
                term = column.term
                if term.matches(namespace, labels):
                    weight = sign if kind == REQUIRED_AFFINITY else sign * term.weight
                    key = term.topology_key
                    yield key, self._weighed(key, column.tally, rows, weight)

    def _weighed(self, key: str, tally: Tally, rows: IntArray, weight: int) -> IntArray:
        found, _ = domain_counts(self._table, key, tally).on(self._table, rows)
        return found * weight

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """From the lowest (at most 0) to the highest (at least 0)."""
        low, high = min(int(scores.min()), 0), max(int(scores.max()), 0)
        if high == low:
            return np.zeros_like(scores)
        return (float(MAX_PRIORITY) * ((scores - low) / float(high - low))).astype(np.int64)


def _unweighted(term: AffinityTerm) -> AffinityTerm:
    return AffinityTerm(
        namespaces=term.namespaces,
        selector=term.selector,
        topology_key=term.topology_key,
        namespace_selector=term.namespace_selector,
    )
