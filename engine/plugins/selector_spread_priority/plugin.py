"""Spreads the pods of services and controllers. Upstream: priorities/selector_spreading.go (v1.16)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.pod_counts import PodMatcher
from engine.framework.pods.pod_info import AffinityTerm, PodInfo
from engine.kernel.sentences import say
from engine.objects.selectors import LabelSelector, Requirement
from engine.plugins.classic import MAX_PRIORITY, Priority

_ZONE_WEIGHTING = 2.0 / 3.0
_REGION = "failure-domain.beta.kubernetes.io/region"
_ZONE = "failure-domain.beta.kubernetes.io/zone"


class SelectorSpreadPriority(Priority):
    """Spreads the pods of one service or controller over nodes and zones.

    Upstream: selector_spreading.go.
    """

    name: ClassVar[str] = names.SELECTOR_SPREAD_PRIORITY
    formula: ClassVar[str] = (
        "10 × (highest − raw) ÷ highest; with zones ⅓ of it and ⅔ of the same for the zone"
    )

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """How many pods of the same services and controllers are on the node."""
        selectors = self.selectors(state.pod)
        if not selectors:
            return np.zeros(len(rows), np.int64)
        namespace = frozenset((state.pod.pod.namespace,))
        terms = tuple(
            AffinityTerm(
                namespaces=namespace, selector=selector, topology_key="", namespace_selector=None
            )
            for selector in selectors
        )
        any_term = bool(self._arguments.get("matches_any"))
        matcher = PodMatcher(terms, live_only=True, any_term=any_term)
        counter = self._table.pod_counts.counter(matcher)
        return counter.tally.counts[rows].astype(np.int64)

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        (raw,) = self.score(state, np.array([row], np.int64)).tolist()
        return Terms.sum_of((Term(say("pods of the same services and controllers"), raw),))

    def selectors(self, pod: PodInfo) -> list[LabelSelector]:
        """The selectors of what the pod belongs to."""
        return pod_selectors(pod, self._listers)

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Two thirds of the score come from the zone, where there are zones."""
        high = int(scores.max())
        result = np.full(len(rows), float(MAX_PRIORITY))
        if high > 0:
            result = float(MAX_PRIORITY) * ((high - scores) / float(high))
        zones, codes = np.unique(self._zones(rows), return_inverse=True)
        zoned = zones[codes] >= 0
        if zoned.any():
            per_zone = np.bincount(codes, weights=scores)
            high_zone = float(per_zone[zones >= 0].max())
            zone_score = np.full(len(rows), float(MAX_PRIORITY))
            if high_zone > 0:
                zone_score = float(MAX_PRIORITY) * ((high_zone - per_zone[codes]) / high_zone)
            mixed = result * (1.0 - _ZONE_WEIGHTING) + _ZONE_WEIGHTING * zone_score
            result = np.where(zoned, mixed, result)
        return result.astype(np.int64)

    def _zones(self, rows: IntArray) -> IntArray:
        """A number per region and zone; -1 for a node with neither. Upstream: GetZoneKey()."""
        regions = self._filled(_REGION, rows)
        zones = self._filled(_ZONE, rows)
        width = len(self._table.topology(_ZONE).values) + 1
        key = (regions + 1) * width + zones + 1
        return np.where((regions < 0) & (zones < 0), -1, key)

    def _filled(self, key: str, rows: IntArray) -> IntArray:
        """The codes of a label, where the empty value counts as no label."""
        column = self._table.topology(key)
        codes = column.codes[rows].astype(np.int64)
        empty = column.index.get("")
        return codes if empty is None else np.where(codes == empty, -1, codes)


def pod_selectors(pod: PodInfo, listers: Listers) -> list[LabelSelector]:
    """The selectors of every service, controller and set that selects the pod.

    Upstream: priorities/metadata.go getSelectors().
    """
    found: list[LabelSelector] = []
    labels = pod.pod.labels
    for kind in ("Service", "ReplicationController"):
        for obj in listers.in_namespace(kind, pod.pod.namespace):
            pairs: dict[str, str] = obj.spec.get("selector") or {}
            if pairs and all(labels.get(key) == value for key, value in pairs.items()):
                found.append(
                    LabelSelector(
                        tuple(Requirement(key, "In", (pairs[key],)) for key in sorted(pairs))
                    )
                )
    # Upstream: the listers of these two give a pod without labels nothing.
    for kind in ("ReplicaSet", "StatefulSet") if labels else ():
        for obj in listers.in_namespace(kind, pod.pod.namespace):
            selector = LabelSelector.parse(obj.spec.get("selector"))
            if not selector.empty and selector.matches(labels):
                found.append(selector)
    return found


class ServiceSpreadingPriority(SelectorSpreadPriority):
    """The same as SelectorSpreadPriority.

    Upstream: its map function receives listers of services only, but uses the selectors in
    priorityMetadata, which are those of all kinds.
    """

    name: ClassVar[str] = names.SERVICE_SPREADING_PRIORITY
