"""A run stops where its budget is used up, at the same step whatever it is driven by."""

from collections.abc import Mapping
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.budget import Budget
from engine.input.scenario import Scenario, Step
from engine.kernel.units import MINUTE, SECOND
from engine.objects.selectors import LabelSelector
from tests.engine.controllers.workloads.builders import Json, make, make_node

_MANY = 2**31 - 1


def _replicated(replicas: int, kind: str = "ReplicaSet", **spec: Any) -> Scenario:
    made = make(kind, replicas=replicas, **spec)
    return Scenario(name="test", objects=(make_node("n1"), made), until=10 * MINUTE)


def test_a_large_cluster_may_double() -> None:
    small, large = (Budget.of({"objects": [{}] * many}) for many in (10, 200_000))
    assert small == Budget()
    assert (large.objects, large.memory) == (400_000, 200_000 * 16 * 1024)
    asked = Budget.of({"objects": [{}] * 200_000, "budget": {"memory": 1024}})
    assert (asked.objects, asked.memory) == (400_000, 1024)


def _limited(scenario: Scenario, **parts: int) -> Cluster:
    cluster = Cluster.create(scenario)
    cluster.limit(Budget(**parts))
    return cluster


def _driven(cluster: Cluster, steps: int | None = None) -> Cluster:
    """Until nothing is due or the budget is used up."""
    while cluster.next_at is not None and cluster.budget_stop is None:
        cluster.advance(cluster.horizon, max_steps=steps, rest=False)
    cluster.take()
    return cluster


def _message(cluster: Cluster) -> str:
    stop = cluster.budget_stop
    return "" if stop is None else stop.message


def test_a_run_stops_at_its_events() -> None:
    cluster = _driven(_limited(_replicated(20), events=100))
    assert _message(cluster) == (
        "Stopped at 100 events, the budget of this run. Raise it to go on."
    )
    assert 100 <= cluster.seq < 200


def test_a_run_stops_at_its_virtual_time() -> None:
    late = Step(at=5 * MINUTE, verb="cordon", object="node/n1")
    scenario = Scenario(name="test", objects=(make_node("n1"),), steps=(late,), until=10 * MINUTE)
    cluster = _driven(_limited(scenario, time=2 * MINUTE))
    cluster.advance(cluster.horizon)
    assert _message(cluster) == (
        "Stopped at 2 min of virtual time, the budget of this run. Raise it to go on."
    )
    assert cluster.now <= 2 * MINUTE


def test_finished_run_has_not_used_up_its_time() -> None:
    cluster = _driven(_limited(_replicated(1), time=9 * MINUTE))
    assert cluster.budget_stop is None


class _Endless:
    """Creates one object after the other, as a broken controller would."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        cluster.loop.call_after(SECOND, self.create)

    def create(self) -> None:
        store = self._cluster.store
        manifest = {"kind": "ConfigMap", "metadata": {"name": f"c{store.limit.count}"}}
        self._cluster.apply(Command(verb="create", manifest=manifest))
        self._cluster.loop.call_after(SECOND // 100, self.create)


def test_a_run_stops_at_its_objects() -> None:
    cluster = _limited(_replicated(1), objects=50)
    _Endless(cluster)
    _driven(cluster)
    assert cluster.objects == 51
    assert _message(cluster) == (
        "Stopped at 50 objects, the budget of this run. command has made 48 of them. "
        "Raise it to go on."
    )


@pytest.mark.parametrize("kind", ["ReplicaSet", "Deployment", "StatefulSet"])
def test_too_many_replicas_stop_a_run_immediately(kind: str) -> None:
    spec: Json = {"podManagementPolicy": "Parallel"} if kind == "StatefulSet" else {}
    cluster = _driven(_limited(_replicated(_MANY, kind, **spec)))
    assert "asks for 2,147,48" in _message(cluster)
    assert cluster.objects < 1_000
    assert cluster.now < MINUTE


@pytest.mark.parametrize("profile", ["v1.16", "v1.34"])
def test_too_many_parallel_pods_stop_a_run_immediately(profile: str) -> None:
    job = make("Job", parallelism=_MANY, completions=_MANY)
    scenario = Scenario(name="test", objects=(make_node("n1"), job), until=10 * MINUTE)
    cluster = Cluster.create(scenario, profile=profile)
    cluster.limit(Budget())
    _driven(cluster)
    assert "Job default/web asks for 2,147,483,147 more" in _message(cluster)


def test_a_workload_scaled_by_command_is_stopped_too() -> None:
    cluster = _limited(_replicated(1, "Deployment"))
    cluster.advance(MINUTE)
    patch = {"spec": {"replicas": _MANY}}
    outcome = cluster.apply(Command(verb="patch", object="deployment/default/web", patch=patch))
    assert outcome.applied
    assert "ReplicaSet default/web-" in _message(_driven(cluster))


def test_a_run_that_was_scaled_down_goes_on() -> None:
    cluster = _driven(_limited(_replicated(_MANY, "ReplicaSet")))
    patch = {"spec": {"replicas": 2}}
    cluster.apply(Command(verb="patch", object="replicaset/default/web", patch=patch))
    _driven(cluster)
    assert cluster.budget_stop is None
    assert cluster.store.get("ReplicaSet", "default/web").status["replicas"] == 2


def test_raised_budget_continues_as_if_none_had_been() -> None:
    scenario = _replicated(40, "Deployment")
    stopped = _driven(_limited(scenario, events=300))
    stopped.limit(Budget())
    assert _driven(stopped).digest() == _driven(Cluster.create(scenario)).digest()


@pytest.mark.parametrize("parts", [{"events": 700}, {"objects": 60}, {"time": 2 * SECOND}])
def test_where_a_run_stops_depends_on_no_slice(parts: dict[str, int]) -> None:
    scenario = _replicated(80, "Deployment")
    whole = _driven(_limited(scenario, **parts))
    assert whole.budget_stop is not None
    for steps in (1, 7, 200):
        sliced = _driven(_limited(scenario, **parts), steps)
        assert (sliced.digest(), sliced.steps) == (whole.digest(), whole.steps)


@pytest.mark.parametrize("parts", [{"events": 700}, {"objects": 60}])
def test_a_restored_run_stops_at_the_same_step(parts: dict[str, int]) -> None:
    scenario = _replicated(80, "Deployment")
    whole = _driven(_limited(scenario, **parts))
    cluster = Cluster.create(scenario)
    cluster.advance(cluster.horizon, max_steps=10, rest=False)
    cluster.take()
    restored = Cluster.restore(cluster.checkpoint())
    restored.limit(Budget(**parts))
    assert _driven(restored).digest() == whole.digest()


def test_stepping_stops_at_the_budget() -> None:
    cluster = _driven(_limited(_replicated(20), events=100))
    seq = cluster.seq
    assert not cluster.advance(cluster.horizon, stop="event")
    assert cluster.seq == seq


def test_selector_is_asked_once_for_alike_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Job whose selector misses its own pods lets go of each of them, and makes another."""
    asked: list[LabelSelector] = []
    matches = LabelSelector.matches

    def counted(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
        asked.append(selector)
        return matches(selector, labels)

    monkeypatch.setattr(LabelSelector, "matches", counted)
    job = make("Job", selector={"matchLabels": {"app": "other"}})
    scenario = Scenario(name="test", objects=(job,), until=10 * MINUTE)
    cluster = _driven(_limited(scenario, objects=300))
    assert cluster.budget_stop is not None
    assert len(asked) < 10 * cluster.objects
