"""One pod, one decision: filters, scores, choice of the host, and preemption where nothing fits.

`SchedulingAlgorithm` is what a scheduler actor drives. It owns the node table through its handle;
the actor keeps the table and the listers up to date from its watches and its cache.

Upstream: pkg/scheduler/schedule_one.go schedulePod(), handleSchedulingFailure().
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from kscope.sim.rng import Stream
from scheduling.engine import names
from scheduling.engine.extender_rounds import ExtenderRounds
from scheduling.engine.extenders import Extender
from scheduling.engine.fast_path import FastPath
from scheduling.engine.framework import SUCCESS, Code, IntArray, Status
from scheduling.engine.handle import Handle
from scheduling.engine.messages import NO_NODES, aggregate, fit_error
from scheduling.engine.pod_info import PodInfo
from scheduling.engine.post_filters import PostFilters
from scheduling.engine.preemption import NOT_HELPFUL, Evaluator, Preemption
from scheduling.engine.profiles import Profile
from scheduling.engine.runtime import Nominated, Scores, Search, no_verdicts

SCHEDULED = "scheduled"
UNSCHEDULABLE = "unschedulable"
ERROR = "error"

_MIN_FEASIBLE = 100
_MIN_PERCENTAGE = 5


def _no_rows() -> IntArray:
    return np.zeros(0, np.int64)


@dataclass(slots=True)
class ScheduleResult:
    """What was decided for one pod, and everything it was decided on.

    `evaluated` counts the nodes that were looked at, `feasible` those that fitted. `search` and
    `scores` are kept for the explanation; both are None after the fast path.
    """

    pod: PodInfo
    result: str
    node: str | None = None
    row: int = -1
    evaluated: int = 0
    feasible: int = 0
    tied_rows: IntArray = field(default_factory=_no_rows)
    message: str = ""
    search: Search | None = None
    scores: Scores | None = None
    # The distinct statuses of the nodes that were refused.
    statuses: list[Status] = field(default_factory=list[Status])
    preemption: Preemption | None = None


class SchedulingAlgorithm:
    """The decisions of one scheduler profile.

    *order* of nodes (upstream's snapshot list) may be given per call; without it the nodes are
    taken in the order in which they were added. *ties* breaks ties; without it the smallest name
    wins.
    """

    def __init__(
        self,
        profile: Profile,
        handle: Handle,
        *,
        ties: Stream | None = None,
        nominated: Nominated | None = None,
        extenders: Sequence[Extender] = (),
    ) -> None:
        self.profile = profile
        self.handle = handle
        self.table = handle.table
        self.framework = profile.build(handle)
        self.nominated = Nominated(handle.table) if nominated is None else nominated
        self.extenders = ExtenderRounds(extenders, self.framework, profile) if extenders else None
        self._ties = ties
        plugins = self.framework.plugins.by_name.values()
        self._may_fail = profile.is_classic or any(plugin.may_fail for plugin in plugins)
        self._fast = FastPath(self.framework, self.table)
        self._evaluator = Evaluator(self.framework, handle, profile.preemption, ties)

    @property
    def wanted_nodes(self) -> int:
        """After how many feasible nodes a search of the whole cluster stops."""
        return nodes_to_find(len(self.table), self.profile.percentage)

    @property
    def next_start(self) -> int:
        """Where the next search begins: the scheduler's, whatever the profile."""
        return self.handle.next_start

    @next_start.setter
    def next_start(self, start: int) -> None:
        self.handle.next_start = start

    # -- scheduling ------------------------------------------------------------------------------

    def schedule(
        self, pod: PodInfo, order: IntArray | None = None, *, explain: bool = True
    ) -> ScheduleResult:
        """Decide on *pod*. Does not preempt; see `preempt`.

        With *explain* every verdict and score is kept in the result. Without it a pod that fits
        somewhere costs only what changed since its template was last looked at; the decision is
        the same, and one that fits nowhere is explained all the same.
        """
        rows = self.table.active if order is None else order
        if len(rows) == 0:
            return ScheduleResult(pod, UNSCHEDULABLE, message=NO_NODES)
        asks = self.extenders is not None and self.extenders.interested(pod)
        if not explain and not asks:
            quick = self._quickly(pod, rows)
            if quick is not None:
                return quick
        rotated = np.roll(rows, -(self.next_start % len(rows))) if self.next_start else rows
        search = self.framework.find_feasible(pod, rotated, self.nominated)
        if not search.status.is_success:
            return self._rejected(search)
        self._sample(search, len(rows))
        if self._may_fail:
            error = self._error(search)
            if error is not None:
                return error
        if self.extenders is not None and asks:
            refusal = self.extenders.filter(search)
            if refusal:
                return ScheduleResult(pod, ERROR, message=refusal, search=search)
        feasible = search.feasible
        if len(feasible) == 0:
            return self._unschedulable(search)
        scores = self.framework.score(search.state, feasible)
        if self.extenders is not None and asks and len(feasible) > 1:
            self.extenders.prioritize(search.state, scores)
        row, tied = self.choose_host(scores)
        return ScheduleResult(
            pod,
            SCHEDULED,
            node=self.table.name(row),
            row=row,
            evaluated=len(search.verdicts.rows),
            feasible=len(feasible),
            tied_rows=tied,
            search=search,
            scores=scores,
        )

    def _quickly(self, pod: PodInfo, rows: IntArray) -> ScheduleResult | None:
        """The decision by what is kept per template, or None where the full path is needed."""
        if self.profile.is_classic and pod.pod.claim_names:
            return None  # A predicate's error fails the attempt, wherever it happens.
        if self._may_fail and not self.profile.is_classic:
            return None
        if len(self.nominated) and self.nominated.on_rows(pod, rows):
            return None
        state = self.framework.new_state(pod)
        wanted = nodes_to_find(len(rows), self.profile.percentage)
        choice = self._fast.choose(state, rows, self.next_start, wanted)
        if choice is None:
            return None
        self.next_start = (self.next_start + choice.evaluated) % len(rows)
        row = self._pick(choice.tied)
        return ScheduleResult(
            pod,
            SCHEDULED,
            node=self.table.name(row),
            row=row,
            evaluated=choice.evaluated,
            feasible=choice.feasible,
            tied_rows=choice.tied,
            search=Search(state, SUCCESS, no_verdicts()),
        )

    def _sample(self, search: Search, node_count: int) -> None:
        """Stop after enough feasible nodes were found; forget what was seen beyond."""
        wanted = nodes_to_find(node_count, self.profile.percentage)
        verdicts = search.verdicts
        found = np.flatnonzero(verdicts.fits)
        if len(found) > wanted:
            # Upstream stops when it meets one more than it wants, which it then leaves aside.
            end = int(found[wanted])
            verdicts.rows = verdicts.rows[:end]
            verdicts.plugin = verdicts.plugin[:end]
            verdicts.code = verdicts.code[:end]
        self.next_start = (self.next_start + len(verdicts.rows)) % node_count

    def choose_host(self, scores: Scores) -> tuple[int, IntArray]:
        """One of the rows with the highest total, and all of them. Upstream: selectHost()."""
        # In order of rows, so that a draw does not depend on the order of the search.
        tied = np.sort(scores.rows[scores.total == scores.total.max()])
        return self._pick(tied), tied

    def _pick(self, tied: IntArray) -> int:
        if len(tied) == 1:
            return int(tied[0])
        if self._ties is None:
            return int(tied[np.argmin(self.table.name_rank[tied])])
        return int(tied[self._ties.below(len(tied))])

    # -- failures --------------------------------------------------------------------------------

    def _rejected(self, search: Search) -> ScheduleResult:
        """A plugin refused the pod before any node was looked at."""
        status = search.status
        pod = search.state.pod
        if status.code is Code.ERROR:
            where = (
                "" if self.profile.is_classic else f'running PreFilter plugin "{status.plugin}": '
            )
            return ScheduleResult(pod, ERROR, message=where + status.message, search=search)
        if self.profile.refuses_per_node:
            count = len(self.table)
            message = fit_error(count, dict.fromkeys(status.reasons, count))
        else:
            message = fit_error(len(self.table), {}, pre_filter=status.message)
        return ScheduleResult(pod, UNSCHEDULABLE, message=message, search=search)

    def _error(self, search: Search) -> ScheduleResult | None:
        """An attempt in which some plugin failed on some node fails as a whole."""
        kinds = self._kinds(search)
        if not self.profile.is_classic:
            failed = next((one for one, _ in kinds if one.code is Code.ERROR), None)
            if failed is None:
                return None
            message = f'running "{failed.plugin}" filter plugin: {failed.message}'
            return ScheduleResult(search.state.pod, ERROR, message=message, search=search)
        errors = [
            status.message
            for status, count in kinds
            if status.code is Code.ERROR
            for _ in range(count)
        ]
        if not errors:
            return None
        return ScheduleResult(
            search.state.pod,
            ERROR,
            message=aggregate(errors),
            search=search,
            statuses=[status for status, _ in kinds],
            evaluated=len(search.verdicts.rows),
        )

    def _unschedulable(self, search: Search) -> ScheduleResult:
        return ScheduleResult(
            search.state.pod,
            UNSCHEDULABLE,
            evaluated=len(search.verdicts.rows),
            message=fit_error(len(self.table), self.reasons(search)),
            search=search,
            statuses=[status for status, _ in self._kinds(search)],
        )

    def _kinds(self, search: Search) -> list[tuple[Status, int]]:
        """The distinct statuses of refused nodes, and how many nodes have each."""
        return [
            (self.framework.explain(search.state, plugin, code), count)
            for plugin, code, count in search.verdicts.kinds()
        ]

    def status_by_node(self, search: Search) -> dict[str, Status]:
        """The status of every node that was refused."""
        verdicts = search.verdicts
        return {
            self.table.name(row): self.framework.explain(search.state, plugin, code)
            for row, plugin, code in zip(
                verdicts.rows.tolist(),
                verdicts.plugin.tolist(),
                verdicts.code.tolist(),
                strict=True,
            )
            if plugin
        }

    def _refused(self, search: Search) -> dict[str, Status]:
        """The status of every node; a refusal at PreFilter is each one's."""
        if search.status.is_success:
            return self.status_by_node(search)
        return dict.fromkeys(self.table.rows, search.status)

    def reasons(self, search: Search) -> dict[str, int]:
        """How many nodes gave each reason."""
        reasons: dict[str, int] = {}
        for status, count in self._kinds(search):
            for reason in status.reasons:
                reasons[reason] = reasons.get(reason, 0) + count
        if search.absent:
            plugins = " ".join(search.narrowed_by)
            reason = f"node(s) didn't satisfy plugin(s) [{plugins}]"
            reasons[reason] = reasons.get(reason, 0) + search.absent
        return reasons

    def preempt(self, result: ScheduleResult) -> Preemption | None:
        """Try to make room for the pod of an unschedulable *result*; completes its message.

        Returns None where preemption is not even tried. The caller evicts and nominates.
        """
        search = result.search
        if result.result != UNSCHEDULABLE or search is None:
            return None
        nominated_node = result.pod.pod.nominated_node_name
        if self.profile.refuses_per_node:
            if self.profile.custom_post_filters:
                result.preemption, _ = self._post_filter(search, nominated_node)
            elif search.status.is_success and self.profile.preempts:
                result.preemption = self._evict(search, nominated_node)
            return result.preemption
        preemption, post_filter = self._post_filter(search, nominated_node)
        result.preemption = preemption
        result.message = fit_error(
            len(self.table),
            self.reasons(search),
            pre_filter=search.status.message,
            post_filter=post_filter,
        )
        return preemption

    def _evict(self, search: Search, nominated_node: str) -> Preemption:
        """The victims that would make room, and what extenders say to that."""
        preemption = self._evaluator.preempt(search, self.nominated, nominated_node)
        if preemption.chosen is not None and self.extenders is not None:
            self.extenders.preempt(search.state.pod, preemption, self._evaluator)
        return preemption

    def _post_filter(self, search: Search, nominated_node: str) -> tuple[Preemption, str]:
        """What the profile's post-filters come to, and what they say for themselves."""
        asked = self.profile.post_filters
        if self.profile.custom_post_filters:
            evict = partial(self._evict, search, nominated_node)
            return PostFilters(self.profile, self.framework).run(
                search, self._refused(search), evict
            )
        dynamic = names.DYNAMIC_RESOURCES in asked
        if not search.status.is_success and (dynamic or self.profile.is_classic):
            # DynamicResources' PostFilter finds no state of its PreFilter, and that ends it.
            return Preemption(), "not found" if dynamic else ""
        said = ["no new claims to deallocate"] if dynamic else []
        if not self.profile.preempts:
            return Preemption(), ", ".join(said)
        if search.status.is_success:
            preemption = self._evict(search, nominated_node)
        else:
            # No node was looked at, and each counts as beyond help.
            count = len(self.table)
            preemption = Preemption(message=fit_error(count, {NOT_HELPFUL: count}))
        if preemption.chosen is not None or not preemption.message or self.profile.is_classic:
            return preemption, ""
        return preemption, ", ".join((*said, f"preemption: {preemption.message}"))


def nodes_to_find(node_count: int, percentage: int) -> int:
    """After how many feasible nodes the search stops. Upstream: numFeasibleNodesToFind()."""
    if node_count < _MIN_FEASIBLE or percentage >= 100:
        return node_count
    if percentage <= 0:
        percentage = max(50 - node_count // 125, _MIN_PERCENTAGE)
    return max(node_count * percentage // 100, _MIN_FEASIBLE)
