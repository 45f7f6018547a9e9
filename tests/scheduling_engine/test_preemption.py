"""Preemption in a whole cluster that runs."""

from typing import Any

import pytest

from kscope.sim.units import SECOND
from scheduling.engine.cluster import Cluster
from scheduling.engine.commands import Command
from tests.scheduling_engine.scenes import node, node_of, played, pod, scene


def _started(cluster: Cluster, name: str, at: str) -> None:
    status = {"phase": "Running", "startTime": at}
    command = Command(verb="patch", object=f"pod/default/{name}", patch={"status": status})
    outcome = cluster.apply(command)
    assert outcome.applied, outcome.reason


@pytest.mark.parametrize("profile", ["v1.34", "v1.16"])
@pytest.mark.parametrize(("first", "second", "spared"), [("01", "02", "a"), ("02", "01", "b")])
def test_who_has_run_for_longer_is_spared(
    profile: str, first: str, second: str, spared: str
) -> None:
    """However it was when they were bound. Upstream: util.MoreImportantPod()."""
    low: dict[str, Any] = {"nodeName": "n", "terminationGracePeriodSeconds": 0}
    objects = [node("n", cpu="2"), pod("a", **low), pod("b", **low)]
    cluster = Cluster.create(scene(*objects, until=100 * SECOND), profile=profile)
    cluster.advance(5 * SECOND)
    _started(cluster, "a", f"2026-01-01T00:00:{first}Z")
    _started(cluster, "b", f"2026-01-01T00:00:{second}Z")
    cluster.advance(10 * SECOND)
    created = cluster.apply(Command(verb="create", manifest=pod("high", priority=10)))
    assert created.applied, created.reason
    played(cluster, 30)
    assert node_of(cluster, "high") == "n"
    left = [one.name for one in cluster.store.objects("Pod")]
    assert sorted(left) == sorted(["high", spared])


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16"])
def test_a_victim_says_for_whom_it_had_to_go(profile: str) -> None:
    """Since 1.26, while it terminates. Upstream: preemption.go PreemptPod()."""
    low = pod("low", cpu="2", nodeName="n")
    steps = ((5, "create", {"manifest": pod("high", cpu="2", priority=10)}),)
    cluster = Cluster.create(scene(node("n", cpu="2"), low, steps=steps), profile=profile)
    cluster.advance(5 * SECOND + SECOND // 2)
    victim = cluster.store.get("Pod", "default/low")
    assert victim.deletion_timestamp
    told = [
        each["message"]
        for each in victim.status["conditions"]
        if each["type"] == "DisruptionTarget" and each["reason"] == "PreemptionByScheduler"
    ]
    expected = "default-scheduler: preempting to accommodate a higher priority pod"
    assert told == ([expected] if profile == "v1.34" else [])
