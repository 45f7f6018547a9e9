"""The priorities of v1.16: scores of 0 to 10. Upstream: pkg/scheduler/algorithm/priorities/."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import orjson
from numpy.typing import NDArray

from kscope.sim.input.any_case import in_any_case
from kscope.sim.objects.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from scheduling.engine import names
from scheduling.engine.framework.framework import CycleState, Plugin, default_normalize
from scheduling.engine.framework.handle import Arguments, Handle
from scheduling.engine.nodes.arrays import IntArray
from scheduling.engine.nodes.listers import Listers
from scheduling.engine.nodes.node_table import CPU, MEMORY
from scheduling.engine.nodes.pod_counts import (
    PREFERRED_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
    REQUIRED_AFFINITY,
    PodMatcher,
    Tally,
)
from scheduling.engine.plugins.image_locality import (
    MAX_CONTAINER_THRESHOLD,
    MIN_THRESHOLD,
    normalized_image_name,
)
from scheduling.engine.plugins.pod_affinity.domains import domain_counts
from scheduling.engine.plugins.taint_toleration import soft_taints
from scheduling.engine.pods.pod_info import AffinityTerm, PodInfo

MAX_PRIORITY = 10

_ZONE_WEIGHTING = 2.0 / 3.0
_REGION = "failure-domain.beta.kubernetes.io/region"
_ZONE = "failure-domain.beta.kubernetes.io/zone"
_AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"


class _Priority(Plugin):
    """A priority that reads the node table and the listers."""

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        self._arguments = arguments

    def _used(self, state: CycleState, rows: IntArray) -> tuple[IntArray, IntArray]:
        """What cpu and memory would be requested, with the defaults for what requests nothing."""
        resources = state.pod.resources
        return (
            self._table.scored[CPU].take(rows) + resources.score_milli_cpu,
            self._table.scored[MEMORY].take(rows) + resources.score_memory,
        )

    def _allocatable(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        return self._table.allocatable[CPU][rows], self._table.allocatable[MEMORY][rows]


class LeastRequestedPriority(_Priority):
    """Prefers empty nodes."""

    name: ClassVar[str] = names.LEAST_REQUESTED_PRIORITY
    is_local: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The mean of both free shares."""
        cpu, memory = (
            _least(used, allocatable)
            for used, allocatable in zip(
                self._used(state, rows), self._allocatable(rows), strict=True
            )
        )
        return (cpu + memory) // 2


class MostRequestedPriority(_Priority):
    """Prefers full nodes, for clusters that shrink."""

    name: ClassVar[str] = names.MOST_REQUESTED_PRIORITY
    is_local: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The mean of both used shares."""
        cpu, memory = (
            _most(used, allocatable)
            for used, allocatable in zip(
                self._used(state, rows), self._allocatable(rows), strict=True
            )
        )
        return (cpu + memory) // 2


def _least(used: IntArray, allocatable: IntArray) -> IntArray:
    free = (allocatable - used) * MAX_PRIORITY // np.maximum(allocatable, 1)
    return np.where((allocatable == 0) | (used > allocatable), 0, free)


def _most(used: IntArray, allocatable: IntArray) -> IntArray:
    share = used * MAX_PRIORITY // np.maximum(allocatable, 1)
    return np.where((allocatable == 0) | (used > allocatable), 0, share)


class BalancedResourceAllocation(_Priority):
    """Prefers nodes whose cpu and memory would be used to the same degree, in float64."""

    name: ClassVar[str] = names.BALANCED_RESOURCE_ALLOCATION
    is_local: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """10 minus ten times the difference; 0 for a node that would be full."""
        cpu, memory = (
            _fraction(used, allocatable)
            for used, allocatable in zip(
                self._used(state, rows), self._allocatable(rows), strict=True
            )
        )
        scores = ((1 - np.abs(cpu - memory)) * float(MAX_PRIORITY)).astype(np.int64)
        return np.where((cpu >= 1) | (memory >= 1), 0, scores)


def _fraction(used: IntArray, allocatable: IntArray) -> NDArray[np.float64]:
    return np.where(allocatable == 0, 1.0, used / np.maximum(allocatable, 1))


class TaintTolerationPriority(_Priority):
    """Prefers nodes with few untolerated soft taints."""

    name: ClassVar[str] = names.TAINT_TOLERATION_PRIORITY
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The number of untolerated PreferNoSchedule taints."""
        return soft_taints(state.template, self._table.taints.groups)[
            self._table.taints.codes[rows]
        ]

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Fewer taints, higher score."""
        return default_normalize(scores, MAX_PRIORITY, reverse=True)


class NodeAffinityPriority(_Priority):
    """Prefers the nodes that the pod prefers."""

    name: ClassVar[str] = names.NODE_AFFINITY_PRIORITY
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The sum of the matching weights; matchFields were not looked at then."""
        scores = np.zeros(len(rows), np.int64)
        for weight, selector in state.template.preferred_nodes:
            if weight:
                scores += weight * self._table.matching(_expressions_only(selector))[rows]
        return scores

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The best node gets 10."""
        return default_normalize(scores, MAX_PRIORITY, reverse=False)


def _expressions_only(selector: NodeSelector) -> NodeSelector:
    return NodeSelector(tuple(NodeSelectorTerm(term.expressions) for term in selector.terms))


class ImageLocalityPriority(_Priority):
    """Prefers nodes that already hold the images of the pod's containers.

    How many nodes hold an image is what the cache knew when the node last reported.
    """

    name: ClassVar[str] = names.IMAGE_LOCALITY_PRIORITY
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """0 up to 23 MiB, 10 from 1000 MiB."""
        if not self._arguments.get("scales_by_spread", True):
            return self._by_size(state.pod, rows)
        table, total = self._table, len(self._table)
        held = np.zeros(table.capacity, np.int64)
        for container in state.pod.pod.containers:
            name = normalized_image_name(container.get("image") or "")
            found = table.images.states.get(name)
            if found is None:
                continue
            for row in found.rows:
                held[row] += int(found.size * (table.images.held[row][name] / total))
        clipped = np.clip(held[rows], MIN_THRESHOLD, MAX_CONTAINER_THRESHOLD)
        return MAX_PRIORITY * (clipped - MIN_THRESHOLD) // (MAX_CONTAINER_THRESHOLD - MIN_THRESHOLD)

    def _by_size(self, pod: PodInfo, rows: IntArray) -> IntArray:
        """By the sizes that each node itself reports: at least 1 from 23 MiB on.

        Upstream: v1.11 calculateScoreFromSize().
        """
        images = [normalized_image_name(one.get("image") or "") for one in pod.pod.containers]
        held = np.zeros(len(rows), np.int64)
        for place, row in enumerate(rows.tolist()):
            sizes = dict(self._table.node(row).image_sizes)
            held[place] = sum(sizes.get(name, 0) for name in images)
        span = MAX_CONTAINER_THRESHOLD - MIN_THRESHOLD
        scores = np.minimum(MAX_PRIORITY * (held - MIN_THRESHOLD) // span + 1, MAX_PRIORITY)
        return np.where(held < MIN_THRESHOLD, 0, scores)


class NodePreferAvoidPodsPriority(_Priority):
    """Avoids nodes whose annotation names the pod's controller."""

    name: ClassVar[str] = names.NODE_PREFER_AVOID_PODS_PRIORITY

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """10, or 0 for an avoided node."""
        scores = np.full(len(rows), MAX_PRIORITY, np.int64)
        owner = _controller_of(state.pod)
        if owner is None or owner.get("kind") not in ("ReplicationController", "ReplicaSet"):
            return scores
        for place, row in enumerate(rows.tolist()):
            text = self._table.node(row).annotations.get(_AVOID)
            if text and _avoids(text, owner):
                scores[place] = 0
        return scores


