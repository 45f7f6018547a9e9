"""Asks the extenders: after the filters, after the scores, and about the victims.

Upstream: schedule_one.go findNodesThatPassExtenders(), prioritizeNodes(); preemption.go
callExtenders().
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np

from engine.framework import names
from engine.framework.framework import Code, CycleState, Detail, Plugin, Status
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Framework, PluginScore, Scores, Search
from engine.kernel.sentences import say
from engine.scheduler.configuration.extenders import Extender, ExtenderError, Filtered, Preempted
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.preemption.dry_run import Candidate
from engine.scheduler.preemption.preemption import Evaluator, Preemption

NO_CANDIDATE = "no candidate node for preemption"
# The status of a node that an extender left out without a reason.
# Upstream: NodeToStatus, AbsentNodesStatus().
LEFT_OUT = Status(Code.UNRESOLVABLE, (), names.EXTENDER)
_LEFT_OUT_WORDS = say("left out by an extender")


class ExtenderVerdicts(Plugin):
    """Acts as a filter, so that refusals of extenders are shown like those of plugins."""

    name: ClassVar[str] = names.EXTENDER

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Refuses no node: extenders are asked after the filters."""
        return np.zeros(len(rows), np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        """The extender's status."""
        return self.statuses(state)[code - 1]

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The text of that status."""
        message = self.statuses(state)[code - 1].message
        if not message:
            return Detail(text=_LEFT_OUT_WORDS)
        return Detail(text=say("refused by an extender: {message}", message=message))

    def statuses(self, state: CycleState) -> list[Status]:
        """The distinct statuses that extenders gave in this cycle; a code is 1 + the place here."""
        return cast("list[Status]", state.data.setdefault(self.name, []))


class ExtenderRounds:
    """The extenders of one scheduler, asked in order."""

    def __init__(
        self, extenders: Sequence[Extender], framework: Framework, profile: Profile
    ) -> None:
        self.extenders = tuple(extenders)
        self._table = framework.handle.table
        self._rules = profile.kubernetes.extenders
        self._verdicts = ExtenderVerdicts()
        framework.plugins.filter.append(self._verdicts)
        self._place = len(framework.plugins.filter)

    def interested(self, pod: PodInfo) -> bool:
        """Whether any extender takes part in finding a node for *pod*."""
        return any(extender.settings.has_a_say(pod) for extender in self.extenders)

    def filter(self, search: Search) -> str:
        """Let the extenders refuse nodes; returns the error that ends the attempt, or ""."""
        pod = search.state.pod
        cluster = self._table.rows if self._rules.restores_nodes else None
        for extender in self.extenders:
            left = search.feasible.tolist()
            if not left:
                break
            if not extender.settings.filter_verb or not extender.settings.is_interested(pod):
                continue
            try:
                answer = extender.filter(pod, [self._table.node(row) for row in left], cluster)
            except ExtenderError as error:
                if extender.settings.ignorable:
                    continue
                return str(error)
            self._note(search, answer)
            search.is_sent_back |= answer.in_full
        return ""

    def _note(self, search: Search, answer: Filtered) -> None:
        """Write the refusals of one extender into the verdicts."""
        verdicts, statuses = search.verdicts, self._verdicts.statuses(search.state)
        kept = frozenset(answer.names)
        # Extenders may return nodes that were refused before, and v1.34 takes their status.
        # Upstream: Filter(), findNodesThatPassExtenders().
        brings_back = kept if self._rules.restores_nodes or answer.in_full else frozenset[str]()
        renamed = frozenset[str]()
        if self._rules.replaces_reasons:
            renamed = answer.failed.keys() | answer.unresolvable
        fitted = verdicts.fits.tolist()
        for place, row in enumerate(verdicts.rows.tolist()):
            name = self._table.name(row)
            if fitted[place]:
                if name in kept:
                    continue
            elif name in brings_back:
                verdicts.plugin[place] = verdicts.code[place] = 0
                continue
            elif name not in renamed:
                continue
            verdicts.plugin[place] = self._place
            status = self._status(name, answer)
            if status not in statuses:
                statuses.append(status)
            verdicts.code[place] = statuses.index(status) + 1

    def _status(self, name: str, answer: Filtered) -> Status:
        if name in answer.unresolvable and self._rules.reads_unresolvable:
            return Status(Code.UNRESOLVABLE, (answer.unresolvable[name],), names.EXTENDER)
        if name in answer.failed:
            return Status(Code.UNSCHEDULABLE, (answer.failed[name],), names.EXTENDER)
        # Left out without a reason: such a node has no status, which counts as unresolvable. Before
        # v1.31 it counted as unschedulable. Upstream: nodesWherePreemptionMightHelp(), NodeToStatus.
        if self._rules.omitted_is_unresolvable:
            return LEFT_OUT
        return Status(Code.UNSCHEDULABLE, (), names.EXTENDER)

    def prioritize(self, state: CycleState, scores: Scores) -> None:
        """Add the extenders' scores to the totals. An extender that fails adds nothing."""
        nodes = [self._table.node(row) for row in scores.rows.tolist()]
        for extender in self.extenders:
            settings = extender.settings
            if not settings.prioritize_verb or not settings.is_interested(state.pod):
                continue
            try:
                given = extender.prioritize(state.pod, nodes)
            except ExtenderError:
                continue
            raw = np.array([given.get(node.name, 0) for node in nodes], np.int64)
            scaled = raw * self._rules.score_scale
            one = PluginScore(extender.name, settings.weight, raw, scaled)
            scores.plugins.append(one)
            scores.total = scores.total + one.weighted

    def preempt(self, pod: PodInfo, preemption: Preemption, evaluator: Evaluator) -> None:
        """Let the extenders remove candidates and victims, then choose again."""
        candidates = {one.node: one for one in preemption.candidates}
        asked = False
        for extender in self.extenders:
            if not extender.settings.preempt_verb or not extender.settings.is_interested(pod):
                continue
            if not candidates:
                break
            asked = True
            try:
                candidates = self._ask(extender, pod, candidates)
            except ExtenderError as error:
                if extender.settings.ignorable:
                    continue
                candidates, preemption.message, preemption.failed = {}, str(error), True
        if asked:
            preemption.taken_out = [
                one for one in preemption.candidates if one.node not in candidates
            ]
            preemption.candidates = [candidates[node] for node in sorted(candidates)]
            preemption.chosen = evaluator.choose(preemption) if candidates else None
            if not (candidates or preemption.failed):
                # Upstream: Evaluator.Preempt(), when SelectCandidate() has nothing to select from.
                preemption.message = NO_CANDIDATE

    def _ask(
        self, extender: Extender, pod: PodInfo, candidates: dict[str, Candidate]
    ) -> dict[str, Candidate]:
        # v1.16 sends no budget violations if it sends only the names of victims.
        exchanges = self._rules.exchanges_violations
        hides_violations = not exchanges and extender.settings.node_cache_capable
        offered = {
            node: (one.victims, 0 if hides_violations else one.violations)
            for node, one in candidates.items()
        }
        answer = extender.preempt(pod, offered)
        victims = {node: self._victims(extender, node, kept) for node, kept in answer.items()}
        left: dict[str, Candidate] = {}
        for node, kept in answer.items():
            if not victims[node] and self._rules.requires_victims:
                if extender.settings.ignorable:
                    continue
                raise ExtenderError(f'expected at least one victim pod on node "{node}"')
            one = candidates.get(node)
            reprieved = [] if one is None else one.reprieved
            row = self._table.rows[node]
            # Upstream: v1.16's convertToNodeToVictims() drops the number of violations.
            violations = kept.violations if exchanges else 0
            left[node] = Candidate(row, node, victims[node], reprieved, violations)
        return left

    def _victims(self, extender: Extender, node: str, kept: Preempted) -> list[PodInfo]:
        """The pods with these uids on the node, which need not be a candidate.

        Upstream: convertToVictims().
        """
        row = self._table.rows.get(node)
        if row is None:
            raise ExtenderError(f'nodeinfo not found for node name "{node}"')
        by_uid = {other.uid: other for other in self._table.pods[row].values()}
        for uid in kept.victims:
            if uid not in by_uid:
                raise ExtenderError(
                    f"extender: {extender.name} claims to preempt pod (UID: &{{{uid}}}) on node: "
                    f"{node}, but the pod is not found on that node"
                )
        return [by_uid[uid] for uid in kept.victims]
