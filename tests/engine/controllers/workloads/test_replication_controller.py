"""ReplicationControllers run as ReplicaSets do, under their own name."""

from typing import Any

from tests.engine.controllers.workloads.builders import Json, World, make_node, make_pod, template


def _controller(replicas: int = 2, **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "template": template(), **spec},
    }


def test_it_makes_the_pods_it_asks_for() -> None:
    world = World(make_node("n1"), _controller(2))
    world.run(20)
    assert len(world.pods()) == 2
    status = world.get("ReplicationController").status
    assert (status["replicas"], status["readyReplicas"]) == (2, 2)
    (owner,) = world.pods()[0].owner_references
    assert (owner["apiVersion"], owner["kind"]) == ("v1", "ReplicationController")


def test_its_events_are_those_of_upstream() -> None:
    world = World(make_node("n1"), _controller(1))
    world.run(20)
    (pod,) = world.pods()
    assert world.said("replication-controller") == [f"SuccessfulCreate: Created pod: {pod.name}"]


def test_it_follows_a_new_number_of_replicas() -> None:
    world = World(make_node("n1"), _controller(3))
    world.run(20)
    world.patch("replicationcontroller/default/web", spec={"replicas": 1})
    world.run(60)
    assert len(world.pods()) == 1


def test_it_adopts_matching_orphans() -> None:
    world = World(make_node("n1"), make_pod("old", "n1"), _controller(1))
    world.run(20)
    assert world.names() == ["old"]


def test_its_pods_go_with_it() -> None:
    world = World(make_node("n1"), _controller(2))
    world.run(20)
    world.do("delete", "replicationcontroller/default/web")
    world.run(60)
    assert world.pods() == []


def test_it_restores_a_status_that_was_overwritten() -> None:
    world = World(make_node("n1"), _controller(2))
    world.run(20)
    before = world.get("ReplicationController").status
    zeros = {"readyReplicas": 0, "availableReplicas": 0}
    world.patch("replicationcontroller/default/web", status=zeros)
    world.run(1)
    assert world.get("ReplicationController").status == before
