"""Nodes that are lost under v1.11, where the node controller deletes their pods by itself."""

from collections.abc import Callable

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.controllers.node_lifecycle.node_eviction import EvictingNodeController
from engine.controllers.shared.ticker import Ticker
from engine.input.scenario import Scenario, Step
from engine.kernel.units import MINUTE, SECOND
from tests.engine.controllers.workloads.builders import Json, World, make, make_node, make_pod

ZONE = "failure-domain.beta.kubernetes.io/zone"
PAIR = (make_node("n1"), make_node("n2"))


def ready(status: str) -> Json:
    return {"conditions": [{"type": "Ready", "status": status}]}


def world_of(*objects: Json) -> World:
    return World(*objects, profile="v1.11")


def dead(world: World, *names: str) -> None:
    for name in names:
        world.do("fault", patch={"die": name})


def lost(world: World) -> list[str]:
    return [
        each.removeprefix("DeletingAllPods: ")
        for each in world.said("node-controller")
        if each.startswith("DeletingAllPods")
    ]


def test_a_dead_nodes_pods_go_after_five_minutes() -> None:
    world = world_of(*PAIR, make("Deployment", replicas=4))
    world.run(7)
    before = [pod.name for pod in world.pods() if pod.node_name == "n1"]
    dead(world, "n1")
    world.run(10 * 60)
    # Silent since 7 s: five minutes later, at the next tick of 5 s and the next pass of 100 ms.
    assert world.facts("NodeStatusUnknown") == [50.0]
    assert world.facts("DeletingAllPods") == [310.1]
    assert lost(world) == ["Node n1 event: Deleting all Pods from Node n1."]
    told = [each for each in world.said("node-controller") if "NodeControllerEviction" in each]
    assert told == [
        f"NodeControllerEviction: Marking for deletion Pod {name} from Node n1"
        for name in sorted(before)
    ]
    gone = world.get("Pod", before[0])
    assert gone.deletion_timestamp
    assert (gone.status["reason"], gone.status["message"]) == (
        "NodeLost",
        f"Node n1 which was running pod {before[0]} is unresponsive",
    )
    assert [pod.node_name for pod in world.pods()] == ["n2"] * 4


def test_before_taints_the_scheduler_reads_node_conditions() -> None:
    world = world_of(*PAIR)
    dead(world, "n1")
    world.run(60)
    node = world.store.get("Node", "n1")
    assert not node.spec.get("taints")
    told = {each["type"]: each["status"] for each in node.status["conditions"]}
    kinds = ("OutOfDisk", "MemoryPressure", "DiskPressure", "Ready")
    assert told == dict.fromkeys(kinds, "Unknown")
    world.do("cordon", "node/n2")
    world.do("create", manifest=make_pod("late"))
    world.run(5)
    assert world.get("Pod", "late").status["conditions"][0]["message"] == (
        "0/2 nodes are available: 1 node(s) were not ready, 1 node(s) were out of disk space, "
        "1 node(s) were unschedulable."
    )
    world.do("fault", patch={"revive": "n1"})
    world.run(15)
    assert world.get("Pod", "late").spec["nodeName"] == "n1"


def test_eviction_starts_five_minutes_after_the_observation() -> None:
    world = world_of(*PAIR, make_pod("p", "n1"))
    world.run(12)
    world.patch("node/n1", status=ready("False"))
    world.run(600)
    assert world.facts("DeletingAllPods") == [320.1]


def test_node_that_recovers_in_time_keeps_its_pods() -> None:
    world = world_of(*PAIR, make_pod("p", "n1"))
    world.patch("node/n1", status=ready("False"))
    world.run(295)
    world.patch("node/n1", status=ready("True"))
    world.run(10)
    world.patch("node/n1", status=ready("False"))
    world.run(290)
    assert world.names() == ["p"]
    world.run(25)
    assert world.names() == []


