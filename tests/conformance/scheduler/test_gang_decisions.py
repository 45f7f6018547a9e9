"""The decisions of a real kube-scheduler 1.36.3 that schedules the pods of a group together.

One pass in queue order, as in decisions mode; a pod of a group is tried with all others of it, by
the scheduler's own `GroupCycle`. Victims are gone at once, and the group that they make room for is
tried again at once. The reference orders the members of a group by a Go map, and they are alike:
how many got a node and which nodes these are is compared, not which member got which.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from engine.framework import names
from engine.framework.framework import PodVolumes
from engine.framework.handle import Handle
from engine.framework.nodes.nominated import Nominated
from engine.framework.pod_groups.groups import PodGroups, group_of
from engine.framework.pods.pod_info import PodInfo
from engine.input.load_result import SetupReport
from engine.input.loader import load_files
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.scenario_schedulers import (
    check_setup,
    setup_without_configuration,
)
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.attempt import Attempt
from engine.scheduler.cycle.decisions_mode.decide import Decisions
from engine.scheduler.cycle.decisions_mode.decided_cluster import DecidedCluster
from engine.scheduler.cycle.decisions_mode.stored_objects import admitted
from engine.scheduler.cycle.group_cycle import GroupAttempt, GroupCycle, Outcome
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.versions.kubernetes_version import with_gates
from engine.versions.registry import VERSIONS
from tests.conformance.vectors import Json, parametrised
from tests.vectors import vector_set

GATES = {"GenericWorkload": True, "GangScheduling": True}
_FIELDS = ("result", "node", "tied", "filters", "scores", "volumes", "message")


class Gangs:
    """Decides on one pod or group after the other, without time, and keeps what was decided."""

    def __init__(self, path: Path) -> None:
        loaded = load_files([(path.name, path.read_bytes())], check=_check_with_groups)
        assert loaded.ok, loaded.problems
        kubernetes = with_gates(VERSIONS["v1.36"], GATES)
        (profile,) = setup_without_configuration(kubernetes).profiles
        self.handle = Handle()
        self.placed: dict[str, None] = {}
        self.groups = PodGroups(self.handle.listers, self.placed)
        self.handle.shared[names.GANG_SCHEDULING] = self.groups
        self.nominated = Nominated(self.handle.table)
        self.algorithm = SchedulingAlgorithm(profile, self.handle, nominated=self.nominated)
        self.cluster = DecidedCluster(self.handle)
        self.waiting = self.cluster.read(
            admitted([from_manifest(raw) for raw in loaded.manifests]), profile
        )
        self.waiting.sort(key=lambda info: -info.priority)
        for info in self.waiting:
            self.groups.observe(info.pod, gone=False)
        self.single = Decisions(
            self.algorithm, self.cluster, {profile.name: self.algorithm}, True, False, False
        )
        nothing = cast("Any", None)
        # Only the binding of the two is asked before a group's result is carried out.
        self.cycle = GroupCycle(nothing, self.groups, cast("Any", self), nothing, self._decide)
        self.decided: list[Json] = []

    def decide(self) -> list[Json]:
        """Every attempt of every pod and group."""
        tried: dict[str, None] = {}
        for info in self.waiting:
            group = group_of(info.pod)
            if not group:
                before = len(self.single.attempts)
                self.single.decide(info)
                self.decided += self.single.attempts[before:]
            elif group not in tried:
                tried[group] = None
                self._decide_group(group)
        return orjson.loads(orjson.dumps(self.decided))

    def try_on(self, attempt: Attempt, node: str) -> Callable[[], None]:
        """Count the pod on *node* for those of its group that are tried after it; how to undo that."""
        table, pod = self.handle.table, attempt.queued.pod_info.assigned_to(node)
        table.add_pod(table.rows[node], pod)
        table.hide_on_trial(node, pod)
        self.placed[pod.key] = None
        self.nominated.remove(pod.key)
        return partial(self._take_off, pod, node)

    def _take_off(self, pod: PodInfo, node: str) -> None:
        table = self.handle.table
        table.show_again(node, pod)
        table.remove_pod(table.rows[node], pod.key)
        del self.placed[pod.key]

    def _decide(self, queued: QueuedPodInfo) -> Attempt:
        decision = self.algorithm.schedule(queued.pod_info, explain=False)
        self.algorithm.preempt(decision)
        return Attempt(queued, decision, 0, 0)

    def _decide_group(self, group: str) -> None:
        members = [
            QueuedPodInfo(info, 0)
            for info in self.waiting
            if group_of(info.pod) == group and self.single._gated(info) is None
        ]
        for number in range(1, 8 if members else 1):
            tried = self.cycle.attempt(group, members)
            self.decided.append(_told(tried, number))
            if tried.outcome is Outcome.SCHEDULED:
                self._place(tried)
            if tried.outcome is not Outcome.WAITS_FOR_PREEMPTION:
                return
            self._make_room(tried)

    def _place(self, tried: GroupAttempt) -> None:
        for attempt in tried.attempts:
            if attempt.decision.node is not None:
                self.placed[attempt.queued.key] = None
                self.cluster.place(attempt.decision, PodVolumes(), in_zone=False)

    def _make_room(self, tried: GroupAttempt) -> None:
        for attempt in tried.attempts:
            node, preemption = attempt.decision.node, attempt.decision.preemption
            if preemption is not None and preemption.chosen is not None:
                chosen, node = preemption.chosen, preemption.chosen.node
                for victim in [*chosen.victims]:
                    if victim.key in self.cluster.evicted:
                        chosen.victims.remove(victim)
                self.cluster.evict(chosen)
            if node is not None:
                self.nominated.add(node, attempt.queued.pod_info)


def _check_with_groups(scenario: Mapping[str, Any], *rest: Any) -> SetupReport:
    """PodGroups are read only behind their gate."""
    return check_setup({**scenario, "feature_gates": GATES, "profile": "v1.36"}, *rest)


def _told(tried: GroupAttempt, number: int) -> Json:
    decisions = [attempt.decision for attempt in tried.attempts]
    return {
        "group": tried.group,
        "cycle": number,
        "result": "scheduled" if tried.outcome is Outcome.SCHEDULED else "unschedulable",
        "message": tried.message,
        "waiting_on_preemption": tried.outcome is Outcome.WAITS_FOR_PREEMPTION,
        "nodes": sorted(one.node for one in decisions if one.node is not None),
        "victims": sorted(
            victim.key
            for one in decisions
            if one.preemption is not None and one.preemption.chosen is not None
            for victim in one.preemption.chosen.victims
        ),
    }


def _comparable(attempt: Json) -> Json:
    """What has to be equal of an attempt of a pod, or of the cycle of a group."""
    if "group" in attempt:
        told = {**attempt}
        pods = told.pop("pods", None)
        told.pop("permit", None)
        if pods is not None:
            told["nodes"] = sorted(pod["node"] for pod in pods if pod["node"])
            told["victims"] = sorted(
                victim for pod in pods for victim in (pod["preemption"] or {}).get("victims") or ()
            )
        return told
    told = {field: attempt[field] for field in _FIELDS}
    told["tied"] = sorted(told["tied"])
    told["filters"] = {
        node: verdict and (verdict["plugin"], sorted(verdict["reasons"]))
        for node, verdict in told["filters"].items()
    }
    if attempt["single_feasible"]:
        del told["scores"]
    preemption = attempt["preemption"] or {}
    return told | {"room": (preemption.get("node"), sorted(preemption.get("victims") or ()))}


def _files() -> list[Any]:
    found = sorted(vector_set("gangs-v1.36").glob("*.yaml"))
    cases = ((path.stem, path) for path in found) if found else None
    return parametrised(cases, absent="gangs-v1.36")


@pytest.mark.parametrize("path", _files())
def test_groups_are_decided_as_in_kube_scheduler(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())["attempts"]
    decided = Gangs(path).decide()
    assert [_name(each) for each in decided] == [_name(each) for each in expected]
    for got, wanted in zip(decided, expected, strict=True):
        assert _comparable(got) == _comparable(wanted), _name(wanted)


def _name(attempt: Json) -> tuple[str, int]:
    if "group" in attempt:
        return attempt["group"], attempt["cycle"]
    return attempt["pod"], attempt["attempt"]
