"""The inside of a cycle, and of the memory of schedulers, on small clusters."""

from pathlib import Path
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.kernel.trace import Trace
from engine.kernel.units import SECOND
from engine.scheduler.cycle.inside.answer import Cycle, cycle_inside
from engine.scheduler.queue.trace_steps import Popped
from tests.builders import node, pod, scene

LOCAL_VOLUMES = Path(__file__).resolve().parents[3] / "scenarios" / "local-volumes.yaml"
TAINT = {"key": "k", "effect": "NoSchedule"}


def listened_to(cluster: Cluster, seconds: int = 20) -> Trace:
    trace = cluster.loop.trace = Trace(cluster.loop, cluster.recorder)
    cluster.advance(seconds * SECOND)
    return trace


def cycles_of(trace: Trace, name: str, version: str = "v1.36") -> list[Cycle]:
    entity = f"pod/default/{name}"
    numbers = [pop.scheduling_cycle for step, pop in trace.each(Popped) if step.entity == entity]
    found = [cycle_inside(trace.entries, version, entity, number) for number in numbers]
    return [cycle for cycle in found if cycle is not None]


def started(*objects: dict[str, Any], profile: str = "v1.36", **fields: Any) -> Cluster:
    return Cluster.create(scene(*objects, **fields), profile=profile)


def test_filters_after_a_refusal_are_never_called() -> None:
    trace = listened_to(started(node("a", taints=[TAINT]), node("b"), pod("p")))
    (cycle,) = cycles_of(trace, "p")
    assert cycle.filter is not None
    (search,) = cycle.filter.searches
    called = {one.node: one.called for one in search.nodes}
    refused = search.refusals[next(one.refusal for one in search.nodes if one.node == "a")]
    assert search.asked[called["a"] - 1] == refused.plugin == "TaintToleration"
    assert called["b"] == len(search.asked) > called["a"]
    assert search.calls == called["a"] + called["b"] < search.calls_at_most


def test_a_snapshot_copies_only_what_changed() -> None:
    cluster = started(node("a"), node("b"), node("c"), pod("p"), pod("q"))
    trace = listened_to(cluster)
    (first,), (second,) = cycles_of(trace, "p"), cycles_of(trace, "q")
    assert first.snapshot is not None
    assert second.snapshot is not None
    assert sorted(one.node for one in first.snapshot.taken.copied) == ["a", "b", "c"]
    host = first.host
    assert host is not None
    copied = second.snapshot.taken
    assert ([one.node for one in copied.copied], copied.kept) == ([host.node], 2)
    assert copied.before == first.snapshot.taken.after
    assert {(one.why, one.pod) for one in second.snapshot.changes} == {("pod added", "default/p")}


def test_a_search_begins_where_the_last_one_ended() -> None:
    nodes = [node(f"n{place:03}") for place in range(150)]
    trace = listened_to(started(*nodes, pod("p"), pod("q")), 2)
    (first,), (second,) = cycles_of(trace, "p"), cycles_of(trace, "q")
    assert first.order is not None
    assert second.order is not None
    assert first.filter is not None
    looked_at = len(first.filter.searches[0].nodes)
    assert first.order.searched.wanted == looked_at == 100
    assert (first.order.searched.start, second.order.searched.start) == (0, looked_at)
    assert second.order.searched.order[0] == f"n{looked_at:03}"


def test_hints_say_what_an_event_is_worth() -> None:
    cluster = started(node("a", cpu="1"), pod("big", cpu="4"))
    trace = listened_to(cluster, 5)
    cluster.apply(Command(verb="create", manifest=node("c", cpu="2")))
    cluster.apply(Command(verb="create", manifest=node("b", cpu="8")))
    cluster.advance(30 * SECOND)
    refused, tried, *_ = cycles_of(trace, "big")
    assert refused.queue.requeued is not None
    assert refused.queue.requeued.rejected_by == ("NodeResourcesFit",)
    cycles = [
        (one.event, [(asked.plugin, asked.queues) for asked in one.asked], one.strategy)
        for one in tried.queue.considered
        if one.event == "NodeAdd"
    ]
    assert cycles == [
        ("NodeAdd", [("NodeResourcesFit", False)], "SKIP"),
        ("NodeAdd", [("NodeResourcesFit", True)], "AFTER_BACKOFF"),
    ]
    assert [move.place for move in tried.queue.before] == ["unschedulable", "active"]
    assert tried.queue.before[-1].event == "NodeAdd"


