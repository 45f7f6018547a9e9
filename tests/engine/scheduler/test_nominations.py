"""Who is nominated for a node, and until when others leave room for it."""

import pytest

from engine.cluster.cluster import Cluster
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import SECOND
from engine.objects.objects import from_manifest
from engine.scheduler.configuration import profiles
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decisions_mode.decide import decide
from tests.builders import apply_command, node, node_of, pod, scene
from tests.engine.scheduler.queue.queue_contents import unschedulable_pods
from tests.engine.scheduler_builders import make_node, make_pod

PROFILES = ("v1.34", "v1.20", "v1.16")


def _nominated(cluster: Cluster, name: str) -> str:
    return cluster.store.get("Pod", f"default/{name}").status.get("nominatedNodeName") or ""


def _facts(cluster: Cluster) -> list[str]:
    return [event.kind for event in cluster.take().events]


@pytest.mark.parametrize("profile", PROFILES)
def test_preemptor_that_is_deleted_reserves_nothing_any_more(profile: str) -> None:
    low = pod("low", cpu="2", nodeName="n", terminationGracePeriodSeconds=30)
    cluster = Cluster.create(scene(node("n", cpu="2"), low, until=100 * SECOND), profile=profile)
    cluster.advance(5 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(10 * SECOND)
    assert _nominated(cluster, "high") == "n"
    apply_command(cluster, verb="delete", object="pod/default/high", grace_seconds=0)
    apply_command(cluster, verb="create", manifest=pod("middle", cpu="1", priority=5))
    cluster.advance(90 * SECOND)
    assert node_of(cluster, "middle") == "n"


@pytest.mark.parametrize("profile", PROFILES)
def test_pod_with_a_nomination_has_room_kept(profile: str) -> None:
    """As after a restart of the scheduler, or out of a cluster that was saved."""
    leaving = pod("leaving", cpu="1", nodeName="n", terminationGracePeriodSeconds=60)
    high = {**pod("high", cpu="2", priority=10), "status": {"nominatedNodeName": "n"}}
    cluster = Cluster.create(
        scene(node("n", cpu="2"), leaving, until=200 * SECOND), profile=profile
    )
    cluster.advance(5 * SECOND)
    apply_command(cluster, verb="delete", object="pod/default/leaving")
    apply_command(cluster, verb="create", manifest=high)
    cluster.advance(6 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("small", cpu="1"))
    cluster.advance(20 * SECOND)
    assert node_of(cluster, "small") == ""
    cluster.advance(150 * SECOND)
    assert node_of(cluster, "high") == "n"


@pytest.mark.parametrize(
    ("profile", "allocatable", "expected"),
    [
        # Evictions might help, but there is nobody to evict.
        ("v1.34", "1", ""),
        ("v1.20", "1", "n"),
        ("v1.16", "1", "n"),
        # Nothing that evictions could help.
        ("v1.34", "4", ""),
        ("v1.20", "4", ""),
        ("v1.16", "4", ""),
    ],
)
def test_pod_hopes_no_longer_than_its_version_allows(
    profile: str, allocatable: str, expected: str
) -> None:
    """Upstream: preemption.go Preempt(); before 1.22 only without potential nodes."""
    cordoned = {"unschedulable": True} if allocatable == "4" else {}
    high = {**pod("high", cpu="2", priority=10), "status": {"nominatedNodeName": "n"}}
    objects = ({**node("n", cpu=allocatable), "spec": cordoned}, high)
    cluster = Cluster.create(scene(*objects, until=100 * SECOND), profile=profile)
    cluster.advance(5 * SECOND)
    assert node_of(cluster, "high") == ""
    assert _nominated(cluster, "high") == expected
    assert ("NominationCleared" in _facts(cluster)) == (expected == "")
    assert len(cluster.scheduler.queue.nominator) == (expected != "")


def test_host_port_kept_for_a_nominated_pod_blocks() -> None:
    web = {"name": "main", "image": "app", "ports": [{"containerPort": 80, "hostPort": 80}]}
    boss = {**web, "resources": {"requests": {"cpu": "4"}}}
    old = pod("old", cpu="4", nodeName="n")
    cluster = Cluster.create(scene(node("n"), old, until=200 * SECOND))
    cluster.advance(5 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("boss", priority=10, containers=[boss]))
    cluster.advance(cluster.now + SECOND // 2)
    apply_command(cluster, verb="create", manifest=pod("other", containers=[web]))
    cluster.advance(cluster.now + SECOND // 4)
    cluster.take()
    told = cluster.view()["pod/default/other"]["blocker"]
    assert told["plugin"] == "NodePorts"
    assert told["short"] == "room is kept for default/boss, nominated to it"
    cluster.advance(200 * SECOND)
    assert node_of(cluster, "boss") == "n"
    assert node_of(cluster, "other") == ""


def test_nomination_known_to_schedulers_only_ends_with_failure() -> None:
    """Upstream: nominator.go addNominatedPodUnlocked(), ModeNoop."""
    never = {"priority": 10, "preemptionPolicy": "Never"}
    objects = (node("n", cpu="2"), pod("p", cpu="4", **never))
    cluster = Cluster.create(scene(*objects, until=500 * SECOND))
    cluster.advance(5 * SECOND)
    queue = cluster.scheduler.queue
    (queued, _), *_ = unschedulable_pods(queue)
    queue.nominator.add(queued.pod_info, "n")
    cluster.advance(400 * SECOND)
    assert queued.attempts > 1
    assert len(queue.nominator) == 0


@pytest.mark.parametrize("profile", ["v1.34", "v1.16"])
def test_decisions_clear_nominations_of_lesser_pods_for_nodes(
    profile: str,
) -> None:
    """Upstream: getLowerPriorityNominatedPods()."""
    objects = (
        node("n", cpu="4"),
        pod("old", cpu="4", nodeName="n"),
        pod("high", cpu="2", priority=10),
        pod("small", cpu="2", priority=5),
        {**pod("lesser", cpu="4", priority=5), "status": {"nominatedNodeName": "n"}},
    )
    decided = decide([from_manifest(one) for one in objects], profiles.PROFILES[profile])
    assert decided["final"]["pods"] == {
        "default/high": "n",
        "default/lesser": "",
        "default/small": "n",
    }


@pytest.mark.parametrize("explain", [True, False])
def test_pod_hoping_for_a_lost_node_leaves_room(explain: bool) -> None:
    algorithm = SchedulingAlgorithm(profiles.PROFILES["v1.34"], Handle())
    algorithm.table.add_node(make_node("n", cpu="1"))
    rules = algorithm.profile.resource_rules
    first, second = (PodInfo(make_pod(name, cpu="1"), rules) for name in ("first", "second"))
    algorithm.nominated.add("n", first)
    algorithm.nominated.add("gone", second)
    assert algorithm.schedule(second, explain=explain).node is None


@pytest.mark.parametrize(("profile", "node_of_other"), [("v1.36", "n1"), ("v1.37", None)])
def test_gated_nomination_holds_room_since_v1_37(profile: str, node_of_other: str | None) -> None:
    gated = pod("g", cpu="1", priority=10)
    gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    gated["status"] = {"nominatedNodeName": "n1"}
    objects = scene(node("n1", cpu="1"), gated, pod("p", cpu="1"))
    cluster = Cluster.create(objects, profile=profile)
    cluster.advance(20 * SECOND)
    assert cluster.store.get("Pod", "default/p").spec.get("nodeName") == node_of_other
