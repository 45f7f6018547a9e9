"""Makes room for a pod by evicting pods of lower priority.

Upstream: framework/preemption/preemption.go and plugins/defaultpreemption (1.34);
core/generic_scheduler.go Preempt() (1.16).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.framework import names
from engine.framework.framework import FITS, Code, CycleState, Status
from engine.framework.handle import Handle
from engine.framework.messages import combined, fit_error
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.nominated import Nominated
from engine.framework.pods.pod_info import PodInfo
from engine.framework.rules.preemption import PreemptionRules
from engine.framework.runtime import Framework, Search
from engine.kernel.rng import Stream
from engine.objects.objects import Manifest
from engine.scheduler.preemption.budgets import Budgets
from engine.scheduler.preemption.dry_run import COLUMN_RULES, NO_VICTIMS, Candidate, DryRun
from engine.scheduler.preemption.room_verdicts import KeptRoomVerdicts
from engine.scheduler.preemption.trace_steps import (
    ComparedCandidate,
    DryRunsOrdered,
    PostFiltered,
    hopeless,
    rungs,
)
from engine.scheduler.preemption.victims import (
    NO_LOWER_PODS,
    NOT_STARTED,
    RUNGS,
    KeptRuns,
    PodLists,
    RowRun,
    cost_of,
    importance,
)

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."

# From this many nodes on dry runs are made in columns, if that gives the same answer.
_MANY_ROWS = 32
_NOT_LOOKED_AT = (0, FITS)
Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Runs:
    """Dry runs in columns, as of when they were made.

    `rows` are the candidate nodes, `pods` the pods on them, `marks` which of these are victims;
    `rungs` has the candidates that are left after each criterion of the choice (a rung).
    `unresolvable` are the other rows, and `codes` what they lack. `covered` has the dry runs of
    rows on which budgets cover pods.
    """

    table: NodeTable
    room_verdicts: KeptRoomVerdicts
    state: CycleState
    rows: IntArray
    pods: PodLists
    marks: Marks
    rungs: list[tuple[str, IntArray]]
    unresolvable: IntArray
    codes: IntArray
    violations: IntArray
    covered: dict[int, RowRun]

    def candidate(self, place: int) -> Candidate:
        """The candidate at one place of `rows`: its victims and the reprieved pods."""
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
        """The names of the nodes at *rows*, sorted."""
        return sorted(self.table.name(row) for row in rows.tolist())

    def reasons(self) -> dict[str, int]:
        """How many nodes are no candidates for each reason."""
        reasons: dict[str, int] = {}
        codes, counts = np.unique(self.codes, return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            for reason in self._status(code).reasons:
                reasons[reason] = reasons.get(reason, 0) + count
        return reasons

    def statuses(self) -> dict[str, Status]:
        """Why each of the unresolvable nodes is no candidate."""
        known = {code: self._status(code) for code in np.unique(self.codes).tolist()}
        return {
            self.table.name(row): known[code]
            for row, code in zip(self.unresolvable.tolist(), self.codes.tolist(), strict=True)
        }

    def _status(self, code: int) -> Status:
        """In the words of the resource filter."""
        return (
            NO_VICTIMS if code == NO_LOWER_PODS else self.room_verdicts.lacks_room(self.state, code)
        )


class Preemption:
    """The result of an attempt to preempt.

    Candidates, rungs and statuses are read from `runs` when they are first asked for; that must
    happen before the node table changes.
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
        "taken_out",
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
        # Whether `message` is an error, rather than why there is no candidate.
        self.failed = False
        # Whether the pod loses the nomination that it had before.
        self.clears = clears
        self.runs: Runs | None = None
        # The candidates that extenders did not leave.
        self.taken_out: list[Candidate] = []
        self._candidates = list(candidates)
        self._rungs: list[tuple[str, list[str]]] = []
        self._statuses: dict[str, Status] = {}

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates, sorted by the name of the node."""
        self._write_out()
        return self._candidates

    @candidates.setter
    def candidates(self, left: list[Candidate]) -> None:
        self._write_out()
        self._candidates = left

    @property
    def rungs(self) -> list[tuple[str, list[str]]]:
        """The criteria of the choice, in order: name, and the nodes that are left after it."""
        self._write_out()
        return self._rungs

    @property
    def statuses(self) -> dict[str, Status]:
        """Why the other nodes that were evaluated are no candidates."""
        self._write_out()
        return self._statuses

    def reasons(self) -> tuple[dict[str, int], int]:
        """How many nodes are no candidates for each reason, and how many these nodes are."""
        if self.runs is not None:
            return self.runs.reasons(), len(self.runs.unresolvable)
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
    """Finds the node where preemption costs least. Upstream: preemption.go Evaluator."""

    def __init__(
        self,
        framework: Framework,
        handle: Handle,
        rules: PreemptionRules,
        room_verdicts: KeptRoomVerdicts,
        ties: Stream | None = None,
    ) -> None:
        self._framework = framework
        self._table = handle.table
        self._rules = rules
        self._budgets = Budgets(handle.listers, count_down=rules.budgets_count_down)
        self._dry_run = DryRun(framework, rules, self._budgets)
        self._ties = ties
        self._room_verdicts = room_verdicts

    def preempt(self, search: Search, nominated: Nominated, nominated_node: str = "") -> Preemption:
        """Find victims for the pod for which *search* found no node."""
        refusal = self._not_eligible(search, nominated_node)
        if refusal:
            return Preemption(message=refusal)
        outcome = Preemption()
        self._touch_reordered()
        rows = self._potential_rows(search)
        wanted, offset = len(self._table), None
        if self._rules.limits_candidates and self._ties is not None and len(rows):
            offset = self._ties.below(len(rows))
            rows = np.concatenate((rows[offset:], rows[:offset]))
            # Upstream: calculateNumCandidates(), of the nodes that evictions might help on.
            share = len(rows) * self._rules.candidate_percentage // 100
            wanted = min(max(share, self._rules.min_candidates), len(rows))
        trace = self._framework.trace
        if trace is not None:
            names = tuple(self._table.names(rows.tolist()))
            trace.add(search.state.pod.pod.id, DryRunsOrdered(names, offset, wanted))
        by_columns = trace is None and search.status.is_success
        if not (by_columns and self._in_columns(search, rows, wanted, outcome)):
            self._one_by_one(search, rows, wanted, nominated, outcome)
        if outcome.chosen is None and not outcome.failed:
            outcome.message = self._fit_error(outcome)
            outcome.clears = self._rules.clears_without_candidates or len(rows) == 0
        return outcome

    def _touch_reordered(self) -> None:
        """Forget what is kept of rows where pods of equal importance changed their order.

        Also where pods have new labels, by which budgets may cover them.
        """
        table = self._table
        for row, is_relabelled in table.reordered.items():
            keys = [importance(pod) for pod in table.pods[row].values()]
            if is_relabelled or len(dict.fromkeys(keys)) < len(keys):
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
        known: dict[int, tuple[int, int]] = {}
        if not self._rules.needs_victims:
            filters = self._framework.plugins.filter
            for row, plugin, code in search.verdicts.each():
                # A dry run does not ask extenders.
                if plugin and filters[plugin - 1].name != names.EXTENDER:
                    known[row] = plugin, code
        harmless, violating = 0, 0
        for row in rows.tolist():
            verdict = known.get(row, _NOT_LOOKED_AT)
            result = self._dry_run.select_victims(search.state, row, nominated, verdict)
            if isinstance(result, Status):
                outcome.statuses[self._table.name(row)] = result
            elif result.violations == 0:
                harmless += 1
                outcome.candidates.append(result)
            elif violating < wanted:
                # Upstream's list of violating candidates has this length.
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
        """As `_one_by_one`, in columns; False if those might give another answer."""
        if len(rows) < _MANY_ROWS or self._rules != COLUMN_RULES:
            return False
        with self._room_verdicts.nominated.without(search.state.pod):
            verdicts = self._room_verdicts.of(search.state)
            if verdicts is None:
                return False
            kept = verdicts.runs
            looked_at, fits = _first_candidates(kept, rows, wanted)
            found, failed = looked_at[fits], looked_at[~fits]
            victims = kept.victims.take(found, axis=0)
            if self._rules.needs_evictions and not victims.any(axis=1).all():
                return False
            if len(found) > wanted:
                # As in `_one_by_one`: keep at most *wanted* candidates that violate a budget.
                surplus = np.flatnonzero(kept.violations.take(found))[wanted:]
                found = np.delete(found, surplus)
                victims = kept.victims.take(found, axis=0)
            runs = Runs(
                self._table,
                self._room_verdicts,
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
        """Whether *other* is terminating to make room. Upstream: podTerminatingByPreemption()."""
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
        # The node was not evaluated: PreFilter excluded it, or all nodes.
        if search.status.is_success and self._rules.trusts_unseen:
            return False
        return search.status.code is not Code.UNSCHEDULABLE

    def _potential_rows(self, search: Search) -> IntArray:
        """Rows whose refusal evictions might undo. Upstream: NodesForStatusCode()."""
        verdicts = search.verdicts
        if search.status.code is Code.UNSCHEDULABLE:
            # A rejection at PreFilter is that of all nodes.
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
        """*rows*, and the nodes that the search did not reach because extenders refused the others.

        A rejection at PreFilter is that of all nodes. Upstream: nodesWherePreemptionMightHelp(),
        where preemption might help on a node without a status.
        """
        active, looked_at = self._table.active, search.verdicts.rows
        includes = self._rules.trusts_unseen and search.status.is_success
        if not includes or len(looked_at) == len(active):
            return rows
        return np.concatenate((rows, active[~np.isin(active, looked_at)]))

    # -- choice ----------------------------------------------------------------------------------

    def choose(self, outcome: Preemption) -> Candidate:
        """Choose again, after an extender removed some candidates."""
        outcome.rungs.clear()
        return self._choose(outcome)

    def _choose(self, outcome: Preemption) -> Candidate:
        """Apply one rung after the other, each to the best of the one before.

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
        reasons, explained = outcome.reasons()
        count = len(self._table)
        others = count - explained
        if others:
            reasons[NOT_HELPFUL] = reasons.get(NOT_HELPFUL, 0) + others
        return fit_error(count, reasons)