@pytest.mark.parametrize("profile", ["v1.34", "v1.20"])
def test_a_backoff_shows_its_arithmetic(profile: str) -> None:
    cluster = started(node("a", cpu="1"), pod("big", cpu="4"), profile=profile)
    trace = listened_to(cluster, 5)
    cycle = cycles_of(trace, "big", profile)[0]
    requeued = cycle.queue.requeued
    assert requeued is not None
    backoff = requeued.backoff
    assert backoff is not None
    assert (backoff.failures, backoff.duration, backoff.initial) == (1, SECOND, SECOND)
    uncut = backoff.since + backoff.duration
    window = backoff.window
    assert backoff.ends == (uncut - uncut % window if window else uncut)
    assert backoff.over_at == backoff.ends + window


def test_counters_judge_without_hints() -> None:
    cluster = started(node("a", cpu="1"), pod("big", cpu="4"), profile="v1.16")
    (cycle,) = cycles_of(listened_to(cluster, 1), "big", "v1.16")
    requeued = cycle.queue.requeued
    assert requeued is not None
    assert requeued.judged_by == cycle.pop.judged_by == "moveRequestCycle"
    came_back_at_once = requeued.move_request_cycle >= requeued.pod_scheduling_cycle
    assert requeued.place == ("backoff" if came_back_at_once else "unschedulable")


def test_a_dry_run_tells_who_returns() -> None:
    low = {"priority": 0, "nodeName": "a"}
    cluster = started(
        node("a", cpu="4"),
        pod("small", cpu="1", **low),
        pod("large", cpu="3", **low),
        pod("vip", cpu="3", priority=10),
    )
    cycle = cycles_of(listened_to(cluster, 2), "vip")[0]
    assert cycle.post_filter is not None
    (run,) = cycle.post_filter.dry_runs
    assert {(one.pod, one.reprieved) for one in run.asked} == {
        ("default/small", True),
        ("default/large", False),
    }
    assert next(one.reasons for one in run.asked if not one.reprieved) == ("Insufficient cpu",)
    (candidate,) = cycle.post_filter.outcome.candidates
    assert (cycle.post_filter.outcome.node, candidate.victims) == ("a", ("default/large",))


@pytest.mark.parametrize("profile", ["v1.36", "v1.11"])
def test_volumes_are_shown_with_both_versions(profile: str) -> None:
    scenario = Scenario.from_load(load_paths([LOCAL_VOLUMES]), name="local-volumes")
    trace = listened_to(Cluster.create(scenario, profile=profile, seed=0), 30)
    entities = {step.entity.removeprefix("pod/default/") for step, _ in trace.each(Popped)}
    cycles = [cycle for name in entities for cycle in cycles_of(trace, name, profile)]
    bound = [cycle for cycle in cycles if cycle.volumes is not None and cycle.volumes.written]
    assert bound
    for cycle in bound:
        assert cycle.volumes is not None
        assumed = cycle.volumes.assumed[0]
        assert assumed.bind
        assert cycle.filter is not None
        plans = {one.node: one.volumes for one in cycle.filter.searches[0].nodes}
        chosen = plans[assumed.node]
        assert chosen is not None
        assert list(chosen.bind.items()) == [(one.claim, one.volume) for one in assumed.bind]
        others = [one.bind for name, one in plans.items() if one and name != assumed.node]
        assert chosen.bind not in others
        volume = next(one for one in assumed.caches if one.name == assumed.bind[0].volume)
        assert volume.assumed
        assert volume.latest_version == volume.informer_version
        if profile == "v1.11":
            assert [one.what for one in cycle.rounds] == ["queued", "ended"]
        elif cycle.volumes.looks:
            assert all(not one.is_bound for one in cycle.volumes.looks[:-1])


def test_a_standby_waits_for_the_lease_to_end() -> None:
    cluster = started(node("a"), schedulers=({"name": "default-scheduler", "replicas": 2},))
    cluster.advance(11 * SECOND)
    cluster.apply(Command(verb="stop_scheduler", object="scheduler/default-scheduler-0"))
    (held,) = [one.held() for one in cluster.replicas]
    assert [one.role for one in held.replicas] == ["stopped", "standby"]
    assert held.memory is None
    assert held.lease is not None
    assert (held.lease.renewed, held.lease.runs_out) == (10 * SECOND, 25 * SECOND)
    assert (held.lease.next_leader, held.lease.taken_at) == ("default-scheduler-1", 26 * SECOND)
