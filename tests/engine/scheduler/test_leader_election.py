"""Replicas of one scheduler: one leads, the others wait for its Lease to run out."""

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.units import SECOND
from tests.builders import node, node_of, played, pod, scene

_PAIR = ({"name": "default-scheduler", "replicas": 2},)
_FIRST, _SECOND = "scheduler/default-scheduler-0", "scheduler/default-scheduler-1"


def _stop(cluster: Cluster, replica: str) -> str:
    return cluster.apply(Command(verb="stop_scheduler", object=replica)).reason


def _create(cluster: Cluster, name: str) -> None:
    assert cluster.apply(Command(verb="create", manifest=pod(name))).applied


def _holder(cluster: Cluster) -> str:
    return cluster.store.get("Lease", "kube-system/kube-scheduler").spec["holderIdentity"]


def test_only_the_leader_schedules_and_then_rests() -> None:
    cluster = played(Cluster.create(scene(node("a"), pod("p"), schedulers=_PAIR)))
    assert node_of(cluster, "p") == "a"
    assert _holder(cluster) == "default-scheduler-0"
    cluster.take()
    assert cluster.view()[_FIRST] == {"running": True, "leading": True}
    assert cluster.view()[_SECOND] == {"running": True, "leading": False}
    assert cluster.loop.next_at is None


def test_standby_takes_over_when_the_lease_expires() -> None:
    cluster = played(Cluster.create(scene(node("a"), schedulers=_PAIR)), 11)
    assert _stop(cluster, _FIRST) == ""
    _create(cluster, "p")
    # The last renewal was at 10 s, the lease lasts to 25 s, and the standby looks at 26 s.
    cluster.advance(26 * SECOND - 1)
    assert node_of(cluster, "p") == ""
    played(cluster, 1)
    assert node_of(cluster, "p") == "a"
    assert _holder(cluster) == "default-scheduler-1"
    lease = cluster.store.get("Lease", "kube-system/kube-scheduler")
    assert lease.spec["leaseTransitions"] == 1
    assert cluster_findings(cluster) == []


def test_without_standby_nobody_schedules_until_a_replica_starts() -> None:
    cluster = played(Cluster.create(scene(node("a"), schedulers=_PAIR)), 10)
    _stop(cluster, _SECOND)
    _stop(cluster, _FIRST)
    _create(cluster, "p")
    played(cluster, 60)
    assert node_of(cluster, "p") == ""
    cluster.apply(Command(verb="start_scheduler", object=_SECOND))
    played(cluster, 1)
    assert node_of(cluster, "p") == "a"


def test_dead_leader_loses_what_it_had_only_assumed() -> None:
    bind = scene(node("a"), pod("p"), schedulers=_PAIR).to_dict()
    bind["latencies"] = {"bind": {"shape": "fixed", "low": 5 * SECOND}}
    cluster = Cluster.create(type(scene()).from_dict(bind))
    cluster.advance(1 * SECOND)
    cluster.take()
    assert cluster.view()["pod/default/p"]["cache"] == "assumed"
    _stop(cluster, _FIRST)
    cluster.take()
    assert "cache" not in cluster.view()["pod/default/p"]
    cluster.advance(10 * SECOND)
    assert node_of(cluster, "p") == ""
    played(cluster, 30)
    assert node_of(cluster, "p") == "a"


def test_unknown_process_to_stop_is_refused_with_reason() -> None:
    cluster = Cluster.create(scene(node("a"), schedulers=_PAIR))
    assert "there is no scheduler scheduler/other" in _stop(cluster, "scheduler/other")
    _stop(cluster, _FIRST)
    assert "default-scheduler-0 is not running" in _stop(cluster, _FIRST)


def test_a_single_scheduler_can_be_restarted() -> None:
    steps = [
        (1, "stop_scheduler", {"object": "scheduler/default-scheduler"}),
        (2, "create", {"manifest": pod("p")}),
        (30, "start_scheduler", {"object": "scheduler/default-scheduler"}),
    ]
    cluster = Cluster.create(scene(node("a"), steps=steps))
    played(cluster, 29)
    assert node_of(cluster, "p") == ""
    played(cluster, 2)
    assert node_of(cluster, "p") == "a"


def test_a_failover_survives_a_checkpoint() -> None:
    steps = [(5, "stop_scheduler", {"object": _FIRST}), (6, "create", {"manifest": pod("p")})]
    scenario = scene(node("a"), steps=steps, schedulers=_PAIR)
    whole = played(Cluster.create(scenario), 60)
    whole.take()
    parted = played(Cluster.create(scenario), 10)
    parted.take()
    parted = Cluster.restore(parted.checkpoint())
    played(parted, 50)
    parted.take()
    assert parted.digest() == whole.digest()


def test_objects_gone_without_scheduler_are_no_longer_shown() -> None:
    gpu = {"example.com/gpu": "1"}
    users = pod("p", nodeName="a", terminationGracePeriodSeconds=0)
    users["spec"]["containers"][0]["resources"] = {"requests": gpu, "limits": gpu}
    big = node("a")
    big["status"]["allocatable"] |= gpu
    steps = [
        (1, "stop_scheduler", {"object": "scheduler/default-scheduler"}),
        (2, "delete", {"object": "pod/default/p"}),
        (30, "start_scheduler", {"object": "scheduler/default-scheduler"}),
        (31, "create", {"manifest": pod("next")}),
    ]
    cluster = played(Cluster.create(scene(big, users, steps=steps)))
    cluster.take()
    assert cluster.view()["node/a"]["requested"] == cluster.held_view()["node/a"]["requested"]
    assert cluster.view()["node/a"]["requested"]["example.com/gpu"] == 0
