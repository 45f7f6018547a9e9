"""The dry run of a preemption on one node: evict all pods of lower priority, then reprieve some.

Upstream: plugins/defaultpreemption/default_preemption.go SelectVictimsOnNode().
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engine.framework.framework import FITS, Code, CycleState, Status
from engine.framework.nodes.nominated import Nominated
from engine.framework.pods.pod_info import PodInfo
from engine.framework.rules.preemption import PreemptionRules
from engine.framework.runtime import Framework
from engine.scheduler.preemption.budgets import Budgets
from engine.scheduler.preemption.go_sort import go_sorted
from engine.scheduler.preemption.trace_steps import Asked, DryRunMade
from engine.scheduler.preemption.victims import by_importance

NO_VICTIMS = Status(Code.UNRESOLVABLE, ("No preemption victims found for incoming pod",))


# The rules that preemption in columns follows; under others one node is tried after another.
COLUMN_RULES: Final = PreemptionRules(
    budgets_count_down=True,
    needs_victims=True,
    limits_candidates=True,
    sorts_victims=True,
    checks_policy=True,
    errors_fail=True,
    clears_without_candidates=True,
    gives_hopeless_up=True,
    goes_by_start=True,
    trusts_unseen=False,
    knows_its_victims=True,
    needs_evictions=True,
    spares_the_leaving=True,
)


@dataclass(slots=True)
class Candidate:
    """A node with room for the preemptor once the *victims* are evicted."""

    row: int
    node: str
    victims: list[PodInfo]
    reprieved: list[PodInfo]
    violations: int


class DryRun:
    """Finds the victims on one node with all filters, whatever they depend on."""

    def __init__(self, framework: Framework, rules: PreemptionRules, budgets: Budgets) -> None:
        self._framework = framework
        self._table = framework.handle.table
        self._rules = rules
        self._budgets = budgets

    def select_victims(
        self,
        state: CycleState,
        row: int,
        nominated: Nominated,
        known: tuple[int, int] = (0, FITS),
    ) -> Candidate | Status:
        """The candidate, or why the node is not one. The table is unchanged when this returns.

        *known* is the verdict of the filters in the search, if they looked at the node. It stays as
        it is where there is nobody to evict.
        """
        lower = [pod for pod in self._table.listed(row) if pod.priority < state.pod.priority]
        if not lower and self._rules.needs_victims:
            return NO_VICTIMS
        if not lower and known[0]:
            return self._framework.explain(state, *known)
        before = dict(self._table.pods[row])
        ports = self._table.ports.at(row)
        waiting = [
            other
            for other in nominated.at(row)
            if other.priority >= state.pod.priority and other.uid != state.pod.uid
        ]
        off: dict[str, PodInfo] = {}
        state = self._framework.fork(state)
        try:
            for pod in lower:
                self._take_off(state, row, pod, off)
            refusal = self._verdict(state, row, waiting)
            if refusal is not None:
                self._write_step(state, row, [], refusal)
                return refusal
            return self._reprieve(state, row, lower, waiting, off)
        finally:
            for pod in off.values():
                self._table.add_pod(row, pod)
            self._table.pods[row] = before
            self._table.ports.reset(row, ports)

    def _reprieve(
        self,
        state: CycleState,
        row: int,
        lower: list[PodInfo],
        waiting: list[PodInfo],
        off: dict[str, PodInfo],
    ) -> Candidate | Status:
        """Put pods back, the most important first, as long as the preemptor fits."""
        if self._rules.goes_by_start:
            lower = by_importance(lower)
        else:
            lower = go_sorted(lower, _minus_priority)
        violating, others = self._budgets.split(lower)
        victims: list[PodInfo] = []
        reprieved: list[PodInfo] = []
        violations = 0
        asked: list[Asked] = []
        for pod in (*violating, *others):
            self._put_back(state, row, pod, off)
            refusal = self._verdict(state, row, waiting)
            if self._framework.trace is not None:
                asked.append(_asked(pod, pod in violating, refusal))
            if refusal is None:
                reprieved.append(pod)
                continue
            self._take_off(state, row, pod, off)
            victims.append(pod)
            violations += pod in violating
        self._write_step(state, row, asked)
        node = self._table.name(row)
        if not victims and self._rules.needs_evictions:
            # An extender refused the node, and no filter does.
            return Status(Code.ERROR, (f'expected at least one victim pod on node "{node}"',))
        if self._rules.sorts_victims and violating and others:
            victims = by_importance(victims)
        return Candidate(row, node, victims, reprieved, violations)

    def _write_step(
        self, state: CycleState, row: int, asked: list[Asked], refused: Status | None = None
    ) -> None:
        trace = self._framework.trace
        if trace is not None:
            reasons = refused.reasons if refused is not None else ()
            step = DryRunMade(self._table.name(row), tuple(asked), reasons)
            trace.add(state.pod.pod.id, step)

    def _take_off(self, state: CycleState, row: int, pod: PodInfo, off: dict[str, PodInfo]) -> None:
        self._table.remove_pod(row, pod.key)
        self._framework.update_state(state, pod, row, -1)
        off[pod.key] = pod

    def _put_back(self, state: CycleState, row: int, pod: PodInfo, off: dict[str, PodInfo]) -> None:
        self._table.add_pod(row, pod)
        self._framework.update_state(state, pod, row, 1)
        del off[pod.key]

    def _verdict(self, state: CycleState, row: int, waiting: list[PodInfo]) -> Status | None:
        """None if the pod fits the row as it is now, with and without the *waiting* pods."""
        found = (0, 0)
        if waiting:
            found = self._framework.filter_one_with(state, row, waiting)
        if found[0] == 0:
            found = self._framework.filter_one(state, row)
        return None if found[0] == 0 else self._framework.explain(state, *found)


def _asked(pod: PodInfo, violates: bool, refusal: Status | None) -> Asked:
    reasons = () if refusal is None else refusal.reasons
    return Asked(pod.key, pod.priority, violates, refusal is None, reasons)


def _minus_priority(pod: PodInfo) -> int:
    return -pod.priority
