"""One pod, one decision: filters, scores, choice of the host, and preemption where nothing fits.

`SchedulingAlgorithm` is what a scheduler actor drives. It owns the node table through its handle;
the actor keeps the table and the listers up to date from its watches and its cache.

Upstream: pkg/scheduler/schedule_one.go schedulePod(), handleSchedulingFailure().
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kscope.sim.kernel.rng import Stream
from scheduling.engine.columns.cells import Ties
from scheduling.engine.columns.explanation import Explanation, ToldVerdicts
from scheduling.engine.columns.fast_path import FastPath
from scheduling.engine.columns.kept_verdicts import KeptVerdicts
from scheduling.engine.configuration.extenders import Extender
from scheduling.engine.configuration.profiles import Profile
from scheduling.engine.cycle.decision.extender_rounds import ExtenderRounds
from scheduling.engine.cycle.decision.fit_errors import FitErrors
from scheduling.engine.cycle.decision.post_filters import PostFilters
from scheduling.engine.cycle.decision.result import (
    ERROR,
    SCHEDULED,
    UNSCHEDULABLE,
    ScheduleResult,
)
from scheduling.engine.cycle.decision.sampling import nodes_to_find, stop_after
from scheduling.engine.framework.framework import SUCCESS, Code
from scheduling.engine.framework.handle import Handle
from scheduling.engine.framework.messages import NO_NODES
from scheduling.engine.framework.runtime import KnownVerdicts, Scores, Search, no_verdicts
from scheduling.engine.framework.scoring import ScoringFailed
from scheduling.engine.nodes.arrays import IntArray
from scheduling.engine.nodes.nominated import Nominated
from scheduling.engine.plugins.volumes.volume_binding import holds_untranslatable
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.preemption.preemption import Evaluator, Preemption
from scheduling.engine.preemption.standing import Standings

_NO_VERDICTS = no_verdicts()


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
        handle.listers.volumes.asks_fields = profile.is_classic
        handle.listers.volumes.lists_by_field = profile.is_classic
        self._may_fail = profile.is_classic or any(plugin.may_fail for plugin in plugins)
        # What is only there to prepare is asked in every cycle.
        self._may_fail |= profile.prepares_alone or profile.fails_unprepared
        # In-tree plugins that find nothing of their PreFilter's at Reserve.
        self._reserve_error = profile.fails_at_reserve
        self._takes_first = profile.takes_first_fit and not any(
            one.settings.filter_verb or one.settings.prioritize_verb for one in extenders
        )
        self._fast = FastPath(self.framework, self.table, by_name=ties is None)
        # There a total below zero is that of a node that does not fit.
        self._may_sink = any(weight < 0 for _, weight in profile.scores)
        self.standings = Standings(self.framework, self.nominated)
        # Plugins of somebody else's are asked once in an attempt, and so are those that can only fail.
        self._asks_once = bool(profile.custom_plugins) or profile.fails_unprepared
        self._kept = KeptVerdicts(self.framework, foreign=self._asks_once)
        self.fit_errors = FitErrors(profile, self.framework)
        self._evaluator = Evaluator(
            self.framework, handle, profile.preemption, self.standings, ties
        )
        self._post_filters = PostFilters(
            profile, self.framework, self._evaluator, self.nominated, self.extenders
        )

    @property
    def wanted_nodes(self) -> int:
        """After how many feasible nodes a search of the whole cluster stops."""
        return self._nodes_to_find(len(self.table))

    def _nodes_to_find(self, node_count: int) -> int:
        """One is as good as another where nothing is scored. Upstream: hasScoring()."""
        if self.profile.looks_at_all_nodes:
            return node_count
        return 1 if self._takes_first else nodes_to_find(node_count, self.profile.percentage)

    @property
    def next_start(self) -> int:
        """Where the next search begins: the scheduler's, whatever the profile."""
        return self.handle.next_start

    @next_start.setter
    def next_start(self, start: int) -> None:
        self.handle.next_start = start

    # -- scheduling ------------------------------------------------------------------------------

    def schedule(
        self,
        pod: PodInfo,
        order: IntArray | None = None,
        *,
        explain: bool = True,
        by_columns: bool = False,
        keep: bool = False,
    ) -> ScheduleResult:
        """Decide on *pod*. Does not preempt; see `preempt`.

        With *explain* every verdict and score is in the result; they are all worked out anew, or
        with *by_columns* they may be the template's of before, but for what has changed. Without
        *explain* a pod that fits somewhere costs only such changes, and one that fits nowhere is
        explained all the same. With *keep* the result has an explanation that can be kept and read
        later. The decision is always the same.
        """
        table, start = self.table, self.handle.next_start
        if table.images.changed_rows:
            table.images.take_snapshot()
        rows = table.active if order is None else order
        if len(rows) == 0:
            return self._without_nodes(pod)
        asks = self.extenders is not None and self.extenders.interested(pod)
        tells = explain or keep
        # What is kept tells the scores, too, but for somebody else's plugins.
        scored = explain or (keep and self._asks_once)
        result: ScheduleResult | None = None
        if pod.pod.nominated_node_name:
            result = self._on_nominated_node(pod, asks=asks, scored=scored)
        may_fail = bool(pod.pod.volumes) and self._volumes_may_fail(pod)
        if (
            result is None
            and not asks
            and not may_fail
            and (not tells or self._may_be_quick(pod, explain, by_columns))
        ):
            result = self._quickly(pod, rows)
            if result is not None and tells:
                self._tell(result, rows, start, explain=explain, keep=keep)
        if result is None:
            known = None if explain and not by_columns else self._known(pod, keep=keep)
            may_fail |= self._may_fail
            result = self._in_full(pod, rows, known, asks=asks, may_fail=may_fail)
        if self._reserve_error and result.result == SCHEDULED:
            result = ScheduleResult(pod, ERROR, message=self._reserve_error, search=result.search)
        if keep and result.explanation is None and result.search is not None:
            result.explanation = self._keep(result, result.search)
        return result

    def _without_nodes(self, pod: PodInfo) -> ScheduleResult:
        """No nodes is what is told; v1.16 looks at the pod's claims before.

        Upstream: generic_scheduler.go Schedule(), podPassesBasicChecks().
        """
        if self.profile.is_classic:
            status, _, _ = self.framework.run_pre_filters(self.framework.new_state(pod))
            if status.code is Code.ERROR:
                return ScheduleResult(pod, ERROR, message=status.message)
        return ScheduleResult(pod, UNSCHEDULABLE, message=NO_NODES)

    def _keep(self, result: ScheduleResult, search: Search) -> Explanation:
        """What *search* and the scores came to."""
        explanation = self._kept.settle(search)
        if result.scores is not None:
            self._kept.keep_scores(search, explanation, result.scores)
        elif result.result == SCHEDULED:
            self._kept.score(search, explanation)
        return explanation

    def _may_be_quick(self, pod: PodInfo, explain: bool, by_columns: bool) -> bool:
        """Whether there are columns that tell what is asked for, and that have paid off."""
        if self._asks_once:
            return False
        return self._kept.has_met(pod) if explain and by_columns else not explain

    def _tell(
        self, quick: ScheduleResult, rows: IntArray, start: int, *, explain: bool, keep: bool
    ) -> None:
        """Let *quick*, which looked at *rows* from *start* on, tell what the plugins said."""
        looked_at = self._kept.rotated(rows, start)[: quick.evaluated]
        search = self.framework.find_feasible(quick.pod, looked_at, self.nominated, self._kept)
        verdicts = search.verdicts
        told = isinstance(verdicts, ToldVerdicts)
        explanation = verdicts.explanation if told else self._kept.settle(search)
        scores = self._kept.score(search, explanation)
        if explain:
            quick.search, quick.scores = search, scores
        if keep:
            quick.explanation = explanation

    def _known(self, pod: PodInfo, *, keep: bool) -> KnownVerdicts:
        """Who knows what the filters say; columns know nothing of nominated pods."""
        return self._kept if keep and not self.nominated.concern(pod) else self.standings

    def _in_full(
        self,
        pod: PodInfo,
        rows: IntArray,
        known: KnownVerdicts | None,
        *,
        asks: bool,
        may_fail: bool,
    ) -> ScheduleResult:
        """Look at every node, but for what is *known*."""
        rotated = self._kept.rotated(rows, self.next_start)
        promised = self._promised_row(pod)
        search = self.framework.find_feasible(pod, rotated, self.nominated, known, promised)
        if not search.status.is_success:
            return self.fit_errors.rejected(search)
        # PreFilter may have left fewer nodes than there are.
        stop_after(search.verdicts, self._nodes_to_find(len(search.verdicts.rows)))
        self.next_start = (self.next_start + len(search.verdicts.rows)) % len(rows)
        if may_fail:
            error = self.fit_errors.failed(search)
            if error is not None:
                return error
        if self.extenders is not None and asks:
            refusal = self.extenders.filter(search)
            if refusal:
                return ScheduleResult(pod, ERROR, message=refusal, search=search)
        feasible = search.feasible
        if len(feasible) == 0:
            return self.fit_errors.unschedulable(search)
        unreadable = search.state.template.unreadable_preferences
        if unreadable and len(feasible) > 1:
            failure = self.profile.unreadable(unreadable)
            if failure:
                return ScheduleResult(pod, ERROR, message=failure, search=search)
        try:
            scores = self._scored(search, feasible)
        except ScoringFailed as failed:
            return ScheduleResult(pod, ERROR, message=str(failed), search=search)
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

    def _scored(self, search: Search, feasible: IntArray) -> Scores:
        if not (search.is_sent_back and self.profile.scores_sent_back):
            return self.framework.score(search.state, feasible)
        with self.table.bare(feasible):
            return self.framework.score(search.state, feasible)

    def _on_nominated_node(
        self, pod: PodInfo, *, asks: bool, scored: bool
    ) -> ScheduleResult | None:
        """The node that was promised to *pod* is tried before all others, and taken if it fits.

        Upstream: evaluateNominatedNode().
        """
        row = self._promised_row(pod)
        if row < 0:
            return None
        rows = np.array([row], np.int64)
        search = self.framework.find_feasible(pod, rows, self.nominated, self.standings, row)
        if not search.status.is_success or len(search.feasible) == 0:
            return None
        if self.extenders is not None and asks:
            failed = self.extenders.filter(search)
            if failed or len(search.feasible) == 0:
                return None
        scores = self.framework.score(search.state, rows) if scored else None
        return ScheduleResult(
            pod,
            SCHEDULED,
            node=self.table.name(row),
            row=row,
            evaluated=1,
            feasible=1,
            tied_rows=rows,
            search=search,
            scores=scores,
            took_nominated_node=True,
        )

    def search_everywhere(self, pod: PodInfo) -> Search:
        """What every filter says of *pod* on every node, whatever a decision looked at."""
        return self.framework.find_feasible(pod, self.table.active, self.nominated, None)

    def _promised_row(self, pod: PodInfo) -> int:
        """The row that is tried before all others; -1 where there is none."""
        if not self.profile.tries_nominated_first:
            return -1
        return self.table.rows.get(pod.pod.nominated_node_name, -1)

    def _quickly(self, pod: PodInfo, rows: IntArray) -> ScheduleResult | None:
        """The decision by what is kept per template, or None where the full path is needed."""
        if self._may_fail and (not self.profile.is_classic or pod.pod.claim_names):
            return None  # An error fails the attempt, wherever it happens.
        if self._may_sink or (self.nominated.by_node and self.nominated.concern(pod)):
            return None
        state = self.framework.new_state(pod)
        if state.template.unreadable_preferences:
            return None
        handle, count = self.handle, len(rows)
        try:
            choice = self._fast.choose(state, rows, handle.next_start, self._nodes_to_find(count))
        except ScoringFailed:
            return None  # The full path knows whether it concerns a node that fits.
        if choice is None:
            return None
        tied, feasible, evaluated = choice
        handle.next_start = (handle.next_start + evaluated) % count
        row = tied.pick(self._ties) if isinstance(tied, Ties) else self._pick(tied)
        return ScheduleResult(
            pod,
            SCHEDULED,
            self.table.name(row),
            row,
            evaluated,
            feasible,
            tied,
            search=Search(state, SUCCESS, _NO_VERDICTS),
            statuses=[],
        )

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

    def _volumes_may_fail(self, pod: PodInfo) -> bool:
        """Whether plugins may fail on a disk of the pod's, or on others' beside it; v1.34 only."""
        if not pod.pod.volumes or not self.profile.is_current:
            return False
        if self.table.pods_at_fault or self.nominated.concern(pod):
            return True
        return holds_untranslatable(pod.pod, self.handle.listers)

    def preempt(self, result: ScheduleResult) -> Preemption | None:
        """Try to make room for the pod of an unschedulable *result*, and complete its message.

        Returns None if the profile does not preempt. The caller evicts and nominates.
        """
        search = result.search
        if result.result != UNSCHEDULABLE or search is None:
            return None
        preemption, text = self._post_filters.run(search, self.fit_errors.status_by_node)
        result.preemption = preemption
        if not self.profile.refuses_per_node:
            result.message = self.fit_errors.message(search, text)
        return preemption