def test_a_node_is_emptied_once_per_outage() -> None:
    world = world_of(*PAIR, make_pod("p", "n1"))
    world.patch("node/n1", status=ready("Unknown"))
    world.run(320)
    world.do("create", manifest=make_pod("late", "n1"))
    world.run(900)
    assert world.names() == ["late"]
    assert world.cluster.next_at is None
    world.patch("node/n1", status=ready("True"))
    world.run(10)
    world.patch("node/n1", status=ready("Unknown"))
    world.run(320)
    assert world.names() == []


def test_pods_of_daemon_sets_stay_where_they_are() -> None:
    world = world_of(*PAIR, make("DaemonSet"), make_pod("p", "n1", labels={"app": "x"}))
    world.run(10)
    world.patch("node/n1", status=ready("False"))
    world.run(320)
    (daemon,) = [pod for pod in world.pods() if pod.node_name == "n1"]
    assert daemon.name != "p"
    assert daemon.status["reason"] == "NodeLost"


def test_a_zone_takes_one_node_in_ten_seconds() -> None:
    nodes = [make_node(f"n{number}") for number in range(6)]
    pods = [make_pod(f"p{number}", f"n{number}") for number in range(2)]
    world = world_of(*nodes, *pods)
    for name in ("n0", "n1"):
        world.patch(f"node/{name}", status=ready("False"))
    world.run(400)
    assert world.facts("DeletingAllPods") == [310.1, 320.1]


def test_a_mostly_unready_small_zone_evicts_nothing() -> None:
    nodes = [make_node(f"n{number}", **{ZONE: "a"}) for number in range(5)]
    world = world_of(*nodes, make_node("far", **{ZONE: "b"}), make_pod("p", "n0"))
    for name in ("n0", "n1", "n2"):
        world.patch(f"node/{name}", status=ready("False"))
    world.run(600)
    assert world.names() == ["p"]
    world.patch("node/n2", status=ready("True"))
    world.run(10)
    assert world.names() == []


def test_evictions_pause_while_every_node_is_unready() -> None:
    world = world_of(*PAIR, make_pod("p", "n1"))
    for name in ("n1", "n2"):
        world.patch(f"node/{name}", status=ready("Unknown"))
    world.run(900)
    assert world.names() == ["p"]
    assert world.cluster.next_at is None
    world.patch("node/n2", status=ready("True"))
    world.run(290)
    # n1's own time had run out before: it was in the queue at once.
    assert world.facts("DeletingAllPods") == [905.1]


def test_a_node_not_yet_overdue_gets_full_grace() -> None:
    world = world_of(*PAIR, make_pod("p", "n1"))
    for name in ("n1", "n2"):
        world.patch(f"node/{name}", status=ready("Unknown"))
    world.run(200)
    world.patch("node/n2", status=ready("True"))
    world.run(600)
    assert world.facts("DeletingAllPods") == [510.1]


def test_a_users_taint_evicts_pods() -> None:
    world = world_of(*PAIR, make_pod("p", "n1"))
    taint = {"key": "maintenance", "effect": "NoExecute"}
    world.patch("node/n1", spec={"taints": [taint]})
    world.run(5)
    assert world.names() == []
    assert world.said("taint-controller") == [
        "TaintManagerEviction: Marking for deletion Pod default/p"
    ]


def test_a_restarted_controller_gives_the_full_time_again() -> None:
    world = world_of(*PAIR, make_pod("p", "n1"))
    world.patch("node/n1", status=ready("False"))
    world.run(200)
    world.do("fault", patch={"restart": "kube-controller-manager"})
    world.run(200)
    assert world.names() == ["p"]
    world.run(120)
    assert world.names() == []


def test_a_run_continues_from_a_checkpoint_during_eviction() -> None:
    def play(freeze: Callable[[Cluster], Cluster]) -> str:
        nodes = [make_node(f"n{number}") for number in range(6)]
        pods = [make_pod(f"p{number}", f"n{number}") for number in range(6)]
        steps = tuple(
            Step(at=SECOND, verb="fault", patch={"die": name}) for name in ("n0", "n1", "n2")
        )
        scenario = Scenario(name="x", objects=(*nodes, *pods), steps=steps, until=20 * MINUTE)
        cluster = Cluster.create(scenario, profile="v1.11")
        cluster.advance(312 * SECOND)
        cluster.take()
        cluster = freeze(cluster)
        cluster.advance(20 * MINUTE)
        cluster.take()
        gone = [pod.name for pod in cluster.store.objects("Pod") if pod.deletion_timestamp]
        assert gone == ["p0", "p1", "p2"]
        return cluster.digest()

    assert play(lambda one: one) == play(lambda one: Cluster.restore(one.checkpoint()))


