"""Evenly used nodes. Upstream: plugins/noderesources/balanced_allocation.go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import MAX_NODE_SCORE, SKIP, SUCCESS, CycleState, Plugin, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import CPU, MEMORY
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed
from engine.kernel.sentences import say
from engine.objects.pods.pod_resources import Resources
from engine.plugins.node_resources_balanced_allocation.arguments import check_arguments
from engine.plugins.node_resources_balanced_allocation.score import (
    Balance,
    Improvement,
    deviation,
    improvement,
)
from engine.plugins.node_resources_fit.score import is_passed_over, resource_weights
from engine.plugins.node_resources_fit.signature import ResourceSigner


class NodeResourcesBalancedAllocation(Plugin):
    """Prefers nodes whose resources would be used to the same degree.

    Since v1.36 a node's score is how much more evenly it would be used than it is now, from 50 to
    100: 75 means that nothing changes. Upstream computes in float64 and truncates to an int; so does this, in the same order.
    """

    name: ClassVar[str] = names.NODE_RESOURCES_BALANCED_ALLOCATION
    is_local: ClassVar[bool] = True
    check_arguments = staticmethod(check_arguments)

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        # v1.20: uses defaults for containers that request nothing, and gives a full node 0.
        self._counts_defaults: bool = arguments.get("counts_defaults", False)
        # v1.36: compares the node with the pod and without it.
        self._scores_improvement: bool = arguments.get("scores_improvement", False)
        self._signer = ResourceSigner(arguments, handle)
        self.may_sign = self._signer.may_sign
        default = ({"name": "cpu"}, {"name": "memory"})
        self._resources = [
            name for name, _ in resource_weights(arguments.get("resources") or default)
        ]

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """SKIP for a pod that requests none of the resources: its scores would mean nothing."""
        if self._counts_defaults:
            return SUCCESS
        return SUCCESS if self._asks_for_any(state) else SKIP

    def _asks_for_any(self, state: CycleState) -> bool:
        fit = state.pod.resources.fit
        return any(fit.get(name) for name in self._resources)

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """100 minus the standard deviation of the used fractions, in percent."""
        if self._counts_defaults:
            return self._with_defaults(state, rows)
        if not self._asks_for_any(state):
            # Such a pod gets here only when PreScore is disabled.
            return np.zeros(len(rows), np.int64)
        plain = self.row_score(state)
        if plain is not None:
            return plain.score(rows)
        fit = state.pod.resources.fit
        after = self._evenness(fit, rows, adds_pod=True)
        if not self._scores_improvement:
            return after
        return improvement(after, self._evenness(fit, rows, adds_pod=False))

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`: of each resource how much would be used, and how evenly that is."""
        rows = np.array([row], np.int64)
        raw = int(self.score(state, rows)[0])
        if not self._counts_defaults and not self._asks_for_any(state):
            return Terms((), raw)
        terms = [term for name in self._resources for term in self._usage(state, row, name)]
        if self._scores_improvement:
            fit = state.pod.resources.fit
            after, before = (
                int(self._evenness(fit, rows, adds_pod=adds_pod)[0]) for adds_pod in (True, False)
            )
            terms += [
                Term(say("evenness with the pod"), after),
                Term(say("evenness without it"), before),
            ]
            raw = improvement(after, before)
        return Terms(tuple(terms), raw)

    def _usage(self, state: CycleState, row: int, name: str) -> Iterator[Term]:
        resources, table = state.pod.resources, self._table
        if self._counts_defaults and name not in ("cpu", "memory"):
            return
        if not self._counts_defaults and is_passed_over(name, resources.fit):
            return
        column, unit = table.resource(name), "m" if name == "cpu" else ""
        used = table.requested.item(column, row) + resources.fit.get(name)
        if self._counts_defaults:
            asked = (resources.score_milli_cpu, resources.score_memory)[name == "memory"]
            used = table.scored.item(column, row) + asked
        yield Term(say("{name} used with the pod", name=name), used, unit)
        yield Term(say("{name} allocatable", name=name), table.allocatable.item(column, row), unit)

    def _evenness(self, fit: Resources, rows: IntArray, *, adds_pod: bool) -> IntArray:
        """How evenly each node is used, with the pod or without it; 50 to 100."""
        fractions, counted = self._fractions(fit, rows, adds_pod=adds_pod)
        number = counted.sum(axis=0)
        spread = np.zeros(len(rows))
        if len(fractions) == 2:
            pair = number == 2
            spread[pair] = np.abs((fractions[0][pair] - fractions[1][pair]) / 2)
        else:
            spread = deviation(fractions, counted, number)
        return ((1 - spread) * MAX_NODE_SCORE).astype(np.int64)

    def row_score(self, state: CycleState) -> Balance | None:
        """`score` for the state's template, where it is the default: of cpu and memory only."""
        if self._counts_defaults or self._resources != ["cpu", "memory"]:
            return None
        kind = Improvement if self._scores_improvement else Balance
        return kind(self._table, state.pod.resources.fit)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return self._signer.sign(pod)

    def _with_defaults(self, state: CycleState, rows: IntArray) -> IntArray:
        """Upstream: balancedResourceScorer() at release-1.20."""
        table, resources = self._table, state.pod.resources
        shares: list[NDArray[np.float64]] = []
        for column, amount in ((CPU, resources.score_milli_cpu), (MEMORY, resources.score_memory)):
            allocatable = table.allocatable[column].take(rows)
            used = table.scored[column].take(rows) + amount
            shares.append(np.where(allocatable == 0, 1.0, used / np.maximum(allocatable, 1)))
        spread = np.abs(shares[0] - shares[1])
        scores = ((1 - spread) * MAX_NODE_SCORE).astype(np.int64)
        return np.where((shares[0] >= 1) | (shares[1] >= 1), 0, scores)

    def _fractions(
        self, fit: Resources, rows: IntArray, *, adds_pod: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        table = self._table
        fractions = np.zeros((len(self._resources), len(rows)))
        counted = np.zeros((len(self._resources), len(rows)), np.bool_)
        for place, name in enumerate(self._resources):
            if is_passed_over(name, fit):
                continue
            amount = fit.get(name) if adds_pod else 0
            column = table.resource(name)
            allocatable = table.allocatable[column][rows]
            counted[place] = allocatable != 0
            used = table.requested[column][rows] + amount
            ratio = used / np.maximum(allocatable, 1)
            fractions[place] = np.where(counted[place], np.minimum(ratio, 1.0), 0.0)
        return fractions, counted
