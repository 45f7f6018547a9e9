"""Making room by evicting pods of lower priority.

Upstream: framework/preemption/preemption.go and plugins/defaultpreemption (1.34);
core/generic_scheduler.go Preempt() (1.16).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kscope.sim.kernel.rng import Stream
from kscope.sim.objects.objects import Manifest
from scheduling.engine.framework.framework import Code, CycleState, Status
from scheduling.engine.framework.handle import Handle
from scheduling.engine.framework.messages import combined, fit_error
from scheduling.engine.framework.runtime import Framework, Search
from scheduling.engine.nodes.arrays import IntArray
from scheduling.engine.nodes.node_table import NodeTable
from scheduling.engine.nodes.nominated import Nominated
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.preemption.budgets import Budgets
from scheduling.engine.preemption.standing import Standings
from scheduling.engine.preemption.victims import (
    NOBODY,
    NOT_STARTED,
    RUNGS,
    KeptRuns,
    PodLists,
    RowRun,
    by_importance,
    cost_of,
    importance,
)

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."

# So many nodes or more are dry-run as columns, where that gives the same answer.
_MANY_ROWS = 32
Marks = NDArray[np.bool_]

_NO_VICTIMS = Status(Code.UNRESOLVABLE, (NO_VICTIMS,))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionRules:
    """How preemption works in one version; by default, as in the newest."""

    budgets_count_down: bool = True
    """Victims on one node use up a disruption budget together; otherwise each is compared with it alone."""
    needs_victims: bool = True
    """A node without pods of lower priority is no candidate."""
    limits_candidates: bool = True
    """In a large cluster only some candidates are looked for, from a random start."""
    sorts_victims: bool = True
    """Victims are ordered by importance again after some were spared."""
    checks_policy: bool = True
    """A pod with preemptionPolicy Never does not preempt."""
    errors_fail: bool = True
    """A filter that fails in a dry run fails the preemption, unless another node is a candidate."""
    clears_without_candidates: bool = True
    """A pod loses its nomination when no node is a candidate; otherwise only when evictions could help nowhere."""
    gives_hopeless_up: bool = True
    """A pod does not wait for victims on its nominated node when evictions can no longer help there."""
    goes_by_start: bool = True
    """Of equally important victims, those that started first are spared."""
    trusts_unseen: bool = False
    """Evictions may help on a node that no plugin has rejected."""
    knows_its_victims: bool = True
    """A preemptor waits only for pods that terminate because of a preemption."""
    needs_evictions: bool = True
    """A node where no pod has to be evicted fails its dry run."""
    spares_the_leaving: bool = True
    """Pods that terminate already are not evicted again and get no Event."""
    candidate_percentage: int = 10
    """The share of the nodes that are looked at as candidates (minCandidateNodesPercentage)."""
    min_candidates: int = 100
    """How many nodes are looked at as candidates at least (minCandidateNodesAbsolute)."""


@dataclass(slots=True)
class Candidate:
    """One node that would do, and what it would cost."""

    row: int
    node: str
    victims: list[PodInfo]
    reprieved: list[PodInfo]
    violations: int


@dataclass(frozen=True, slots=True)
class Runs:
    """Dry runs in columns, as they were when they were made.

    `rows` are the nodes that would do, `pods` and `marks` who is on them and who of those would go;
    `rungs` tell who is left after each. `hopeless` are rows that would not do, and `codes` what
    they miss. Where budgets cover pods, `covered` has the run itself, which went by these first.
    """

    table: NodeTable
    standings: Standings
    state: CycleState
    rows: IntArray
    pods: PodLists
    marks: Marks
    rungs: list[tuple[str, IntArray]]
    hopeless: IntArray
    codes: IntArray
    violations: IntArray
    covered: dict[int, RowRun]

    def candidate(self, place: int) -> Candidate:
        """Who would go and who may stay, at one place of `rows`."""
        pods: list[PodInfo] = self.pods[place]
        victims: list[PodInfo] = []
        reprieved: list[PodInfo] = []
        for pod, goes in zip(pods, self.marks[place].tolist(), strict=False):
            if goes:
                victims.append(pod)
            elif pod.priority < self.state.pod.priority:
                reprieved.append(pod)
        row = int(self.rows[place])
        run = self.covered.get(row)
        if run is not None:
            victims, reprieved = [pods[at] for at in run.victims], list(run.put_back)
        violations = self.violations.item(place)
        return Candidate(row, self.table.name(row), victims, reprieved, violations)

    def nodes(self, rows: IntArray) -> list[str]:
        """The nodes at *rows*, by name."""
        return sorted(self.table.name(row) for row in rows.tolist())

    def reasons(self) -> dict[str, int]:
        """How many nodes would not do for each reason."""
        reasons: dict[str, int] = {}
        codes, counts = np.unique(self.codes, return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            for reason in self._status(code).reasons:
                reasons[reason] = reasons.get(reason, 0) + count
        return reasons

    def statuses(self) -> dict[str, Status]:
        """Why each of the hopeless nodes would not do."""
        known = {code: self._status(code) for code in np.unique(self.codes).tolist()}
        return {
            self.table.name(row): known[code]
            for row, code in zip(self.hopeless.tolist(), self.codes.tolist(), strict=True)
        }

    def _status(self, code: int) -> Status:
        """In the words of the resource filter."""
        return _NO_VICTIMS if code == NOBODY else self.standings.lacks_room(self.state, code)


class Preemption:
    """What came of an attempt to preempt.

    What `runs` tell is written out when it is asked for, which has to be while the nodes are there.
    """

    __slots__ = (
        "_candidates",
        "_rungs",
        "_statuses",
        "chosen",
        "clears",
        "failed",
        "message",
        "runs",
    )

    def __init__(
        self,
        candidates: Iterable[Candidate] = (),
        chosen: Candidate | None = None,
        message: str = "",
        *,
        clears: bool = False,
    ) -> None:
        self.chosen = chosen
        self.message = message
        # Whether `message` is an error, rather than why nothing would do.
        self.failed = False
        # Whether the node that the pod was nominated to before is nothing to hope for any more.
        self.clears = clears
        self.runs: Runs | None = None
        self._candidates = list(candidates)
        self._rungs: list[tuple[str, list[str]]] = []
        self._statuses: dict[str, Status] = {}

    @property
    def candidates(self) -> list[Candidate]:
        """Every node that would do, by name."""
        self._write_out()
        return self._candidates

    @candidates.setter
    def candidates(self, left: list[Candidate]) -> None:
        self._write_out()
        self._candidates = left

    @property
    def rungs(self) -> list[tuple[str, list[str]]]:
        """The rungs of the choice: name, and the nodes that are then still in the race."""
        self._write_out()
        return self._rungs

    @property
    def statuses(self) -> dict[str, Status]:
        """Why the other nodes that were looked at would not do."""
        self._write_out()
        return self._statuses

    def reasons(self) -> tuple[dict[str, int], int]:
        """How many nodes would not do for each reason, and how many that are."""
        if self.runs is not None:
            return self.runs.reasons(), len(self.runs.hopeless)
        reasons: dict[str, int] = {}
        for status in self._statuses.values():
            for reason in status.reasons:
                reasons[reason] = reasons.get(reason, 0) + 1
        return reasons, len(self._statuses)

    def _write_out(self) -> None:
        runs, self.runs = self.runs, None
        if runs is None:
            return
        self._candidates = sorted(map(runs.candidate, range(len(runs.rows))), key=_node_name)
        self._rungs = [(name, runs.nodes(rows)) for name, rows in runs.rungs]
        self._statuses = runs.statuses()


class Evaluator:
    """Looks for the node where evictions would help most and hurt least."""

    def __init__(
        self,
        framework: Framework,
        handle: Handle,
        rules: PreemptionRules,
        standings: Standings,
        ties: Stream | None = None,
    ) -> None:
        self._framework = framework
        self._table = handle.table
        self._rules = rules
        self._budgets = Budgets(handle.listers, count_down=rules.budgets_count_down)
        self._ties = ties
        self._standings = standings

    def preempt(self, search: Search, nominated: Nominated, nominated_node: str = "") -> Preemption:
        """Find victims for the pod that *search* found no node for."""
        refusal = self._not_eligible(search, nominated_node)
        if refusal:
            return Preemption(message=refusal)
        outcome = Preemption()
        self._look_at_reordered()
        rows = self._potential_rows(search)
        wanted = len(self._table)
        if self._rules.limits_candidates and self._ties is not None and len(rows):
            offset = self._ties.below(len(rows))
            rows = np.concatenate((rows[offset:], rows[:offset]))
            # Upstream: calculateNumCandidates(), of the nodes that evictions might help on.
            share = len(rows) * self._rules.candidate_percentage // 100
            wanted = min(max(share, self._rules.min_candidates), len(rows))
        if not (search.status.is_success and self._in_columns(search, rows, wanted, outcome)):
            self._one_by_one(search, rows, wanted, nominated, outcome)
        if outcome.chosen is None and not outcome.failed:
            outcome.message = self._fit_error(outcome)
            outcome.clears = self._rules.clears_without_candidates or len(rows) == 0
        return outcome

    def _look_at_reordered(self) -> None:
        """Where equals have changed places, who would have to go is another question."""
        table = self._table
        for row in table.reordered:
            keys = [importance(pod) for pod in table.pods[row].values()]
            if len(dict.fromkeys(keys)) < len(keys):
                table.touch(row)
        table.reordered.clear()

    def _one_by_one(
        self,
        search: Search,
        rows: IntArray,
        wanted: int,
        nominated: Nominated,
        outcome: Preemption,
    ) -> None:
        """Upstream: DryRunPreemption()."""
        self._budgets.refresh()
        harmless, violating = 0, 0
        for row in rows.tolist():
            result = self._select_victims(search.state, row, nominated)
            if isinstance(result, Status):
                outcome.statuses[self._table.name(row)] = result
            elif result.violations == 0:
                harmless += 1
                outcome.candidates.append(result)
            elif violating < wanted:
                # Upstream's list of them has no more places.
                violating += 1
                outcome.candidates.append(result)
            if harmless and harmless + violating >= wanted:
                break
        if outcome.candidates:
            outcome.candidates.sort(key=_node_name)
            outcome.chosen = self._choose(outcome)
            return
        errors = [_text(one) for one in outcome.statuses.values() if one.code is Code.ERROR]
        if errors and self._rules.errors_fail:
            # Upstream: Preempt(), findCandidates(). The pod keeps its nomination.
            outcome.failed, outcome.message = True, combined(errors)

    def _in_columns(self, search: Search, rows: IntArray, wanted: int, outcome: Preemption) -> bool:
        """As `_one_by_one`, where columns give the same answer; False where they do not."""
        if len(rows) < _MANY_ROWS or self._rules != PreemptionRules():
            return False
        with self._standings.apart(search.state) as standing:
            if standing is None:
                return False
            kept = standing.runs
            looked_at, fits = _first_that_do(kept, rows, wanted)
            found, failed = looked_at[fits], looked_at[~fits]
            victims = kept.victims.take(found, axis=0)
            if self._rules.needs_evictions and not victims.any(axis=1).all():
                return False
            if len(found) > wanted:
                # As one by one: of those that break a budget so many are kept.
                surplus = np.flatnonzero(kept.violations.take(found))[wanted:]
                found = np.delete(found, surplus)
                victims = kept.victims.take(found, axis=0)
            runs = Runs(
                self._table,
                self._standings,
                search.state,
                found,
                kept.pods_of(found),
                victims,
                kept.rungs(found) if len(found) else [],
                failed,
                kept.missing.take(failed),
                kept.violations.take(found),
                kept.covered_on(found),
            )
        if runs.rungs:
            left = runs.rungs[-1][1]
            best = left[np.argmin(self._table.name_rank[left])]
            outcome.chosen = runs.candidate(int(np.flatnonzero(found == best)[0]))
        outcome.runs = runs
        return True

    def _not_eligible(self, search: Search, nominated_node: str) -> str:
        """Upstream: PodEligibleToPreemptOthers()."""
        pod = search.state.pod
        if self._rules.checks_policy and pod.pod.spec.get("preemptionPolicy") == "Never":
            return NEVER
        row = self._table.rows.get(nominated_node, -1)
        if row < 0 or (self._rules.gives_hopeless_up and self._is_unresolvable(search, row)):
            return ""
        for other in self._table.pods[row].values():
            if other.priority < pod.priority and self._is_leaving(other):
                return TERMINATING
        return ""

    def _is_leaving(self, other: PodInfo) -> bool:
        """Whether somebody waits for *other* to leave. Upstream: podTerminatingByPreemption()."""
        if not other.pod.deletion_timestamp or not self._rules.knows_its_victims:
            return bool(other.pod.deletion_timestamp)
        conditions: list[Manifest] = other.pod.status.get("conditions") or []
        for each in conditions:
            if each.get("type") == "DisruptionTarget":
                return (
                    each.get("status") == "True" and each.get("reason") == "PreemptionByScheduler"
                )
        return False

    def _is_unresolvable(self, search: Search, row: int) -> bool:
        verdicts = search.verdicts
        for place in np.flatnonzero(verdicts.rows == row).tolist():
            plugin, code = int(verdicts.plugin[place]), int(verdicts.code[place])
            if plugin:
                status = self._framework.explain(search.state, plugin, code)
                return status.code is Code.UNRESOLVABLE
        # A node that was not looked at: PreFilter has ruled it out, or every node.
        if search.status.is_success and self._rules.trusts_unseen:
            return False
        return search.status.code is not Code.UNSCHEDULABLE

    def _potential_rows(self, search: Search) -> IntArray:
        """Rows whose refusal evictions might undo. Upstream: NodesForStatusCode()."""
        verdicts = search.verdicts
        if search.status.code is Code.UNSCHEDULABLE:
            # A refusal at PreFilter is every node's.
            return self._table.active
        hopeful = [
            (plugin, code, count)
            for plugin, code, count in verdicts.kinds()
            if self._framework.explain(search.state, plugin, code).code is Code.UNSCHEDULABLE
        ]
        if sum(count for _, _, count in hopeful) == len(verdicts.rows):
            return self._with_unseen(search, verdicts.rows)
        marks = np.zeros(len(verdicts.rows), np.bool_)
        for plugin, code, _ in hopeful:
            marks |= (verdicts.plugin == plugin) & (verdicts.code == code)
        return self._with_unseen(search, verdicts.rows[marks])

    def _with_unseen(self, search: Search, rows: IntArray) -> IntArray:
        """*rows*, and those nodes that the search did not get to: extenders refused what it found.

        A refusal at PreFilter is every node's. Upstream: nodesWherePreemptionMightHelp(), where a
        node without failures is a potential one.
        """
        active, looked_at = self._table.active, search.verdicts.rows
        trusts = self._rules.trusts_unseen and search.status.is_success
        if not trusts or len(looked_at) == len(active):
            return rows
        return np.concatenate((rows, active[~np.isin(active, looked_at)]))

    # -- victims ---------------------------------------------------------------------------------

    def _select_victims(
        self, state: CycleState, row: int, nominated: Nominated
    ) -> Candidate | Status:
        """Upstream: SelectVictimsOnNode(). The table is as before when this returns."""
        before = dict(self._table.pods[row])
        ports = self._table.ports.at(row)
        lower = [pod for pod in self._table.listed(row) if pod.priority < state.pod.priority]
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
        """Put pods back, the most important first, as long as the preemptor still fits."""
        if self._rules.goes_by_start:
            lower = by_importance(lower)
        else:
            lower.sort(key=_minus_priority)
        violating, others = self._budgets.split(lower)
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
        node = self._table.name(row)
        if not victims and self._rules.needs_evictions:
            # An extender has refused the node, which the filters would not.
            return Status(Code.ERROR, (f'expected at least one victim pod on node "{node}"',))
        if self._rules.sorts_victims and violating and others:
            victims = by_importance(victims)
        return Candidate(row, node, victims, reprieved, violations)

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
        ranked = [(candidate, _costs(candidate)) for candidate in left]
        # The last rung goes by start times.
        for rung, name in enumerate(RUNGS if self._rules.goes_by_start else RUNGS[:-1]):
            best = min(cost[rung] for _, cost in ranked)
            ranked = [one for one in ranked if one[1][rung] == best]
            outcome.rungs.append((name, [candidate.node for candidate, _ in ranked]))
            if len(ranked) == 1:
                break
        return ranked[0][0]

    def _fit_error(self, outcome: Preemption) -> str:
        reasons, told = outcome.reasons()
        count = len(self._table)
        hopeless = count - told
        if hopeless:
            reasons[NOT_HELPFUL] = reasons.get(NOT_HELPFUL, 0) + hopeless
        return fit_error(count, reasons)


def _first_that_do(kept: KeptRuns, rows: IntArray, wanted: int) -> tuple[IntArray, Marks]:
    """As many of *rows* as it takes to find *wanted* that would do, and which of them these are.

    One that breaks no budget has to be among them.
    """
    # A few usually would not: so many more are looked at from the start.
    seen, count = 0, wanted + wanted // 4
    while True:
        kept.look_at(rows[seen:count])
        looked_at = rows[:count]
        fits = kept.fits.take(looked_at)
        end = _enough(fits, kept.harmless(looked_at, fits), wanted)
        if end or count >= len(rows):
            break
        seen, count = count, count * 2
    return (looked_at[:end], fits[:end]) if end else (looked_at, fits)


def _enough(fits: Marks, harmless: Marks, wanted: int) -> int:
    """How many it takes so that *wanted* fit and one is harmless; 0 where all do not suffice."""
    if int(np.count_nonzero(fits)) < wanted or not harmless.any():
        return 0
    return 1 + max(int(np.flatnonzero(fits)[wanted - 1]), int(harmless.argmax()))


def _text(error: Status) -> str:
    """In whose name it is told. Upstream: framework.go RunFilterPlugins()."""
    doing = f'running "{error.plugin}" filter plugin: ' if error.plugin else ""
    return f"{doing}{error.message}"


def _minus_priority(pod: PodInfo) -> int:
    return -pod.priority


def _node_name(candidate: Candidate) -> str:
    return candidate.node


def _costs(candidate: Candidate) -> tuple[int, ...]:
    """By the `RUNGS`."""
    return candidate.violations, *cost_of(candidate.victims)


def costs(candidate: Candidate) -> dict[str, int | None]:
    """What *candidate* costs at each of the `RUNGS`, less is better; nothing without victims.

    At the last rung it is when the oldest of its most important victims started, in virtual
    nanoseconds: late is better, and None, for one that has not started, is best.
    """
    if not candidate.victims:
        return {}
    *counted, (last, minus_start) = zip(RUNGS, _costs(candidate), strict=True)
    started = None if minus_start == -NOT_STARTED else -minus_start
    return {**dict(counted), last: started}
