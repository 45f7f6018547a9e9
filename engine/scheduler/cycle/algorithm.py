"""Decides on one pod: filters, scores, choice of the host, and preemption if no node fits.

    schedule ─▶ the nominated or hinted node alone ─▶ the fast path ─▶ every node in full
    preempt  ─▶ post-filters, for a pod that fits nowhere

Each step is tried if the one before gives no result; the last two give the same decision. The
caller keeps the node table and the listers up to date.

Upstream: pkg/scheduler/schedule_one.go schedulePod(), handleSchedulingFailure().
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.framework.columns.fast_path import FastPath
from engine.framework.framework import SUCCESS, Code
from engine.framework.handle import Handle
from engine.framework.messages import NO_NODES
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import as_returned
from engine.framework.nodes.nominated import Nominated
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import KnownVerdicts, Scores, Search, no_verdicts
from engine.framework.scoring import ScoringFailed
from engine.kernel.rng import Stream
from engine.kernel.trace import Trace
from engine.plugins.dynamic_resources.protocol import AllocatesDevices
from engine.plugins.volume_binding.plugin import volumes_may_fail
from engine.scheduler.configuration.extenders import Extender
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.cycle.decision.explanations import Explanations
from engine.scheduler.cycle.decision.extender_rounds import ExtenderRounds
from engine.scheduler.cycle.decision.fit_errors import FitErrors
from engine.scheduler.cycle.decision.host_choice import HostChoice
from engine.scheduler.cycle.decision.opportunistic_batch import BatchTrial, OpportunisticBatch
from engine.scheduler.cycle.decision.post_filters import PostFilters
from engine.scheduler.cycle.decision.quick_choices import QuickChoices
from engine.scheduler.cycle.decision.result import ERROR, SCHEDULED, UNSCHEDULABLE, ScheduleResult
from engine.scheduler.cycle.decision.sampling import nodes_to_find, stop_after
from engine.scheduler.cycle.decision.signatures import PodSigner
from engine.scheduler.cycle.decision.trace_scores import tell_scores
from engine.scheduler.cycle.decision.trace_steps import filtered, ordered
from engine.scheduler.preemption.preemption import Evaluator, Preemption, post_filter_step
from engine.scheduler.preemption.room_verdicts import KeptRoomVerdicts

_NO_VERDICTS = no_verdicts()


class SchedulingAlgorithm:
    """The decisions of one scheduler profile.

    A call may give the *order* of nodes (upstream's snapshot list); without it they are taken in
    the order in which they were added. *ties* breaks ties; without it the smallest name wins.
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
        self._rules = rules = profile.rules
        plugins = self.framework.plugins.by_name.values()
        handle.listers.volumes.applies_match_fields = rules.asks_volume_fields
        handle.listers.volumes.lists_by_spec_class = rules.lists_volumes_by_field
        # The plugin that finds devices for claims, if the profile has one.
        self.devices = next((one for one in plugins if isinstance(one, AllocatesDevices)), None)
        self._may_fail = rules.uses_predicates or any(plugin.may_fail for plugin in plugins)
        # A plugin that has no score must still be asked at PreScore in every cycle.
        self._may_fail |= profile.prepares_alone or profile.fails_unprepared
        # In-tree plugins fail at Reserve if their PreFilter is disabled.
        self._reserve_error = profile.fails_at_reserve
        self.hosts = HostChoice(handle, ties, takes_turns=rules.takes_turns)
        self._takes_first = profile.takes_first_fit and not any(
            one.settings.filter_verb or one.settings.prioritize_verb for one in extenders
        )
        fast = FastPath(self.framework, self.table, by_name=ties is None)
        self._quick = QuickChoices(
            self.framework, profile, self.nominated, fast, self.devices, may_fail=self._may_fail
        )
        self.room_verdicts = KeptRoomVerdicts(self.framework, self.nominated)
        self._asks_once = bool(profile.custom_plugins) or profile.fails_unprepared
        self._explanations = Explanations(self.framework, self.nominated, asks_once=self._asks_once)
        self._kept = self._explanations.kept
        self.fit_errors = FitErrors(profile, self.framework)
        self._evaluator = Evaluator(
            self.framework, handle, profile.preemption, self.room_verdicts, ties
        )
        self._post_filters = PostFilters(
            profile, self.framework, self._evaluator, self.nominated, self.extenders
        )
        signer = PodSigner(profile, self.framework.plugins, has_extenders=bool(extenders))
        self._batch: OpportunisticBatch | None = None
        if signer.is_enabled:
            self._batch = OpportunisticBatch(signer, self.framework, ties)

    @property
    def takes_first_fit(self) -> bool:
        """Whether a search ends with the first node that fits, as nothing scores the nodes."""
        return self._takes_first and not self._rules.examines_all_nodes

    @property
    def wanted_nodes(self) -> int:
        """After how many feasible nodes a search of the whole cluster stops."""
        return self._nodes_to_find(len(self.table))

    def _nodes_to_find(self, node_count: int) -> int:
        """A single node if nothing is scored. Upstream: hasScoring()."""
        if self._rules.examines_all_nodes:
            return node_count
        return 1 if self._takes_first else nodes_to_find(node_count, self.profile.percentage)

    # -- scheduling ------------------------------------------------------------------------------

    def schedule(
        self,
        pod: PodInfo,
        order: IntArray | None = None,
        *,
        explain: bool = True,
        by_columns: bool = False,
        keep: bool = False,
        cycle: int = 0,
        trace: Trace | None = None,
    ) -> ScheduleResult:
        """Decide on *pod*. Does not preempt; see `preempt`.

        With *explain* the result has every verdict and score. They are computed afresh, or with
        *by_columns* only as far as they changed since the template's last decision. Without
        *explain* a pod that fits somewhere costs only such changes; one that fits nowhere is
        explained in any case. With *keep* the result has an explanation that can be kept and read
        later. None of this changes the decision.

        *cycle* is the number of the scheduling cycle. Without one the decision does not count as a
        cycle: it uses nothing that OpportunisticBatching keeps, and leaves it as it is.

        A *trace* gets each step of the decision, which is then computed afresh.
        """
        batch = self._batch if cycle else None
        trial = None if batch is None else batch.begin(pod, cycle)
        self.framework.trace = trace
        result = self._decide(pod, order, trial, explain=explain, by_columns=by_columns, keep=keep)
        self.framework.trace = None
        if batch is not None and trial is not None:
            batch.store(trial, result)
            result.node_hint = trial.hint
        return result

    def _decide(
        self,
        pod: PodInfo,
        order: IntArray | None,
        trial: BatchTrial | None,
        *,
        explain: bool,
        by_columns: bool,
        keep: bool,
    ) -> ScheduleResult:
        table, start = self.table, self.handle.next_start
        if table.images.changed_rows:
            table.images.take_snapshot()
        rows = table.active if order is None else order
        if len(rows) == 0:
            return self._without_nodes(pod)
        trace = self.framework.trace
        if trace is not None:
            rotated = self._kept.rotated(rows, start)
            trace.add(pod.pod.id, ordered(table, rotated, start, self._nodes_to_find(len(rows))))
        asks_extenders = self.extenders is not None and self.extenders.interested(pod)
        explains = explain or keep
        result: ScheduleResult | None = None
        first_row = self._first_row(pod, "" if trial is None else trial.hint)
        if first_row >= 0:
            # Scores that custom plugins gave cannot be computed again for an explanation.
            scores = explain or (keep and self._asks_once)
            result = self._on_first_node(
                pod, first_row, asks_extenders=asks_extenders, scores=scores
            )
        may_fail = self._rules.fails_on_untranslatable_volumes and volumes_may_fail(
            pod, self.handle, self.nominated
        )
        devices = self.devices
        if devices is not None and not devices.asks_for_devices(pod):
            devices = None
        searches_everywhere = devices is not None and not devices.keeps_searches(pod)
        is_quick = (
            result is None
            and not asks_extenders
            and not may_fail
            and not searches_everywhere
            # The next pod of a batch needs the scores of all nodes.
            and (trial is None or trial.signature is None)
            and (
                not explains
                or self._explanations.allow_fast_path(pod, explain=explain, by_columns=by_columns)
            )
        )
        hides_scores = False
        if is_quick and trace is not None:
            # Each node is looked at, but the result has no scores that it had not without a trace.
            wanted = self._nodes_to_find(len(rows))
            hides_scores = not explains and self._quick.choose(pod, rows, wanted) is not None
        elif is_quick:
            result = self._quickly(pod, rows)
            if result is not None and explains:
                evaluated = self._kept.rotated(rows, start)[: result.evaluated]
                self._explanations.add(result, evaluated, explain=explain, keep=keep)
        if result is None:
            afresh = trace is not None or (explain and not by_columns)
            known = None if afresh else self._known(pod, keep=keep)
            may_fail |= self._may_fail or devices is not None
            result = self._in_full(
                pod, rows, known, first_row, asks_extenders=asks_extenders, may_fail=may_fail
            )
            if hides_scores:
                result.scores = None
        if self._reserve_error and result.result == SCHEDULED:
            result = ScheduleResult(pod, ERROR, message=self._reserve_error, search=result.search)
        if devices is not None and result.search is not None and result.node is not None:
            devices.choose(result.search.state, result.row)
        if keep and result.explanation is None and result.search is not None:
            self._explanations.keep(result, result.search)
        return result

    def _without_nodes(self, pod: PodInfo) -> ScheduleResult:
        """Report "no nodes available"; v1.16 checks the pod's claims before.

        Upstream: generic_scheduler.go Schedule(), podPassesBasicChecks().
        """
        if self._rules.checks_claims_without_nodes:
            status, _, _ = self.framework.run_pre_filters(self.framework.new_state(pod))
            if status.code is Code.ERROR:
                return ScheduleResult(pod, ERROR, message=status.message)
        return ScheduleResult(pod, UNSCHEDULABLE, message=NO_NODES)

    def _known(self, pod: PodInfo, *, keep: bool) -> KnownVerdicts:
        """Verdicts of earlier cycles; the columns do not consider nominated pods."""
        return self._kept if keep and not self.nominated.concern(pod) else self.room_verdicts

    def _in_full(
        self,
        pod: PodInfo,
        rows: IntArray,
        known: KnownVerdicts | None,
        first_row: int,
        *,
        asks_extenders: bool,
        may_fail: bool,
    ) -> ScheduleResult:
        """Evaluate every node, except for verdicts that are *known*."""
        rotated = self._kept.rotated(rows, self.handle.next_start)
        search = self.framework.find_feasible(pod, rotated, self.nominated, known, first_row)
        if not search.status.is_success:
            return self.fit_errors.rejected(search)
        # PreFilter may have left fewer nodes than there are.
        looked_at = len(search.verdicts.rows)
        stop_after(search.verdicts, self._nodes_to_find(looked_at))
        trace = self.framework.trace
        if trace is not None:
            unseen = looked_at - len(search.verdicts.rows)
            trace.add(pod.pod.id, filtered(self.framework, search, "all nodes", unseen))
        self.handle.next_start = (self.handle.next_start + len(search.verdicts.rows)) % len(rows)
        if may_fail:
            error = self.fit_errors.failed(search)
            if error is not None:
                return error
        if self.extenders is not None and asks_extenders:
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
        if self.extenders is not None and asks_extenders and len(feasible) > 1:
            self.extenders.prioritize(search.state, scores)
        row, tied = self.hosts.choose(scores)
        if trace is not None:
            tell_scores(trace, self.framework, search.state, scores)
            trace.add(pod.pod.id, self.hosts.step_of(row, tied, scores))
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
        if not (search.is_sent_back and self.profile.kubernetes.extenders.scores_returned_nodes):
            return self.framework.score(search.state, feasible)
        with as_returned(self.table, feasible):
            return self.framework.score(search.state, feasible)

    def _on_first_node(
        self, pod: PodInfo, row: int, *, asks_extenders: bool, scores: bool
    ) -> ScheduleResult | None:
        """Try the node at *row* before all others, and take it if *pod* fits there.

        A hinted node is not scored: OpportunisticBatching knows already that it is the best.
        Upstream: evaluateNominatedNode().
        """
        rows = np.array([row], np.int64)
        trace = self.framework.trace
        known = self.room_verdicts if trace is None else None
        search = self.framework.find_feasible(pod, rows, self.nominated, known, row)
        if trace is not None and search.status.is_success:
            trace.add(pod.pod.id, filtered(self.framework, search, "first node", 0))
        if not search.status.is_success or len(search.feasible) == 0:
            return None
        if self.extenders is not None and asks_extenders:
            failed = self.extenders.filter(search)
            if failed or len(search.feasible) == 0:
                return None
        is_nominated = bool(pod.pod.nominated_node_name)
        found = self.framework.score(search.state, rows) if scores and is_nominated else None
        return ScheduleResult(
            pod,
            SCHEDULED,
            node=self.table.name(row),
            row=row,
            evaluated=1,
            feasible=1,
            tied_rows=rows,
            search=search,
            scores=found,
            took_nominated_node=is_nominated,
        )

    def search_everywhere(self, pod: PodInfo) -> Search:
        """The verdicts of all filters on all nodes, also those that a decision did not evaluate."""
        return self.framework.find_feasible(pod, self.table.active, self.nominated, None)

    def _first_row(self, pod: PodInfo, hint: str) -> int:
        """The row that is tried before all others; -1 if there is none. A nomination comes first."""
        if not self._rules.tries_nominated_node_first:
            return -1
        return self.table.rows.get(pod.pod.nominated_node_name or hint, -1)

    def _quickly(self, pod: PodInfo, rows: IntArray) -> ScheduleResult | None:
        """The decision from what is kept per template; None if every node must be evaluated."""
        handle = self.handle
        choice = self._quick.choose(pod, rows, self._nodes_to_find(len(rows)))
        if choice is None:
            return None
        state, tied, feasible, evaluated = choice
        handle.next_start = (handle.next_start + evaluated) % len(rows)
        row = self.hosts.choose_tied(tied, feasible)
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

    def preempt(self, result: ScheduleResult, trace: Trace | None = None) -> Preemption | None:
        """Try to make room for the pod of an unschedulable *result*, and complete its message.

        Returns None if the profile does not preempt. The caller evicts and nominates. A *trace*
        gets each dry run, none of which then goes by columns.
        """
        search = result.search
        if result.result != UNSCHEDULABLE or search is None:
            return None
        self.framework.trace = trace
        preemption, text = self._post_filters.run(search, self.fit_errors.status_by_node)
        self.framework.trace = None
        if trace is not None and preemption is not None:
            trace.add(search.state.pod.pod.id, post_filter_step(preemption))
        result.preemption = preemption
        if self._rules.post_filter != "silent":
            result.message = self.fit_errors.message(search, text)
        return preemption
