"""How full a node would be, before v1.18: priorities of 0 to 10.

Upstream: priorities/{least_requested,most_requested,requested_to_capacity_ratio,resource_limits}.go
(v1.16).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import CycleState
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import CPU, MEMORY
from engine.framework.pods.pod_info import PodInfo
from engine.framework.simple import NodeState, SimplePlugin
from engine.kernel.sentences import say
from engine.objects.objects import Manifest, Pod
from engine.objects.pods.pod_resources import is_scalar_resource_name
from engine.objects.values.quantity import milli_value, value
from engine.plugins.classic import MAX_PRIORITY, Priority
from engine.plugins.node_resources_fit.score import broken_linear, resource_weights, shape_points

# The shape and resources of a RequestedToCapacityRatioPriority without arguments.
_EMPTY_FIRST = ({"utilization": 0, "score": 10}, {"utilization": 100, "score": 0})
_CPU_AND_MEMORY = ({"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1})


class LeastRequestedPriority(Priority):
    """Prefers empty nodes."""

    name: ClassVar[str] = names.LEAST_REQUESTED_PRIORITY
    is_local: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The mean of both free shares."""
        return _mean(*self._shares(state, rows))

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        shares = self._shares(state, np.array([row], np.int64))
        return _terms(self._usage(state, row), *shares)

    def _shares(self, state: CycleState, rows: IntArray) -> tuple[IntArray, IntArray]:
        used, allocatable = self._used(state, rows), self._allocatable(rows)
        return _least(used[0], allocatable[0]), _least(used[1], allocatable[1])


class MostRequestedPriority(Priority):
    """Prefers full nodes, for clusters that shrink."""

    name: ClassVar[str] = names.MOST_REQUESTED_PRIORITY
    is_local: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The mean of both used shares."""
        return _mean(*self._shares(state, rows))

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        shares = self._shares(state, np.array([row], np.int64))
        return _terms(self._usage(state, row), *shares)

    def _shares(self, state: CycleState, rows: IntArray) -> tuple[IntArray, IntArray]:
        used, allocatable = self._used(state, rows), self._allocatable(rows)
        return _most(used[0], allocatable[0]), _most(used[1], allocatable[1])


def _mean(cpu: IntArray, memory: IntArray) -> IntArray:
    return (cpu + memory) // 2


def _terms(usage: Iterable[Term], cpu: IntArray, memory: IntArray) -> Terms:
    """The mean of one row's shares, after what they come from."""
    shares = Term(say("cpu score"), int(cpu[0])), Term(say("memory score"), int(memory[0]))
    return Terms((*usage, *shares), int(_mean(cpu, memory)[0]))


def _least(used: IntArray, allocatable: IntArray) -> IntArray:
    free = (allocatable - used) * MAX_PRIORITY // np.maximum(allocatable, 1)
    return np.where((allocatable == 0) | (used > allocatable), 0, free)


def _most(used: IntArray, allocatable: IntArray) -> IntArray:
    share = used * MAX_PRIORITY // np.maximum(allocatable, 1)
    return np.where((allocatable == 0) | (used > allocatable), 0, share)


class RequestedToCapacityRatioPriority(Priority):
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

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`: the utilization of each resource."""
        rows = np.array([row], np.int64)
        terms = [
            Term(
                say("{name} utilization", name=name),
                int(self._utilization(state.pod, name, rows)[0]),
                "%",
            )
            for name in self._weights
        ]
        return Terms(tuple(terms), int(self.score(state, rows)[0]))

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

    def score(self, pod: Pod, node: NodeState) -> Terms:
        """1 where the cpu or the memory limit fits, else 0."""
        allocatable = node.allocatable
        limits = zip(("cpu", "memory"), _limits(pod), strict=True)
        fits = any(0 < limit <= allocatable[name] for name, limit in limits)
        return Terms.sum_of((Term(say("some limit fits"), int(fits)),))


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