def test_failed_write_is_repeated_at_the_next_turn() -> None:
    world = world_of(*PAIR, make_pod("p", "n1"), make_pod("q", "n1"))
    world.patch("node/n1", status=ready("False"))
    world.run(304)
    fault = {"fail": "write", "kind": "Pod", "by": "node-controller", "times": 1, "text": "no"}
    assert world.cluster.apply(Command(verb="fault", patch=fault)).applied
    world.run(60)
    assert world.names() == []
    assert len(world.facts("DeletingAllPods")) == 2


def test_the_soonest_tick_that_is_asked_for_counts() -> None:
    class Noted:
        def __init__(self) -> None:
            self.at: list[float] = []

        def tick(self) -> None:
            self.at.append(loop.now / SECOND)

    loop, noted = world_of().cluster.loop, Noted()
    ticker = Ticker(loop, 5 * SECOND, noted.tick)
    for after in (22, 11, 13):
        ticker.arm(after * SECOND)
    loop.run_due(MINUTE, None)
    assert noted.at == [15.0]
    ticker.arm()
    loop.run_due(2 * MINUTE, None)
    assert len(noted.at) == 2


@pytest.mark.parametrize(("profile", "evicts"), [("v1.11", True), ("v1.16", False)])
def test_only_v1_11_evicts_by_itself(profile: str, evicts: bool) -> None:
    controller = World(profile=profile).cluster.workloads.node_lifecycle
    assert isinstance(controller, EvictingNodeController) == evicts


def _evicting_taints(world: World) -> list[float]:
    """When nodes were tainted so that their pods go."""
    return [
        event.at / SECOND
        for event in world.cluster.recorder.pending
        if event.kind == "NodeTainted" and "NoExecute" in (event.message or "")
    ]


def test_nodes_of_a_zone_are_tainted_in_turn() -> None:
    nodes = [make_node(f"{zone}{number}", **{ZONE: zone}) for zone in "ab" for number in range(4)]
    world = World(*nodes, profile="v1.16")
    for name in ("a0", "a1", "b0"):
        world.patch(f"node/{name}", status=ready("False"))
    world.run(60)
    assert _evicting_taints(world) == [5.0, 5.0, 15.0]


def test_a_mostly_unready_small_zone_gets_no_taints() -> None:
    nodes = [make_node(f"n{number}", **{ZONE: "a"}) for number in range(5)]
    world = World(*nodes, make_node("far", **{ZONE: "b"}), profile="v1.16")
    for name in ("n0", "n1", "n2"):
        world.patch(f"node/{name}", status=ready("False"))
    world.run(60)
    assert _evicting_taints(world) == []
    world.patch("node/n2", status=ready("True"))
    world.run(30)
    assert len(_evicting_taints(world)) == 2


def test_a_mostly_unready_large_zone_is_emptied_slowly() -> None:
    nodes = [make_node(f"n{number:02d}", **{ZONE: "a"}) for number in range(60)]
    world = World(*nodes, profile="v1.16")
    for number in range(40):
        world.patch(f"node/n{number:02d}", status=ready("False"))
    world.run(250)
    assert _evicting_taints(world) == [5.0, 105.0, 205.0]


def test_taints_return_when_a_node_recovers() -> None:
    world = World(*PAIR, make_pod("p", "n1"), profile="v1.16")
    for name in ("n1", "n2"):
        world.patch(f"node/{name}", status=ready("Unknown"))
    world.run(600)
    assert world.cluster.next_at is None
    world.patch("node/n2", status=ready("True"))
    world.run(10)
    assert _evicting_taints(world)[-1] == 605.0
