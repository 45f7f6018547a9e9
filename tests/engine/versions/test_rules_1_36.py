"""What v1.36 does otherwise than the versions before; whole runs are in the recordings."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.kernel.latency import Latency
from engine.kernel.units import MINUTE, SECOND
from engine.objects.objects import Pod
from tests.builders import claim, node, pod, storage_class
from tests.builders.clusters import Manifest, apply_command, played, scene
from tests.builders.devices import (
    claims_in_pod,
    device,
    device_class,
    device_request,
    resource_claim,
    resource_slice,
)
from tests.builders.nodes import ZONE


def _cluster(*objects: Manifest, profile: str = "v1.36", **fields: Any) -> Cluster:
    return Cluster.create(scene(*objects, **fields), profile=profile)


def _pod(cluster: Cluster, name: str) -> Pod:
    found = cluster.store.get("Pod", f"default/{name}")
    assert isinstance(found, Pod)
    return found


def test_a_bound_pod_has_its_zone() -> None:
    cluster = played(_cluster(node("n", "a"), pod("p", labels={"app": "web"})))
    assert _pod(cluster, "p").labels == {ZONE: "a", "app": "web"}


def test_pods_before_v1_35_get_no_zone() -> None:
    cluster = played(_cluster(node("n", "a"), pod("p"), profile="v1.34"))
    assert not _pod(cluster, "p").labels


def test_a_pod_keeps_its_own_zone_label() -> None:
    cluster = played(_cluster(node("n", "a"), pod("p", labels={ZONE: "mine"})))
    assert _pod(cluster, "p").labels == {ZONE: "mine"}


def test_pod_created_with_a_node_gets_its_zone() -> None:
    steps = [(1, "create", {"manifest": pod("p", nodeName="n")})]
    cluster = played(_cluster(node("n", "a"), steps=steps), 2)
    assert _pod(cluster, "p").labels == {ZONE: "a"}


def test_pods_alike_in_one_zone_share_their_labels() -> None:
    nodes = [node("n", "a"), node("m", "b")]
    pods = [pod(f"p{number}", labels={"app": "web"}) for number in range(6)]
    cluster = played(_cluster(*nodes, *pods))
    found = [_pod(cluster, f"p{number}") for number in range(6)]
    assert len({id(each.template) for each in found}) == 2
    assert [id(each.labels) for each in found].count(id(found[0].labels)) == 3


def test_selectors_see_the_zone_of_bound_pods() -> None:
    terms = [
        {"labelSelector": {"matchLabels": {ZONE: "a"}}, "topologyKey": "kubernetes.io/hostname"}
    ]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    steps = [(10, "create", {"manifest": pod("second", affinity=affinity)})]
    cluster = played(_cluster(node("n", "a"), pod("first"), steps=steps))
    assert not _pod(cluster, "second").node_name


def test_a_restored_run_binds_with_the_same_labels() -> None:
    steps = [(10, "create", {"manifest": pod("late", labels={"app": "web"})})]
    cluster = played(_cluster(node("n", "a"), pod("early", labels={"app": "web"}), steps=steps), 5)
    cluster.take()
    restored = played(Cluster.restore(cluster.checkpoint()))
    assert _pod(restored, "late").labels == _pod(restored, "early").labels


def test_a_gated_pod_says_so_from_the_start() -> None:
    steps = [(1, "create", {"manifest": pod("p", schedulingGates=[{"name": "wait"}])})]
    cluster = played(_cluster(node("n"), steps=steps), 2)
    (condition,) = _pod(cluster, "p").status["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "SchedulingGated")


def test_deleted_pod_in_pre_bind_frees_its_room() -> None:
    """It does so at once; its binding ends when it next looks for its volume, within a second."""
    objects = (
        node("n", cpu="1"),
        storage_class("slow", "csi.example.com"),
        claim("data", "slow"),
        pod("first", claims=["data"]),
    )
    latencies = {"provision": Latency("fixed", MINUTE)}
    steps = [(5, "create", {"manifest": pod("second")})]
    cluster = played(_cluster(*objects, steps=steps, latencies=latencies), 10)
    assert not _pod(cluster, "second").node_name
    apply_command(cluster, verb="delete", object="pod/default/first")
    cluster.advance(cluster.now + SECOND // 10)
    assert _pod(cluster, "second").node_name == "n"


def _tainted(*, tolerations: list[Manifest]) -> Cluster:
    tainted = device("gpu", taints=[{"key": "broken", "effect": "NoExecute"}])
    request = device_request("gpu", "gpu", tolerations=tolerations)
    return _cluster(
        node("n"),
        device_class("gpu"),
        resource_slice("n", [device("gpu")]),
        resource_claim("gpu", request),
        pod("p", **claims_in_pod("gpu")),
        steps=[(10, "replace", {"manifest": resource_slice("n", [tainted])})],
    )


@pytest.mark.parametrize(
    ("tolerations", "lives"),
    [
        ([], False),
        ([{"operator": "Exists"}], False),
        ([{"operator": "Exists", "effect": "NoExecute"}], True),
    ],
)
def test_device_taint_evicts_what_does_not_tolerate_it(
    tolerations: list[Manifest], lives: bool
) -> None:
    cluster = played(_tainted(tolerations=tolerations))
    assert (cluster.store.find("Pod", "default/p") is not None) is lives


def test_a_device_taint_is_tolerated_for_a_time() -> None:
    limited = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    cluster = played(_tainted(tolerations=[limited]), 35)
    assert not _pod(cluster, "p").deletion_timestamp
    assert played(cluster, 10).store.find("Pod", "default/p") is None


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_claims_go_with_their_stateful_set(policy: str) -> None:
    stateful_set: Manifest = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": []}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}],
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": policy},
        },
    }
    cluster = played(_cluster(node("n"), stateful_set), 5)
    apply_command(cluster, verb="delete", object="statefulset/default/db")
    found = played(cluster, 10).store.find("PersistentVolumeClaim", "default/data-db-0")
    assert (found is None) is (policy == "Delete")
