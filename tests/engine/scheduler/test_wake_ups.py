"""Which changes of the cluster bring a waiting pod back, in whole runs."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.kernel.latency import Latency
from engine.kernel.units import SECOND
from tests.builders import (
    Manifest,
    apply_command,
    device,
    device_class,
    node,
    node_of,
    pod,
    resource_slice,
    scene,
)

RESTARTS_ALL = "RestartAllContainersOnContainerExits"
DEVICES = 'device.driver == "gpu.example.com"'


def _run(*objects: Manifest, profile: str = "v1.34", **fields: Any) -> Cluster:
    return Cluster.create(scene(*objects, until=300 * SECOND, **fields), profile=profile)


def _tries(cluster: Cluster, name: str) -> int:
    return sum(one.pod == f"default/{name}" for one in cluster.take().attempts)


def test_pod_without_room_is_tried_after_any_uncordon() -> None:
    cordoned = node("b", cpu="1")
    cordoned["spec"] = {"unschedulable": True}
    big = pod("big", cpu="2", tolerations=[{"operator": "Exists"}])
    cluster = _run(node("a", cpu="1"), cordoned, big)
    cluster.advance(30 * SECOND)
    cluster.take()
    apply_command(cluster, verb="patch", object="node/b", patch={"spec": {"unschedulable": None}})
    cluster.advance(31 * SECOND)
    assert _tries(cluster, "big") >= 1


def test_end_of_nomination_wakes_those_it_held_back() -> None:
    low = pod("low", cpu="2", nodeName="n", terminationGracePeriodSeconds=200)
    slow = {"stop": Latency("fixed", 100 * SECOND)}
    cluster = _run(node("n", cpu="2"), low, latencies=slow)
    cluster.advance(5 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(6 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("middle", cpu="2", priority=5))
    cluster.advance(40 * SECOND)
    cluster.take()
    apply_command(cluster, verb="delete", object="pod/default/high", grace_seconds=0)
    cluster.advance(45 * SECOND)
    assert _tries(cluster, "middle") == 1


@pytest.mark.parametrize(("profile", "wakes"), [("v1.36", 0), ("v1.35", 0), ("v1.34", 1)])
def test_until_1_35_bound_nominated_pods_wake_lesser_ones(profile: str, wakes: int) -> None:
    low = pod("low", cpu="2", nodeName="n", terminationGracePeriodSeconds=20)
    cluster = _run(node("n", cpu="2"), low, profile=profile)
    cluster.advance(5 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(6 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("middle", cpu="2", priority=5))
    cluster.advance(60 * SECOND)
    events = cluster.take().events
    bound = next(
        one.seq for one in events if one.kind == "PodConfirmed" and one.object == "pod/default/high"
    )
    moved = [
        one.seq
        for one in events
        if one.object == "pod/default/middle" and one.message == "AssignedPodDelete"
    ]
    assert sum(seq > bound for seq in moved) == wakes


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16"])
def test_pod_changed_during_its_attempt_returns_as_changed(profile: str) -> None:
    tainted = node("n")
    tainted["spec"] = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    slow = {"schedule": Latency("fixed", 5 * SECOND)}
    cluster = _run(tainted, pod("a"), profile=profile, latencies=slow)
    cluster.advance(2 * SECOND)
    tolerations = [{"key": "k", "operator": "Exists"}]
    apply_command(
        cluster, verb="patch", object="pod/default/a", patch={"spec": {"tolerations": tolerations}}
    )
    cluster.advance(40 * SECOND)
    assert node_of(cluster, "a") == "n"


def test_resize_known_from_status_alone_frees_room() -> None:
    def status(cpu: str) -> Manifest:
        resources = {"requests": {"cpu": cpu}}
        return {
            "phase": "Running",
            "containerStatuses": [
                {"name": "main", "resources": resources, "allocatedResources": {"cpu": cpu}}
            ],
        }

    shrinking = {**pod("shrinking", cpu="1", nodeName="n"), "status": status("2")}
    cluster = _run(node("n", cpu="2"), shrinking, pod("waiting", cpu="1"))
    # Its kubelet, which would carry the resize out, does not run.
    apply_command(cluster, verb="stop_kubelet", object="node/n")
    cluster.advance(20 * SECOND)
    assert node_of(cluster, "waiting") == ""
    apply_command(
        cluster, verb="patch", object="pod/default/shrinking", patch={"status": status("1")}
    )
    cluster.advance(40 * SECOND)
    assert node_of(cluster, "waiting") == "n"


@pytest.mark.parametrize(("profile", "host"), [("v1.36", ""), ("v1.35", "n")])
def test_status_of_a_shrinking_pod_still_takes_room(profile: str, host: str) -> None:
    def status(cpu: str) -> Manifest:
        requests = {"cpu": cpu}
        return {"resources": {"requests": requests}, "allocatedResources": requests}

    whole_pod = {"requests": {"cpu": "1"}}
    shrinking = pod("shrinking", cpu="1", nodeName="n", resources=whole_pod)
    shrinking["status"] = {"phase": "Running", **status("3")}
    cluster = _run(node("n", cpu="4"), shrinking, pod("waiting", cpu="2"), profile=profile)
    cluster.advance(20 * SECOND)
    assert node_of(cluster, "waiting") == host
    apply_command(
        cluster, verb="patch", object="pod/default/shrinking", patch={"status": status("1")}
    )
    cluster.advance(40 * SECOND)
    assert node_of(cluster, "waiting") == "n"


def test_missed_events_count_from_the_failing_binding_cycle() -> None:
    slow = {"bind": Latency("fixed", 5 * SECOND)}
    cluster = _run(node("n", cpu="4"), pod("first"), profile="v1.16", latencies=slow)
    cluster.advance(1 * SECOND)
    apply_command(
        cluster, verb="patch", object="node/n", patch={"metadata": {"labels": {"a": "b"}}}
    )
    cluster.advance(2 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("second"))
    cluster.advance(4 * SECOND)
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "times": 1}
    apply_command(cluster, verb="fault", patch=fault)
    cluster.advance(6 * SECOND)
    parked = [one.object for one in cluster.take().events if one.kind == "PodParked"]
    assert parked == ["pod/default/first"]


@pytest.mark.parametrize(("profile", "tries"), [("v1.34", 0), ("v1.20", 1), ("v1.16", 1)])
def test_until_hints_any_wanted_update_wakes_its_friends(profile: str, tries: int) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
    wants = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    wanted = pod("wanted", cpu="1", nodeName="n")
    wanted["metadata"]["labels"] = {"app": "db"}
    cluster = _run(node("n"), wanted, pod("friend", cpu="9", affinity=wants), profile=profile)
    cluster.advance(20 * SECOND)
    cluster.take()
    apply_command(
        cluster, verb="patch", object="pod/default/wanted", patch={"status": {"message": "hello"}}
    )
    cluster.advance(25 * SECOND)
    assert _tries(cluster, "friend") == tries


def _storage(kind: str, name: str, **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": kind,
        "metadata": metadata if kind == "CSIStorageCapacity" else {"name": name},
        **fields,
    }


def test_new_storage_capacity_wakes_who_waits_for_storage() -> None:
    slow = _storage(
        "StorageClass", "slow", provisioner="d", volumeBindingMode="WaitForFirstConsumer"
    )
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {
            "storageClassName": "slow",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    driver = _storage("CSIDriver", "d", spec={"storageCapacity": True})
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    cluster = _run(node("n"), slow, driver, claim, pod("a", volumes=volumes))
    cluster.advance(20 * SECOND)
    cluster.take()
    capacity = {"storageClassName": "slow", "nodeTopology": {}, "capacity": "10Gi"}
    apply_command(cluster, verb="create", manifest=_storage("CSIStorageCapacity", "x", **capacity))
    cluster.advance(25 * SECOND)
    assert _tries(cluster, "a") == 1


@pytest.mark.parametrize(("profile", "told"), [("v1.34", False), ("v1.20", True), ("v1.16", True)])
def test_until_hints_deletion_returns_a_waiting_pod(profile: str, told: bool) -> None:
    cluster = _run(node("n", cpu="1"), pod("big", cpu="2"), profile=profile)
    cluster.advance(20 * SECOND)
    apply_command(cluster, verb="delete", object="pod/default/big")
    cluster.advance(25 * SECOND)
    messages = [one.message for one in cluster.take().events if one.kind == "FailedScheduling"]
    assert ("skip schedule deleting pod: default/big" in messages) is told


@pytest.mark.parametrize(
    ("change", "tries"),
    [
        ({"status": {"declaredFeatures": [RESTARTS_ALL]}}, 1),
        ({"metadata": {"labels": {"a": "b"}}}, 0),
    ],
)
def test_declared_node_feature_wakes_pods_that_need_it(change: Manifest, tries: int) -> None:
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
    container = {"name": "main", "restartPolicy": "Never", "restartPolicyRules": rules}
    cluster = _run(node("n"), pod("a", containers=[container]), profile="v1.36")
    cluster.advance(20 * SECOND)
    cluster.take()
    apply_command(cluster, verb="patch", object="node/n", patch=change)
    cluster.advance(25 * SECOND)
    assert _tries(cluster, "a") == tries
    assert node_of(cluster, "a") == ("n" if tries else "")


def test_growing_node_wakes_pods_that_want_devices_too() -> None:
    stands_for = device_class("gpu", DEVICES, extendedResourceName="example.com/gpu")
    requests = {"cpu": "2", "example.com/gpu": "1"}
    wants = pod("a", containers=[{"name": "main", "resources": {"requests": requests}}])
    slices = resource_slice("n", [device("gpu-0")])
    cluster = _run(node("n", cpu="1"), stands_for, slices, wants, profile="v1.36")
    cluster.advance(20 * SECOND)
    assert node_of(cluster, "a") == ""
    apply_command(
        cluster, verb="patch", object="node/n", patch={"status": {"allocatable": {"cpu": "4"}}}
    )
    cluster.advance(25 * SECOND)
    assert node_of(cluster, "a") == "n"


@pytest.mark.parametrize("profile", ["v1.36", "v1.35"])
def test_device_class_wakes_nobody_who_only_lacks_room(profile: str) -> None:
    cluster = _run(node("n", cpu="1"), pod("a", cpu="2"), profile=profile)
    cluster.advance(20 * SECOND)
    cluster.take()
    apply_command(cluster, verb="create", manifest=device_class("gpu", DEVICES))
    cluster.advance(25 * SECOND)
    assert _tries(cluster, "a") == 0
