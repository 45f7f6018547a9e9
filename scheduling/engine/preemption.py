"""Making room by evicting pods of lower priority.

Upstream: framework/preemption/preemption.go and plugins/defaultpreemption (1.34);
core/generic_scheduler.go Preempt() (1.16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kscope.sim.objects import ApiObject
from kscope.sim.rng import Stream
from kscope.sim.selectors import LabelSelector
from scheduling.engine import names
from scheduling.engine.framework import Code, CycleState, IntArray, Status
from scheduling.engine.handle import Handle
from scheduling.engine.messages import fit_error
from scheduling.engine.pod_info import PodInfo
from scheduling.engine.runtime import Framework, Nominated, Search, flattened
from scheduling.engine.victims import DryRuns, VictimColumns, importance, start_time

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."

# More nodes than this are dry-run as columns, where that gives the same answer.
_MANY_ROWS = 32
# And above this many candidates, only the chosen one is written out.
_MANY_CANDIDATES = 200
_FEW_NAMES = 10
_PRIORITY_OFFSET = 1 << 31
_NO_VICTIMS = Status(Code.UNRESOLVABLE, (NO_VICTIMS,))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionRules:
    """What differs between versions.

    `budgets_count_down`: victims of one node use a budget up together, not each alone.
    `needs_victims`: a node without pods of lower priority is no candidate.
    `limits_candidates`: on big clusters only some candidates are looked for, from a random start.
    `sorts_victims`: victims are put in order of importance again after the reprieve.
    """

    budgets_count_down: bool = True
    needs_victims: bool = True
    limits_candidates: bool = True
    sorts_victims: bool = True
    checks_policy: bool = True
    # How many candidates are looked for. Upstream: DefaultPreemptionArgs.
    candidate_percentage: int = 10
    min_candidates: int = 100


@dataclass(slots=True)
class Candidate:
    """One node that would do, and what it would cost."""

    row: int
    node: str
    victims: list[PodInfo]
    reprieved: list[PodInfo]
    violations: int


@dataclass(slots=True)
class Preemption:
    """What came of an attempt to preempt."""

    candidates: list[Candidate] = field(default_factory=list[Candidate])
    chosen: Candidate | None = None
    # The rungs of the choice: name → nodes still in the race.
    rungs: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    statuses: dict[str, Status] = field(default_factory=dict[str, Status])
    message: str = ""


class Evaluator:
    """Looks for the node where evictions would help most and hurt least."""

    def __init__(
        self,
        framework: Framework,
        handle: Handle,
        rules: PreemptionRules,
        ties: Stream | None = None,
    ) -> None:
        self._framework = framework
        self._table = handle.table
        self._listers = handle.listers
        self._rules = rules
        self._ties = ties
        self._columns = VictimColumns(handle.table)

    def preempt(self, search: Search, nominated: Nominated, nominated_node: str = "") -> Preemption:
        """Find victims for the pod that *search* found no node for."""
        refusal = self._not_eligible(search, nominated_node)
        if refusal:
            return Preemption(message=refusal)
        outcome = Preemption()
        rows = self._potential_rows(search)
        wanted = len(self._table)
        if self._rules.limits_candidates and self._ties is not None and len(rows):
            rows = np.roll(rows, -self._ties.below(len(rows)))
            share = len(self._table) * self._rules.candidate_percentage // 100
            wanted = min(max(share, self._rules.min_candidates), len(self._table))
        if self._only_lacks_room(search, rows):
            self._with_nominated(search, rows, wanted, nominated, outcome)
        else:
            self._one_by_one(search, rows, wanted, nominated, outcome)
        if outcome.chosen is None:
            outcome.message = self._fit_error(outcome)
        return outcome

    def _one_by_one(
        self,
        search: Search,
        rows: IntArray,
        wanted: int,
        nominated: Nominated,
        outcome: Preemption,
    ) -> None:
        """Upstream: DryRunPreemption()."""
        budgets = list(self._listers.all("PodDisruptionBudget"))
        harmless = False
        for row in rows.tolist():
            result = self._select_victims(search.state, row, budgets, nominated)
            if isinstance(result, Candidate):
                outcome.candidates.append(result)
                harmless |= result.violations == 0
            else:
                outcome.statuses[self._table.name(row)] = result
            if harmless and len(outcome.candidates) >= wanted:
                break
        if outcome.candidates:
            outcome.candidates.sort(key=_node_name)
            outcome.chosen = self._choose(outcome)

    def _with_nominated(
        self,
        search: Search,
        rows: IntArray,
        wanted: int,
        nominated: Nominated,
        outcome: Preemption,
    ) -> None:
        """The columns, while pods of at least this priority sit where they are nominated to.

        Where room is all that lacks, a node that fits with them fits without them as well; and they
        are too important to be among the victims.
        """
        on_trial, pods = flattened(nominated.on_rows(search.state.pod, rows))
        self._table.shift_requests(on_trial, pods, 1)
        try:
            self._as_columns(search, rows, wanted, outcome)
        finally:
            self._table.shift_requests(on_trial, pods, -1)

    def _only_lacks_room(self, search: Search, rows: IntArray) -> bool:
        """Whether the columns of victims answer for every row."""
        if len(rows) < _MANY_ROWS or self._rules != PreemptionRules():
            return False
        if self._listers.has("PodDisruptionBudget"):
            return False
        return self._framework.only_room_varies(search.state)

    def _as_columns(self, search: Search, rows: IntArray, wanted: int, outcome: Preemption) -> None:
        columns = self._columns
        columns.refresh()
        # Usually the first nodes give as many candidates as are wanted.
        runs = columns.dry_run(search.state.pod, rows[:wanted])
        if len(rows) > wanted and not runs.fits.all():
            runs = columns.dry_run(search.state.pod, rows)
        found = np.flatnonzero(runs.fits)
        if len(found) == 0:
            self._note_failures(search, runs, outcome)
            return
        kept = np.zeros(len(runs.rows), np.bool_)
        kept[found[:wanted]] = True
        left = kept
        shown = _MANY_CANDIDATES if len(found) <= _MANY_CANDIDATES else _FEW_NAMES
        for name, left in columns.cheapest(runs, kept):
            nodes = [self._table.name(row) for row in runs.rows[left][:shown].tolist()]
            outcome.rungs.append((name, sorted(nodes)))
        last = np.flatnonzero(left)
        best = int(last[np.argmin(self._table.name_rank[runs.rows[last]])])
        places = np.flatnonzero(kept).tolist()
        if len(places) > _MANY_CANDIDATES:
            places = [best]
        for place in places:
            row = int(runs.rows[place])
            victims, reprieved = columns.split(runs, place)
            candidate = Candidate(row, self._table.name(row), victims, reprieved, 0)
            outcome.candidates.append(candidate)
            if place == best:
                outcome.chosen = candidate
        outcome.candidates.sort(key=_node_name)

    def _note_failures(self, search: Search, runs: DryRuns, outcome: Preemption) -> None:
        """Why no row would do, in the words of the resource filter."""
        place = 1 + [p.name for p in self._framework.plugins.filter].index(names.NODE_RESOURCES_FIT)
        known: dict[int, Status] = {}
        for row, nobody, code in zip(
            runs.rows.tolist(), runs.nobody.tolist(), runs.missing.tolist(), strict=True
        ):
            if nobody:
                outcome.statuses[self._table.name(row)] = _NO_VICTIMS
                continue
            if code not in known:
                known[code] = self._framework.explain(search.state, place, code)
            outcome.statuses[self._table.name(row)] = known[code]

    def _not_eligible(self, search: Search, nominated_node: str) -> str:
        """Upstream: PodEligibleToPreemptOthers()."""
        pod = search.state.pod
        if self._rules.checks_policy and pod.pod.spec.get("preemptionPolicy") == "Never":
            return NEVER
        row = self._table.rows.get(nominated_node, -1)
        if row < 0 or self._is_unresolvable(search, row):
            return ""
        for other in self._table.pods[row].values():
            if other.priority < pod.priority and other.pod.deletion_timestamp:
                return TERMINATING
        return ""

    def _is_unresolvable(self, search: Search, row: int) -> bool:
        verdicts = search.verdicts
        for place in np.flatnonzero(verdicts.rows == row).tolist():
            plugin, code = int(verdicts.plugin[place]), int(verdicts.code[place])
            if plugin:
                status = self._framework.explain(search.state, plugin, code)
                return status.code is Code.UNRESOLVABLE
        return False

    def _potential_rows(self, search: Search) -> IntArray:
        """Rows whose refusal evictions might undo. Upstream: NodesForStatusCode()."""
        verdicts = search.verdicts
        hopeful = np.zeros(len(verdicts.rows), np.bool_)
        for plugin, code, _ in verdicts.kinds():
            status = self._framework.explain(search.state, plugin, code)
            if status.code is Code.UNSCHEDULABLE:
                hopeful |= (verdicts.plugin == plugin) & (verdicts.code == code)
        return verdicts.rows[hopeful]

    # -- victims ---------------------------------------------------------------------------------

    def _select_victims(
        self, state: CycleState, row: int, budgets: Sequence[ApiObject], nominated: Nominated
    ) -> Candidate | Status:
        """Upstream: SelectVictimsOnNode(). The table is as before when this returns."""
        before = dict(self._table.pods[row])
        ports = self._table.ports_at(row)
        lower = [pod for pod in before.values() if pod.priority < state.pod.priority]
        if not lower and self._rules.needs_victims:
            return _NO_VICTIMS
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
                return refusal
            return self._reprieve(state, row, lower, budgets, waiting, off)
        finally:
            for pod in off.values():
                self._table.add_pod(row, pod)
            self._table.pods[row] = before
            self._table.reset_ports(row, ports)

    def _reprieve(
        self,
        state: CycleState,
        row: int,
        lower: list[PodInfo],
        budgets: Sequence[ApiObject],
        waiting: list[PodInfo],
        off: dict[str, PodInfo],
    ) -> Candidate:
        """Put pods back, the most important first, as long as the preemptor still fits."""
        lower.sort(key=importance)
        violating, others = self._split_by_budget(lower, budgets)
        victims: list[PodInfo] = []
        reprieved: list[PodInfo] = []
        violations = 0
        for pod in (*violating, *others):
            self._put_back(state, row, pod, off)
            if self._verdict(state, row, waiting) is None:
                reprieved.append(pod)
                continue
            self._take_off(state, row, pod, off)
            victims.append(pod)
            violations += pod in violating
        if self._rules.sorts_victims:
            victims.sort(key=importance)
        return Candidate(row, self._table.name(row), victims, reprieved, violations)

    def _take_off(self, state: CycleState, row: int, pod: PodInfo, off: dict[str, PodInfo]) -> None:
        self._table.remove_pod(row, pod.key)
        self._framework.update_state(state, pod, row, -1)
        off[pod.key] = pod

    def _put_back(self, state: CycleState, row: int, pod: PodInfo, off: dict[str, PodInfo]) -> None:
        self._table.add_pod(row, pod)
        self._framework.update_state(state, pod, row, 1)
        del off[pod.key]

    def _verdict(self, state: CycleState, row: int, waiting: list[PodInfo]) -> Status | None:
        """None when the pod fits the row as it is, with and without the *waiting* pods."""
        found = (0, 0)
        if waiting:
            found = self._framework.filter_one_with(state, row, waiting)
        if found[0] == 0:
            found = self._framework.filter_one(state, row)
        return None if found[0] == 0 else self._framework.explain(state, *found)

    def _split_by_budget(
        self, pods: list[PodInfo], budgets: Sequence[ApiObject]
    ) -> tuple[list[PodInfo], list[PodInfo]]:
        """Pods whose eviction breaks a disruption budget, and the others.

        Upstream: filterPodsWithPDBViolation().
        """
        left = [int(budget.status.get("disruptionsAllowed") or 0) for budget in budgets]
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        for pod in pods:
            violated = False
            for place, budget in enumerate(budgets):
                if not _covers(budget, pod):
                    continue
                if self._rules.budgets_count_down:
                    if pod.pod.name in (budget.status.get("disruptedPods") or ()):
                        continue
                    left[place] -= 1
                    violated |= left[place] < 0
                else:
                    violated |= left[place] <= 0
            (violating if violated else others).append(pod)
        return violating, others

    # -- choice ----------------------------------------------------------------------------------

    def choose(self, outcome: Preemption) -> Candidate:
        """Choose among the candidates again, after an extender took some away."""
        outcome.rungs.clear()
        return self._choose(outcome)

    def _choose(self, outcome: Preemption) -> Candidate:
        """The rungs, each leaving the best of what the one before left.

        Upstream: pickOneNodeForPreemption().
        """
        left = outcome.candidates
        for candidate in left:
            if not candidate.victims:
                outcome.rungs.append(("no victims", [candidate.node]))
                return candidate
        for name, cost in (
            ("fewest PDB violations", _violations),
            ("lowest highest priority", _highest_priority),
            ("smallest priority sum", _priority_sum),
            ("fewest victims", _victim_count),
            ("latest start time", _minus_start_time),
        ):
            best = min(cost(candidate) for candidate in left)
            left = [candidate for candidate in left if cost(candidate) == best]
            outcome.rungs.append((name, [candidate.node for candidate in left]))
            if len(left) == 1:
                break
        return left[0]

    def _fit_error(self, outcome: Preemption) -> str:
        reasons: dict[str, int] = {}
        for status in outcome.statuses.values():
            for reason in status.reasons:
                reasons[reason] = reasons.get(reason, 0) + 1
        count = len(self._table)
        hopeless = count - len(outcome.statuses)
        if hopeless:
            reasons[NOT_HELPFUL] = reasons.get(NOT_HELPFUL, 0) + hopeless
        return fit_error(count, reasons)


def _covers(budget: ApiObject, pod: PodInfo) -> bool:
    if budget.namespace != pod.pod.namespace or not pod.pod.labels:
        return False
    selector: dict[str, Any] | None = budget.spec.get("selector")
    # A budget with an absent or empty selector covers nothing.
    if not selector or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return False
    return LabelSelector.parse(selector).matches(pod.pod.labels)


def _node_name(candidate: Candidate) -> str:
    return candidate.node


def _violations(candidate: Candidate) -> int:
    return candidate.violations


def _highest_priority(candidate: Candidate) -> int:
    # Upstream looks at the first victim, which is the highest only if they are in order.
    return candidate.victims[0].priority


def _priority_sum(candidate: Candidate) -> int:
    # The offset keeps a few victims of negative priority from looking worse than many.
    return sum(victim.priority + _PRIORITY_OFFSET for victim in candidate.victims)


def _victim_count(candidate: Candidate) -> int:
    return len(candidate.victims)


def _minus_start_time(candidate: Candidate) -> int:
    """The earliest start among the victims of highest priority, negated: latest is best.

    Upstream: util.GetEarliestPodStartTime().
    """
    highest = max(victim.priority for victim in candidate.victims)
    return -min(start_time(v) for v in candidate.victims if v.priority == highest)
