"""A pod that was popped and needs no attempt, or no longer, is not shown in the queue any more."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.units import SECOND
from tests.builders import node, pod, scene

READY = {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Slow"}]}}


def do(cluster: Cluster, **command: Any) -> None:
    outcome = cluster.apply(Command(**command))
    assert outcome.applied, outcome.reason


def during_the_attempt(*objects: Any, profile: str) -> Cluster:
    """A cluster that is about to conclude the first attempt."""
    cluster = Cluster.create(scene(*objects), profile=profile)
    while not any(event.kind == "AttemptStarted" for event in cluster.untaken):
        cluster.advance(SECOND, stop="event")
    return cluster


def shown(cluster: Cluster) -> dict[str, Any]:
    """What the pages show of the pod a moment later."""
    cluster.advance(cluster.now + SECOND)
    cluster.take()
    return cluster.view()["pod/default/p"]


@pytest.mark.parametrize("profile", ["v1.11", "v1.16", "v1.20"])
def test_updated_pod_can_return_during_its_attempt(profile: str) -> None:
    cluster = during_the_attempt(node("n"), pod("p"), profile=profile)
    do(cluster, verb="patch", object="pod/default/p", patch=READY)
    found = shown(cluster)
    assert found["cache"] == "added"
    assert "queue" not in found


@pytest.mark.parametrize("profile", ["v1.16", "v1.36"])
def test_pod_that_somebody_else_binds_during_its_attempt(profile: str) -> None:
    cluster = during_the_attempt(node("a"), node("b"), pod("p"), profile=profile)
    do(cluster, verb="bind", object="pod/default/p", node="b")
    found = shown(cluster)
    assert (found["cache"], found["node"]) == ("added", "b")
    assert "queue" not in found


@pytest.mark.parametrize("profile", ["v1.16", "v1.36"])
def test_a_pod_that_a_finalizer_holds(profile: str) -> None:
    held = pod("p", cpu="2")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    cluster = Cluster.create(scene(node("small", cpu="1"), held), profile=profile)
    cluster.advance(5 * SECOND)
    do(cluster, verb="delete", object="pod/default/p", grace_seconds=0)
    do(cluster, verb="create", manifest=node("large", cpu="4"))
    cluster.advance(20 * SECOND)
    found = shown(cluster)
    assert "node" not in found
    assert "queue" not in found
