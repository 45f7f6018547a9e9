"""Nodes whose condition says that their kubelet is silent, or lacks its runtime or the network."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.kernel.units import SECOND
from engine.objects.outside import Outside
from tests import builders
from tests.builders.clusters import apply_command, played, scene
from tests.scenarios.cases import running

_NETWORK = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized"
)
_PLEG = "PLEG is not healthy: pleg was last seen active 3m8s ago; threshold is 3m0s"


def _sick(name: str, status: str, message: str = "") -> dict[str, Any]:
    made = builders.node(name)
    made["status"]["conditions"] = [{"type": "Ready", "status": status, "message": message}]
    return made


def _on(node: str, name: str = "web", **spec: Any) -> dict[str, Any]:
    return builders.pod(name, nodeName=node, **spec)


def _phase(cluster: Cluster, name: str = "web") -> str:
    return str(cluster.store.get("Pod", f"default/{name}").status.get("phase"))


def _cluster(*objects: dict[str, Any], **fields: Any) -> Cluster:
    return Cluster.create(scene(*objects, **fields))


@pytest.mark.parametrize("status", ["Unknown", "False"])
def test_a_node_without_kubelet_starts_and_ends_nothing(status: str) -> None:
    ending = running(builders.pod("ending"), "n1")
    cluster = played(_cluster(_sick("n1", status, _PLEG), _on("n1"), ending))
    apply_command(cluster, verb="delete", object="pod/default/ending")
    played(cluster, 120)
    assert _phase(cluster) == "Pending"
    assert cluster.store.get("Pod", "default/ending").deletion_timestamp


def test_kubelet_goes_on_once_its_node_is_ready() -> None:
    cluster = played(_cluster(_sick("n1", "Unknown"), _on("n1")))
    conditions = [{"type": "Ready", "status": "True"}]
    apply_command(
        cluster, verb="patch", object="node/n1", patch={"status": {"conditions": conditions}}
    )
    assert _phase(played(cluster)) == "Running"


@pytest.mark.parametrize("command", ["start_kubelet", "fault"])
def test_a_silent_kubelet_that_starts_reports_again(command: str) -> None:
    cluster = played(_cluster(_sick("n1", "Unknown"), _on("n1")))
    what: dict[str, Any] = (
        {"patch": {"revive": "n1"}} if command == "fault" else {"object": "node/n1"}
    )
    apply_command(cluster, verb=command, **what)
    assert _phase(played(cluster, 300)) == "Running"
    ready = cluster.store.get("Node", "n1").status["conditions"][-1]
    assert (ready["type"], ready["status"]) == ("Ready", "True")


def test_stateful_set_makes_no_copy_on_dead_nodes() -> None:
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": builders.pod("db")["spec"]}
    wanted = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    workload: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {**wanted, "serviceName": "db"},
    }
    cluster = played(_cluster(builders.node("n1"), workload))
    conditions = [{"type": "Ready", "status": "Unknown"}]
    apply_command(
        cluster, verb="patch", object="node/n1", patch={"status": {"conditions": conditions}}
    )
    apply_command(cluster, verb="create", manifest=builders.node("n2"))
    uid = cluster.store.get("Pod", "default/db-0").uid
    played(cluster, 600)
    pod = cluster.store.get("Pod", "default/db-0")
    assert (pod.uid, bool(pod.deletion_timestamp)) == (uid, True)
    apply_command(cluster, verb="delete", object="pod/default/db-0", grace_seconds=0)
    played(cluster)
    assert cluster.store.get("Pod", "default/db-0").spec["nodeName"] == "n2"


def test_without_network_only_host_network_starts() -> None:
    cluster = _cluster(
        _sick("n1", "False", _NETWORK), _on("n1"), _on("n1", "cni", hostNetwork=True)
    )
    played(cluster)
    assert (_phase(cluster), _phase(cluster, "cni")) == ("Pending", "Running")
    told = [event.message for event in cluster.untaken if event.kind == "NetworkNotReady"]
    assert told == [f"network is not ready: {_NETWORK}"]
    conditions = [{"type": "Ready", "status": "True"}]
    apply_command(
        cluster, verb="patch", object="node/n1", patch={"status": {"conditions": conditions}}
    )
    assert _phase(played(cluster)) == "Running"


def test_without_network_pods_end() -> None:
    cluster = played(_cluster(_sick("n1", "False", _NETWORK), running(builders.pod("web"), "n1")))
    apply_command(cluster, verb="delete", object="pod/default/web")
    assert played(cluster).store.find("Pod", "default/web") is None


def _lease(node: str, at: str) -> dict[str, Any]:
    metadata = {"name": node, "namespace": "kube-node-lease"}
    return {"kind": "Lease", "metadata": metadata, "spec": {"renewTime": at}}


def test_a_lease_counts_only_against_the_newest() -> None:
    outside = Outside.of(
        [
            _lease("n1", "2025-03-01T10:00:00.000000Z"),
            _lease("n2", "2025-03-01T10:00:50.000000Z"),
            _lease("n3", "2025-03-01T09:59:59.000000Z"),
        ]
    )
    assert outside.silent_nodes(50 * SECOND) == {"n3": 51 * SECOND}
    assert Outside.of([_lease("n1", "2025-03-01T10:00:00.000000Z")]).silent_nodes(SECOND) == {}


def test_a_lease_that_is_over_contradicts_ready() -> None:
    leases = [_lease("n1", "2025-03-01T10:00:00Z"), _lease("n2", "2025-03-01T11:00:00Z")]
    nodes = (builders.node("n1"), builders.node("n2"))
    cluster = _cluster(*nodes, _on("n1"), outside=tuple(leases))
    assert _phase(played(cluster, 120)) == "Pending"
    told = [event.message for event in cluster.untaken if event.kind == "NodeLeaseExpired"]
    assert told == [
        "its Lease is 3600 s older than the newest; its condition Ready says True all the same"
    ]
    assert cluster.store.get("Node", "n1").status["conditions"][-1]["status"] == "Unknown"
    apply_command(cluster, verb="start_kubelet", object="node/n1")
    assert _phase(played(cluster, 300)) == "Running"
