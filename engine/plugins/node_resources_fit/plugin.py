"""Room for the pod's requests. Upstream: plugins/noderesources/fit.go and *_allocated.go."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.explaining.amounts import format_amount
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.fixes import SmallestFix
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import MAX_NODE_SCORE, Code, CycleState, Detail, Plugin, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import CPU, MEMORY, NodeTable
from engine.framework.nodes.nominated import Reserved
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed
from engine.framework.registrations import Registration
from engine.framework.unprepared import Unprepared
from engine.kernel.sentences import Sentence, say, verbatim
from engine.objects.pods.pod_resources import is_extended_resource_name
from engine.plugins.dynamic_resources.allocation.devices import DEVICE_CLASS
from engine.plugins.dynamic_resources.allocation.extended import ListedClasses
from engine.plugins.node_resources_fit.arguments import check_arguments
from engine.plugins.node_resources_fit.changes import ask_for_less, room_changes
from engine.plugins.node_resources_fit.events import events_of
from engine.plugins.node_resources_fit.facts import explain_resources
from engine.plugins.node_resources_fit.room import Room, asked_amounts, shortage
from engine.plugins.node_resources_fit.score import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    STRATEGIES,
    LeastAllocated,
    ScoredResource,
    broken_linear,
    is_passed_over,
    resource_weights,
    shape_points,
)
from engine.plugins.node_resources_fit.signature import ResourceSigner

_TOO_MANY_PODS = 1
_UNRESOLVABLE = 1 << 62
_NO_COLUMNS: frozenset[int] = frozenset()
_CPU_AND_MEMORY: tuple[Mapping[str, Any], ...] = (
    {"name": "cpu", "weight": 1},
    {"name": "memory", "weight": 1},
)


class NodeResourcesFit(Plugin):
    """Refuses nodes without room, and scores the others by how full they would be.

    The code of a refused node is a set of bits: 1 for the pod count, then one per requested
    resource in the order of `wanted`, and the top bit where even an empty node is too small.
    """

    name: ClassVar[str] = names.NODE_RESOURCES_FIT
    family: ClassVar[str] = "resources"
    is_local: ClassVar[bool] = True
    check_arguments = staticmethod(check_arguments)
    unprepared = Unprepared(
        filter='error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    )

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        self._classes = ListedClasses(handle.listers)
        # v1.36: what a DeviceClass stands for and a node does not have is left to DynamicResources.
        self._delegates: bool = arguments.get("delegates_to_devices", False)
        self._signer = ResourceSigner(arguments, handle)
        self.may_sign = self._signer.may_sign
        self._known: dict[int, list[tuple[int, int]]] = {}
        self._ignored: tuple[str, ...] = tuple(arguments.get("ignoredResources") or ())
        self._ignored_groups: tuple[str, ...] = tuple(arguments.get("ignoredResourceGroups") or ())
        strategy: Mapping[str, Any] = arguments.get("scoringStrategy") or {}
        self.strategy: str = strategy.get("type") or LEAST_ALLOCATED
        if self.strategy not in STRATEGIES:
            raise ValueError(f"scoringStrategy.type: {self.strategy!r} is not one of {STRATEGIES}")
        self.weights = resource_weights(strategy.get("resources") or _CPU_AND_MEMORY)
        # v1.20 tries evictions even when the empty node would be too small.
        self._gives_up: bool = arguments.get("gives_up_too_small", True)
        # v1.20 compares cpu, memory and disk even when the pod requests only other resources.
        self._compares_all: bool = arguments.get("compares_all", False)
        self._is_plain = [name for name, _ in self.weights] == ["cpu", "memory"]
        self._plain = [weight for _, weight in self.weights]
        ratio: Mapping[str, Any] = strategy.get("requestedToCapacityRatio") or {}
        # Shapes score up to 10.
        self._shape = [
            (utilization, score * MAX_NODE_SCORE // 10)
            for utilization, score in shape_points(ratio.get("shape") or ())
        ]

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The resources that are insufficient, as bits."""
        table = self._table
        codes = (table.pod_count[rows] + 1 > table.allowed_pods[rows]).astype(np.int64)
        delegated = self._delegated(state)
        for bit, (column, amount) in enumerate(self.wanted(state), 1):
            allocatable = table.allocatable[column][rows]
            short = amount > allocatable - table.requested[column][rows]
            hopeless = amount > allocatable
            if column in delegated:
                short &= allocatable != 0
                hopeless &= allocatable != 0
            codes |= short.astype(np.int64) << bit
            codes |= np.where(hopeless, _UNRESOLVABLE, 0)
        return codes

    def code_at(self, state: CycleState, row: int) -> int:
        """As `filter` for one row."""
        return self._code(state, row, None)

    def code_beside(self, state: CycleState, row: int, reserved: Reserved) -> int:
        """See `RoomFilter`."""
        return self._code(state, row, reserved)

    def _code(self, state: CycleState, row: int, reserved: Reserved | None) -> int:
        # First, for a resource that is new gets a column.
        wanted = self.wanted(state)
        table = self._table
        requested, allocatable = table.requested, table.allocatable
        taken = table.pod_count.item(row)
        if reserved is not None:
            taken += reserved.pods.item(row)
        code = int(taken + 1 > table.allowed_pods.item(row))
        for bit, (column, amount) in enumerate(wanted, 1):
            most = allocatable.item(column, row)
            if not most and column in self._delegated(state):
                continue
            used = requested.item(column, row)
            if reserved is not None:
                used += reserved.requested.item(column, row)
            code |= (amount > most - used) << bit
            if amount > most:
                code |= _UNRESOLVABLE
        return code

    def wanted(self, state: CycleState) -> list[tuple[int, int]]:
        """(column, amount) of each request; the same for every pod of a template."""
        number = state.template.number
        wanted = self._known.get(number)
        if wanted is None:
            fit = state.pod.resources.fit
            asked = (
                asked_amounts(self._table, fit) if self._compares_all else self._table.amounts(fit)
            )
            wanted = self._known[number] = [pair for pair in asked if not self._is_ignored(pair[0])]
        return wanted

    def kept(self, state: CycleState) -> Iterator[Sentence]:
        """See `Keeps`: what the pod requests. Upstream: computePodResourceRequest()."""
        for column, amount in self.wanted(state):
            name = self._table.resource_names[column]
            yield verbatim(f"{name} {format_amount(name, amount)}")

    def _delegated(self, state: CycleState) -> frozenset[int]:
        """The columns of resources that devices may provide. Upstream: shouldDelegateResourceToDRA()."""
        if not self._delegates or not self._listers.has(DEVICE_CLASS):
            return _NO_COLUMNS
        provided = self._classes.by_resource
        names = self._table.resource_names
        return frozenset(column for column, _ in self.wanted(state) if names[column] in provided)

    @property
    def resources_of_classes(self) -> Container[str] | None:
        """What may be left to devices; None where nothing is (DRAExtendedResource)."""
        return self._classes.by_resource if self._delegates else None

    def _is_ignored(self, column: int) -> bool:
        name = self._table.resource_names[column]
        if not is_extended_resource_name(name):
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups

    def row_filter(self, state: CycleState) -> Room | None:
        """`filter` without the reasons, for the state's template; None where devices may help."""
        if self._delegated(state):
            return None
        return Room(self._table, self.wanted(state))

    def explain(self, state: CycleState, code: int) -> Status:
        """One reason per missing resource."""
        reasons: list[str] = ["Too many pods"] if code & _TOO_MANY_PODS else []
        for bit, (column, _) in enumerate(self.wanted(state), 1):
            if code >> bit & 1:
                reasons.append(f"Insufficient {self._table.resource_names[column]}")
        is_hopeless = bool(code & _UNRESOLVABLE) and self._gives_up
        verdict = Code.UNRESOLVABLE if is_hopeless else Code.UNSCHEDULABLE
        return Status(verdict, tuple(reasons), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """For each missing resource: requested, used, allocatable, and how much is short."""
        wanted = [pair for bit, pair in enumerate(self.wanted(state), 1) if code >> bit & 1]
        return shortage(self._table, row, wanted, too_many_pods=bool(code & _TOO_MANY_PODS))

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """By strategy, with defaults for containers that request nothing."""
        plain = self.row_score(state)
        if plain is not None:
            return plain.score(rows)
        return self._mean(self._resources(state, rows), len(rows))

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`: for each resource how much would be used, of how much, and its score."""
        terms: list[Term] = []
        found = list(self._resources(state, np.array([row], np.int64)))
        for one in found:
            unit = "m" if one.name == "cpu" else ""
            terms += [
                Term(
                    say("{resource} used with the pod", resource=one.name), int(one.used[0]), unit
                ),
                Term(
                    say("{resource} allocatable", resource=one.name), int(one.allocatable[0]), unit
                ),
                Term(say("{resource} score", resource=one.name), int(one.scores[0])),
            ]
            if one.weight != 1:
                terms.append(Term(say("{resource} weight", resource=one.name), one.weight))
        return Terms(tuple(terms), int(self._mean(found, 1)[0]))

    def _resources(self, state: CycleState, rows: IntArray) -> Iterator[ScoredResource]:
        """The resources that count for the pod, each with its scores."""
        asked = state.pod.resources.scored
        for name, weight in self.weights:
            if is_passed_over(name, asked):
                continue
            column = self._table.resource(name)
            allocatable = self._table.allocatable[column][rows]
            used = _scored(self._table, column)[rows] + asked.get(name)
            scores = self._score_one(used, allocatable)
            yield ScoredResource(name, weight, used, allocatable, scores)

    def _mean(self, resources: Iterable[ScoredResource], number: int) -> IntArray:
        """The mean of the scores of all resources, by weight, for so many rows."""
        total = np.zeros(number, np.int64)
        weights = np.zeros(number, np.int64)
        for one in resources:
            counted = one.allocatable != 0
            if self.strategy == REQUESTED_TO_CAPACITY_RATIO:
                counted &= one.scores > 0
            total += np.where(counted, one.scores * one.weight, 0)
            weights += np.where(counted, one.weight, 0)
        if self.strategy == REQUESTED_TO_CAPACITY_RATIO:
            # Upstream: math.Round(float64(nodeScore) / float64(weightSum))
            mean = total / np.maximum(weights, 1)
            return np.where(weights > 0, np.floor(mean + 0.5), 0).astype(np.int64)
        return np.where(weights > 0, total // np.maximum(weights, 1), 0)

    def row_score(self, state: CycleState) -> LeastAllocated | None:
        """`score` for the state's template, where it is the default: of cpu and memory only."""
        if not self._is_plain or self.strategy != LEAST_ALLOCATED:
            return None
        resources = state.pod.resources
        cpu, memory = self._plain
        return LeastAllocated(
            self._table,
            ((CPU, cpu, resources.score_milli_cpu), (MEMORY, memory, resources.score_memory)),
        )

    def _score_one(self, used: IntArray, allocatable: IntArray) -> IntArray:
        capacity = np.maximum(allocatable, 1)
        if self.strategy == LEAST_ALLOCATED:
            return np.where(
                used > allocatable, 0, (allocatable - used) * MAX_NODE_SCORE // capacity
            )
        if self.strategy == MOST_ALLOCATED:
            return np.minimum(used, allocatable) * MAX_NODE_SCORE // capacity
        utilization = np.where(
            (allocatable == 0) | (used > allocatable), 100, used * 100 // capacity
        )
        return broken_linear(self._shape, utilization)

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_resources(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return room_changes(refusals)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return self._signer.sign(pod)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return events_of(self)

    def smallest_fix(
        self, pod: PodInfo, node: str, numbers: Mapping[str, Any]
    ) -> SmallestFix | None:
        """See `Fixes`."""
        return ask_for_less(pod, node, numbers)


def _scored(table: NodeTable, column: int) -> IntArray:
    return table.scored[column] if column <= MEMORY else table.requested[column]
