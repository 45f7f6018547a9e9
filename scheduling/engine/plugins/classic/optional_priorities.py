"""The priorities of v1.16 that a Policy can name. Upstream: pkg/scheduler/algorithm/priorities/."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from kscope.sim.objects.objects import Manifest, Pod
from kscope.sim.objects.pod_resources import is_scalar_resource_name
from kscope.sim.objects.quantity import milli_value, value
from kscope.sim.objects.selectors import LabelSelector, Requirement
from scheduling.engine import names
from scheduling.engine.framework.framework import SKIP, SUCCESS, CycleState, Plugin, Status
from scheduling.engine.framework.handle import Arguments, Handle
from scheduling.engine.framework.simple import NodeState, SimplePlugin
from scheduling.engine.nodes.arrays import Codes, IntArray
from scheduling.engine.nodes.listers import Listers
from scheduling.engine.nodes.node_table import CPU, MEMORY, NodeTable
from scheduling.engine.nodes.pod_counts import PodMatcher
from scheduling.engine.plugins.classic.classic_priorities import (
    MAX_PRIORITY,
    SelectorSpreadPriority,
)
from scheduling.engine.plugins.node_resources_fit import (
    broken_linear,
    resource_weights,
    shape_points,
)
from scheduling.engine.plugins.spreading.constraints import pods_matching
from scheduling.engine.pods.pod_info import AffinityTerm, PodInfo
from scheduling.engine.pods.pod_template import SpreadConstraint

# The shape and resources of a RequestedToCapacityRatioPriority without arguments.
_EMPTY_FIRST = ({"utilization": 0, "score": 10}, {"utilization": 100, "score": 0})
_CPU_AND_MEMORY = ({"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1})


class _Optional(Plugin):
    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        self._arguments = arguments


class ServiceSpreadingPriority(SelectorSpreadPriority):
    """The same as SelectorSpreadPriority.

    Upstream: its map function receives listers of services only, but uses the selectors in
    priorityMetadata, which are those of all kinds.
    """

    name: ClassVar[str] = names.SERVICE_SPREADING_PRIORITY


def service_selectors(pod: PodInfo, listers: Listers) -> list[LabelSelector]:
    """The selectors of the services that select the pod. Upstream: GetPodServices()."""
    found: list[LabelSelector] = []
    for service in listers.in_namespace("Service", pod.pod.namespace):
        pairs: dict[str, str] = service.spec.get("selector") or {}
        if pairs and all(pod.pod.labels.get(key) == value for key, value in pairs.items()):
            found.append(
                LabelSelector(tuple(Requirement(key, "In", (pairs[key],)) for key in sorted(pairs)))
            )
    return found


class ServiceAntiAffinityPriority(_Optional):
    """Spreads the pods of a service over the values of a label. Arguments: label."""

    name: ClassVar[str] = names.SERVICE_ANTI_AFFINITY_PRIORITY

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """How many pods of the pod's first service are on the node."""
        return service_pods(state.pod, self._listers, self._table)[rows]

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Few in the node's domain, high score; a node without the label gets 0."""
        codes = self._table.topology(str(self._arguments.get("label") or "")).codes[rows]
        return spread_scores(codes, scores, float(MAX_PRIORITY)).astype(np.int64)


def service_pods(pod: PodInfo, listers: Listers, table: NodeTable) -> IntArray:
    """How many live pods of the pod's first service are on each row."""
    selectors = service_selectors(pod, listers)
    if not selectors:
        return np.zeros(table.capacity, np.int64)
    term = AffinityTerm(
        namespaces=frozenset((pod.pod.namespace,)),
        selector=selectors[0],
        topology_key="",
        namespace_selector=None,
    )
    counter = table.pod_counts.counter(PodMatcher((term,), live_only=True))
    return counter.tally.counts.astype(np.int64)


def spread_scores(codes: Codes, counts: IntArray, highest: float) -> npt.NDArray[np.float64]:
    """*highest* where a domain has no pods, 0 where all are or the node is in none."""
    total = int(counts.sum())
    labelled = codes >= 0
    if total == 0 or not labelled.any():
        return np.where(labelled, highest, 0.0)
    per_value = np.bincount(codes[labelled], weights=counts[labelled])
    share = (total - per_value[np.where(labelled, codes, 0)]) / float(total)
    return np.where(labelled, highest * share, 0.0)


class NodeLabelPriority(SimplePlugin):
    """Prefers nodes that have a label, or nodes that do not. Arguments: label, presence."""

    name: ClassVar[str] = names.NODE_LABEL_PRIORITY
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, pod: Pod, node: NodeState) -> int:
        """10 or 0."""
        has_label = str(self.arguments.get("label") or "") in node.labels
        return MAX_PRIORITY if has_label == bool(self.arguments.get("presence")) else 0


