"""Nodes that can attach fewer volumes than their CSINodes say. Upstream: KEP-4876."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.kernel.units import HOUR
from engine.storage.plugins.attach_limits import LIMIT_ANNOTATION
from tests import builders
from tests.builders.clusters import apply_command, node_of, played, scene

DRIVER = "csi.example.com"
REASON = "VolumeAttachmentLimitExceeded"
MESSAGE = (
    "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[{0}], "
    "unattached volumes=[{0}], failed to process volumes=[]: context deadline exceeded"
)
Json = dict[str, Any]


def _csi_node(name: str, says: int, holds: int | None = None) -> Json:
    """A CSINode that *says* a limit; the machine *holds* another number of volumes."""
    made = builders.csi_node(name, DRIVER)
    made["spec"]["drivers"][0]["allocatable"] = {"count": says}
    if holds is not None:
        made["metadata"]["annotations"] = {LIMIT_ANNOTATION: f"{DRIVER}={holds}"}
    return made


def _disk(name: str) -> tuple[Json, Json]:
    source = {"driver": DRIVER, "volumeHandle": name}
    ref = {"namespace": "default", "name": name}
    return builders.claim(name, volumeName=f"pv-{name}"), builders.volume(
        f"pv-{name}", csi=source, claimRef=ref
    )


def _driver(period: int | None = 60) -> Json:
    spec = {} if period is None else {"nodeAllocatableUpdatePeriodSeconds": period}
    return {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": spec}


def _cluster(*objects: Json, profile: str = "v1.36", **more: Any) -> Cluster:
    return Cluster.create(scene(*objects, until=2 * HOUR, **more), profile=profile)


def _full(*more: Json, period: int | None = 600) -> tuple[Json, ...]:
    """A node that says it has room for five volumes and has room for one, which is taken."""
    node = builders.host("n1"), _csi_node("n1", 5, holds=1), _driver(period)
    first = builders.pod("first", claims=["one"])
    return (*node, *_disk("one"), *_disk("two"), first, *more)


def _late(name: str = "late") -> Json:
    return builders.pod(name, claims=["two"])


def _said(cluster: Cluster, reason: str) -> list[str]:
    return [event.message for event in cluster.untaken if event.kind == reason]


def _count(cluster: Cluster, node: str = "n1") -> int:
    return cluster.store.get("CSINode", node).spec["drivers"][0]["allocatable"]["count"]


@pytest.mark.parametrize("profile", ["v1.35", "v1.36"])
def test_a_pod_beyond_the_limit_is_rejected(profile: str) -> None:
    cluster = played(_cluster(*_full(), profile=profile), 20)
    apply_command(cluster, verb="create", manifest=_late())
    played(cluster, 100)
    assert cluster.store.get("Pod", "default/late").status.get("phase") == "Pending"
    played(cluster, 60)
    status = cluster.store.get("Pod", "default/late").status
    assert (status["phase"], status["reason"]) == ("Failed", REASON)
    assert status["message"] == f"Pod was rejected: {MESSAGE.format('two')}"
    assert _said(cluster, REASON) == [MESSAGE.format("two")]
    # The kubelet has asked the driver at once, long before the period is over.
    assert _count(cluster) == 1


def test_the_error_has_its_code() -> None:
    cluster = played(_cluster(*_full(_late())), 60)
    found = {
        one.spec["source"]["persistentVolumeName"]: one.status
        for one in cluster.store.objects("VolumeAttachment")
    }
    refused = [each["attachError"] for each in found.values() if "attachError" in each]
    assert [each["errorCode"] for each in refused] == [8]
    assert refused[0]["message"].startswith("rpc error: code = ResourceExhausted")


@pytest.mark.parametrize(("profile", "period"), [("v1.36", None), ("v1.34", 600)])
def test_without_the_period_a_pod_waits(profile: str, period: int | None) -> None:
    cluster = played(_cluster(*_full(period=period), profile=profile), 20)
    apply_command(cluster, verb="create", manifest=_late())
    played(cluster, 600)
    assert cluster.store.get("Pod", "default/late").status.get("phase") == "Pending"
    assert _count(cluster) == 5


def test_the_gate_brings_it_to_older_versions() -> None:
    gates = {"MutableCSINodeAllocatableCount": True}
    cluster = played(_cluster(*_full(), profile="v1.34", feature_gates=gates), 20)
    apply_command(cluster, verb="create", manifest=_late())
    played(cluster, 200)
    assert cluster.store.get("Pod", "default/late").status["reason"] == REASON


def test_a_stateful_set_goes_to_another_node() -> None:
    roomy = builders.host("n2", cpu="1"), _csi_node("n2", 5)
    cluster = played(_cluster(*_full(), *roomy), 20)
    assert node_of(cluster, "first") == "n1"
    made = _late()["spec"]
    template = {"metadata": {"labels": {"app": "db"}}, "spec": made}
    spec = {"selector": {"matchLabels": {"app": "db"}}, "template": template, "replicas": 1}
    stateful_set: Json = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": spec,
    }
    apply_command(cluster, verb="create", manifest=stateful_set)
    played(cluster, 400)
    assert len(_said(cluster, REASON)) == 1
    assert node_of(cluster, "db-0") == "n2"
    assert cluster.store.get("Pod", "default/db-0").status["phase"] == "Running"


def test_the_limit_follows_its_driver_by_period() -> None:
    node = builders.host("n1"), _csi_node("n1", 5, holds=2), _driver(60)
    cluster = played(_cluster(*node), 50)
    assert _count(cluster) == 5
    played(cluster, 20)
    assert _count(cluster) == 2
    written = [event for event in cluster.untaken if event.kind == "CSINodeUpdated"]
    assert [event.component for event in written] == ["kubelet"]
    annotations = {LIMIT_ANNOTATION: f"{DRIVER}=7"}
    patch = {"metadata": {"annotations": annotations}}
    apply_command(cluster, verb="patch", object="csinode/n1", patch=patch)
    played(cluster, 60)
    assert _count(cluster) == 7


def test_a_raised_limit_lets_pending_pods_go() -> None:
    node = builders.host("n1"), _csi_node("n1", 1, holds=2), _driver(300)
    first = builders.pod("first", claims=["one"])
    cluster = played(_cluster(*node, *_disk("one"), *_disk("two"), first), 20)
    apply_command(cluster, verb="create", manifest=_late())
    played(cluster, 100)
    assert node_of(cluster, "late") == ""
    played(cluster, 300)
    assert node_of(cluster, "late") == "n1"
    assert cluster.store.get("Pod", "default/late").status["phase"] == "Running"


def test_a_stopped_kubelet_asks_nothing() -> None:
    node = builders.host("n1"), _csi_node("n1", 5, holds=2), _driver(30)
    cluster = _cluster(*node)
    apply_command(cluster, verb="stop_kubelet", object="node/n1")
    played(cluster, 100)
    assert _count(cluster) == 5