def _first_candidates(kept: KeptRuns, rows: IntArray, wanted: int) -> tuple[IntArray, Marks]:
    """The first of *rows* that contain *wanted* candidates, and which rows are candidates.

    At least one of them must violate no budget.
    """
    # A few rows usually are no candidates, so a quarter more are evaluated from the start.
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
    """How many rows contain *wanted* candidates, one of them harmless; 0 if all are too few."""
    if int(np.count_nonzero(fits)) < wanted or not harmless.any():
        return 0
    return 1 + max(int(np.flatnonzero(fits)[wanted - 1]), int(harmless.argmax()))


def _text(error: Status) -> str:
    """The error with the name of its plugin. Upstream: framework.go RunFilterPlugins()."""
    doing = f'running "{error.plugin}" filter plugin: ' if error.plugin else ""
    return f"{doing}{error.message}"


def _node_name(candidate: Candidate) -> str:
    return candidate.node


def _costs(candidate: Candidate) -> tuple[int, ...]:
    """By the `RUNGS`."""
    return candidate.violations, *cost_of(candidate.victims)


def costs(candidate: Candidate) -> dict[str, int | None]:
    """What *candidate* costs at each of the `RUNGS`; less is better. Empty without victims.

    At the last rung it is the earliest start of its most important victims, in virtual nanoseconds:
    later is better, and None, for one that has not started, is best.
    """
    if not candidate.victims:
        return {}
    *counted, (last, minus_start) = zip(RUNGS, _costs(candidate), strict=True)
    started = None if minus_start == -NOT_STARTED else -minus_start
    return {**dict(counted), last: started}


def post_filter_step(preemption: Preemption) -> PostFiltered:
    """The step for *preemption*."""
    chosen = preemption.chosen
    return PostFiltered(
        chosen.node if chosen else "",
        preemption.message,
        tuple(
            ComparedCandidate(
                one.node,
                tuple(pod.key for pod in one.victims),
                tuple(pod.key for pod in one.reprieved),
                one.violations,
                costs(one),
            )
            for one in preemption.candidates
        ),
        rungs(preemption.rungs),
        hopeless(preemption.statuses),
    )
