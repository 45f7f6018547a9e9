"""Decisions mode: schedules every pending pod once, in queue order, without time.

Every node is evaluated. Victims are gone at once, and their preemptor is tried again at once;
volumes bind at once. The format is that of docs/decisions.md; equal input gives equal output, byte for
byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.framework.framework import PodVolumes
from engine.framework.handle import Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.nominated import Nominated
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.rng import Stream
from engine.objects.objects import ApiObject
from engine.scheduler.configuration.extenders import Extender
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import ERROR, SCHEDULED, ScheduleResult
from engine.scheduler.cycle.decisions_mode.attempt_format import (
    Attempt,
    AttemptFormat,
    gated_attempt,
)
from engine.scheduler.cycle.decisions_mode.claim_work import ClaimWork
from engine.scheduler.cycle.decisions_mode.decided_cluster import DecidedCluster
from engine.scheduler.cycle.decisions_mode.stored_objects import admitted
from engine.versions.registry import VERSIONS

_MAX_ATTEMPTS = 8


def decide(
    objects: Iterable[ApiObject],
    profile: Profile,
    *others: Profile,
    ties: Stream | None = None,
    evidence: bool = True,
    arithmetic: bool = False,
    by_columns: bool = False,
    extenders: Sequence[Extender] = (),
) -> dict[str, Any]:
    """All decisions of *profile* on the cluster that *objects* describe.

    *others* schedule the pods that name them. The smallest node name wins a tie, or *ties* draws.
    *evidence* is computed from scratch for every attempt, unless *by_columns*. With *arithmetic* it
    has the terms of the scores.
    """
    handle = Handle()
    nominated = Nominated(handle.table)
    by_name = {
        one.name: SchedulingAlgorithm(
            replace(one, percentage=100),
            handle,
            ties=ties,
            nominated=nominated,
            extenders=extenders,
        )
        for one in (profile, *others)
    }
    cluster, devices = DecidedCluster(handle), by_name[profile.name].devices
    if devices is not None:
        cluster.claims = ClaimWork(devices, handle.listers)
    decisions = Decisions(by_name[profile.name], cluster, by_name, evidence, arithmetic, by_columns)
    pending = cluster.read(admitted(objects), profile)
    decisions.order = cluster.rows_by_zone(beta_only=profile.rules.uses_predicates)
    # The sort keeps file order among pods of equal priority.
    pending.sort(key=_minus_priority)
    for info in pending:
        # Until v1.36 gated pods hold no room on the node to which they are nominated.
        node, gates = info.pod.nominated_node_name, info.pod.scheduling_gates
        holds = profile.rules.uses_predicates or VERSIONS[profile.version].queue.gated_nominations
        if node and (holds or not gates):
            nominated.add(node, info)
    for info in pending:
        decisions.decide(info)
    return {
        "profile": decisions.algorithm.profile.version,
        "final": cluster.to_dict(),
        "attempts": decisions.attempts,
    }


@dataclass(slots=True)
class Decisions:
    """Decides on one pod after the other, and collects the attempts."""

    algorithm: SchedulingAlgorithm
    """Of the newest pod."""
    cluster: DecidedCluster
    by_name: Mapping[str, SchedulingAlgorithm]
    """By schedulerName."""
    evidence: bool
    arithmetic: bool
    by_columns: bool
    """Whether evidence may come from columns that are kept per template."""
    order: IntArray | None = None
    """The rows in the order of the search, where it ends with the first node that fits."""
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    cycle: int = 0
    """How many scheduling cycles there were."""

    def decide(self, pod: PodInfo) -> None:
        """Schedule *pod*, preempting where that helps."""
        if pod.pod.scheduler_name not in self.by_name:
            # Another scheduler's, which does not run.
            self.cluster.keep_pending(pod)
            return
        self.algorithm = self.by_name[pod.pod.scheduler_name]
        gated = self._gated(pod)
        if gated is not None:
            self.cluster.keep_pending(pod)
            self.attempts.append(gated)
            return
        written = AttemptFormat(
            self.algorithm, evidence=self.evidence, arithmetic=self.arithmetic
        ).written
        nominated = self.algorithm.nominated
        for number in range(1, _MAX_ATTEMPTS):
            pod = self._with_current_nomination(pod)
            result = self._schedule(pod)
            preemption = self.algorithm.preempt(result)
            plan = self._plan(result)
            self.attempts.append(written(result, number, plan))
            if result.result == SCHEDULED:
                self._place(result, plan)
                return
            self.cluster.deallocate(result)
            if preemption is None or preemption.chosen is None:
                if preemption is not None and preemption.clears:
                    nominated.remove(pod.key)
                break
            self.cluster.evict(preemption.chosen)
            self._clear_lower(pod, preemption.chosen.row)
            chosen = preemption.chosen.node
            if self.algorithm.profile.rules.decides_with_nomination:
                pod = pod.updated(pod.pod.patched({"status": {"nominatedNodeName": chosen}}))
            nominated.add(chosen, pod)
        self.cluster.keep_pending(pod)

    def _gated(self, pod: PodInfo) -> Attempt | None:
        """The attempt of a pod that may not enter the queue; None if it may."""
        profile = self.algorithm.profile
        gates = pod.pod.scheduling_gates if profile.heeds_gates else ()
        if gates:
            return gated_attempt(pod, 0, f"waiting for scheduling gates: [{' '.join(gates)}]")
        for plugin in self.algorithm.framework.plugins.pre_enqueue:
            status = plugin.pre_enqueue(pod)
            if not status.is_success:
                return gated_attempt(pod, 1, status.message)
        need = profile.unmodelled_need(pod.pod)
        return gated_attempt(pod, 1, need) if need else None

    def _schedule(self, pod: PodInfo) -> ScheduleResult:
        self.cycle += 1
        result = self.algorithm.schedule(
            pod,
            self.order if self.algorithm.takes_first_fit else None,
            explain=self.evidence,
            by_columns=self.by_columns,
            cycle=self.cycle,
        )
        devices = self.algorithm.devices
        if devices is None or result.node is None or result.search is None:
            return result
        problem = devices.pre_bind_error(result.search.state, result.node)
        if not problem:
            return result
        message = f'running PreBind plugin "{devices.name}": {problem}'
        return replace(result, result=ERROR, node=None, message=message)

    def _with_current_nomination(self, pod: PodInfo) -> PodInfo:
        """*pod* without the nomination in its status, if that was cleared since."""
        nominated_node = pod.pod.nominated_node_name
        if not nominated_node or self.algorithm.nominated.node_of(pod.key) == nominated_node:
            return pod
        return pod.updated(pod.pod.patched({"status": {"nominatedNodeName": None}}))

    def _plan(self, result: ScheduleResult) -> PodVolumes:
        search, binding = result.search, self.algorithm.framework.volume_binding
        if search is None or binding is None or result.row < 0:
            return PodVolumes()
        return binding.plan(search.state, result.row)

    def _place(self, result: ScheduleResult, plan: PodVolumes) -> None:
        self.algorithm.nominated.remove(result.pod.key)
        in_zone = self.algorithm.profile.rules.uses_predicates
        devices = self.cluster.place(result, plan, in_zone=in_zone)
        if devices is not None:
            self.attempts[-1]["devices"] = devices

    def _clear_lower(self, preemptor: PodInfo, row: int) -> None:
        """Clear the nomination of lower-priority pods on the node at *row*.

        Upstream: prepareCandidate(), getLowerPriorityNominatedPods().
        """
        for lower in self.algorithm.nominated.at(row):
            if lower.priority < preemptor.priority:
                self.algorithm.nominated.remove(lower.key)


def _minus_priority(pod: PodInfo) -> int:
    return -pod.priority