class RequestedToCapacityRatioPriority(_Optional):
    """The weighted mean of a function of the utilization of resources.

    Arguments: shape, resources, and averages_all, as in v1.11, which had cpu and memory only.
    """

    name: ClassVar[str] = names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY
    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        super().__init__(arguments, handle)
        self._shape = shape_points(arguments.get("shape") or _EMPTY_FIRST)
        # If a resource occurs twice the last weight counts, as in a Go map.
        self._weights = dict(resource_weights(arguments.get("resources") or _CPU_AND_MEMORY))
        self._averages_all = bool(arguments.get("averages_all"))

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """Shape scores are 0 to 10, without scaling. Upstream: buildRequestedToCapacityRatio…()."""
        total = np.zeros(len(rows), np.int64)
        weights = np.zeros(len(rows), np.int64)
        for name, weight in self._weights.items():
            scores = broken_linear(self._shape, self._utilization(state.pod, name, rows))
            # A resource with score 0 does not count.
            counted = (scores > 0) | self._averages_all
            total += np.where(counted, scores * weight, 0)
            weights += np.where(counted, weight, 0)
        if self._averages_all:
            return total // weights
        # Upstream: math.Round(float64(nodeScore) / float64(weightSum))
        mean = np.floor(total / np.where(weights == 0, 1, weights) + 0.5)
        return np.where(weights == 0, 0, mean).astype(np.int64)

    def _utilization(self, pod: PodInfo, name: str, rows: IntArray) -> IntArray:
        """Percent used; 100 where the node has none of the resource, or not enough."""
        table, resources = self._table, pod.resources
        # Upstream: calculateResourceAllocatableRequest(), whose pod is the sum of its containers.
        if name in ("cpu", "memory"):
            column = CPU if name == "cpu" else MEMORY
            used = table.scored[column][rows]
            used = used + (resources.score_milli_cpu if column == CPU else resources.score_memory)
        elif name == "ephemeral-storage" or is_scalar_resource_name(name):
            column = table.resource(name)
            used = table.requested[column][rows] + resources.requested.get(name)
        else:
            return np.full(len(rows), 100, np.int64)
        capacity = table.allocatable[column][rows]
        free = (capacity - used) * 100 // np.maximum(capacity, 1)
        return np.where((capacity == 0) | (used > capacity), 100, 100 - free)


class ResourceLimitsPriority(SimplePlugin):
    """Prefers nodes whose allocatable covers the pod's limits (alpha)."""

    name: ClassVar[str] = names.RESOURCE_LIMITS_PRIORITY

    def score(self, pod: Pod, node: NodeState) -> int:
        """1 where the cpu or the memory limit fits, else 0."""
        allocatable = node.allocatable
        limits = zip(("cpu", "memory"), _limits(pod), strict=True)
        return int(any(0 < limit <= allocatable[name] for name, limit in limits))


def _limits(pod: Pod) -> tuple[int, int]:
    """Cpu in milli and memory: the containers' sum, or more for an init container."""
    cpu = memory = 0
    containers: list[Manifest] = pod.spec.get("containers") or []
    for container in containers:
        more_cpu, more_memory = _container_limits(container)
        cpu, memory = cpu + more_cpu, memory + more_memory
    inits: list[Manifest] = pod.spec.get("initContainers") or []
    for container in inits:
        init_cpu, init_memory = _container_limits(container)
        cpu, memory = max(cpu, init_cpu), max(memory, init_memory)
    return cpu, memory


def _container_limits(container: Manifest) -> tuple[int, int]:
    resources: Manifest = container.get("resources") or {}
    limits: dict[str, Any] = resources.get("limits") or {}
    return milli_value(limits.get("cpu") or 0), value(limits.get("memory") or 0)


class EvenPodsSpreadPriority(_Optional):
    """Soft topology spread constraints (alpha). Upstream: even_pods_spread.go (priorities)."""

    name: ClassVar[str] = names.EVEN_PODS_SPREAD_PRIORITY

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Without soft constraints there is nothing to score."""
        soft = [constraint for constraint in state.template.spread if not constraint.is_hard]
        state.data[self.name] = soft
        return SUCCESS if soft else SKIP

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """Matching pods in the node's domains; -1 for a node that lacks a label."""
        soft = cast("list[SpreadConstraint]", state.data[self.name])
        table = self._table
        labelled = np.zeros(table.capacity, np.bool_)
        labelled[table.active] = True
        for constraint in soft:
            labelled &= table.topology(constraint.topology_key).codes >= 0
        counted = labelled.copy()
        if not state.template.required_affinity.is_empty:
            counted &= table.matching(state.template.required_affinity)
        total = np.zeros(len(rows), np.int64)
        for constraint in soft:
            column = table.topology(constraint.topology_key)
            per_domain = np.zeros(len(column.values) + 1, np.int64)
            if constraint.selector is not None:
                # Whatever their namespace, and also while they are being deleted.
                matcher = pods_matching(constraint.selector, None, live_only=False)
                counts = table.pod_counts.counter(matcher).tally.counts
                np.add.at(per_domain, column.codes[counted], counts[counted])
            total += per_domain[column.codes[rows]]
        return np.where(labelled[rows], total, -1)

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The sum over all nodes less the node's own, against the best of them."""
        qualified = scores >= 0
        if not qualified.any():
            return np.zeros_like(scores)
        total, low = int(scores[qualified].sum()), int(scores[qualified].min())
        if total == low:
            return np.where(qualified, MAX_PRIORITY, 0)
        shares = float(MAX_PRIORITY) * ((total - scores) / float(total - low))
        return np.where(qualified, shares.astype(np.int64), 0)