def _controller_of(pod: PodInfo) -> dict[str, Any] | None:
    return next((ref for ref in pod.pod.owner_references if ref.get("controller")), None)


def _avoids(text: str, owner: dict[str, Any]) -> bool:
    """Upstream: GetAvoidPodsFromNodeAnnotations(); an annotation that cannot be read avoids no pods."""
    owner_id = owner.get("kind") or "", owner.get("uid") or ""
    found: list[tuple[str, str]] = []
    try:
        avoided: dict[str, Any] = orjson.loads(text) or {}
        # All entries are read, because one that cannot be read makes the whole annotation void.
        for entry in in_any_case(avoided, "preferAvoidPods") or ():
            signature: dict[str, Any] = in_any_case(entry, "podSignature") or {}
            controller: dict[str, Any] = in_any_case(signature, "podController") or {}
            found.append(
                (in_any_case(controller, "kind") or "", in_any_case(controller, "uid") or "")
            )
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        return False
    return owner_id in found


class EqualPriority(_Priority):
    """Makes no difference."""

    name: ClassVar[str] = names.EQUAL_PRIORITY
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for every node."""
        return np.ones(len(rows), np.int64)


class InterPodAffinityPriority(_Priority):
    """Prefers domains by the weights of pods' preferences, the pod's own and placed pods'."""

    name: ClassVar[str] = names.INTER_POD_AFFINITY_PRIORITY

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The sum of weights over the node's domains."""
        hard = self._arguments.get("hardPodAffinitySymmetricWeight")
        hard_weight = 1 if hard is None else int(hard)
        pod = state.pod
        namespace, labels = pod.pod.namespace, pod.pod.labels
        total = np.zeros(len(rows), np.int64)
        for terms, sign in ((pod.affinity.preferred, 1), (pod.affinity.preferred_anti, -1)):
            for term in terms:
                tally = self._table.pod_counts.counter(PodMatcher((_unweighted(term),))).tally
                total += self._weighed(term.topology_key, tally, rows, sign * term.weight)
        for kind, sign in (
            (REQUIRED_AFFINITY, hard_weight),
            (PREFERRED_AFFINITY, 1),
            (PREFERRED_ANTI_AFFINITY, -1),
        ):
            for column in self._table.pod_counts.terms(kind):
                term = column.term
                if term.matches(namespace, labels):
                    weight = sign if kind == REQUIRED_AFFINITY else sign * term.weight
                    total += self._weighed(term.topology_key, column.tally, rows, weight)
        return total

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


class SelectorSpreadPriority(_Priority):
    """Spreads the pods of one service or controller over nodes and zones.

    Upstream: selector_spreading.go.
    """

    name: ClassVar[str] = names.SELECTOR_SPREAD_PRIORITY

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
        """The codes of a label, where the empty value counts as none."""
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
