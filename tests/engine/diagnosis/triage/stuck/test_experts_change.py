"""The change that an expert would name first, and the object that he would name with it."""

from typing import Any

import pytest

from tests.builders.nodes import csi_node, node
from tests.builders.pods import pod
from tests.builders.storage import claim, storage_class, volume
from tests.engine.diagnosis.triage.clusters import (
    ELEVEN,
    answer_about,
    deployment,
    event,
    leaving,
    only_group,
    placed,
    triage_of,
)

Manifest = dict[str, Any]


def _named(kind: str, name: str, **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def test_ended_pod_that_keeps_a_claim_is_deleted() -> None:
    data = leaving(claim("data"), "kubernetes.io/pvc-protection")
    group = only_group(node("n1"), data, placed(pod("etl", claims=["data"]), phase="Succeeded"))
    assert "It has ended, and holds the claim until it is deleted" in group.cause
    assert group.changes[0].text == "Delete pod default/etl, which has ended"


def test_kubelet_that_cannot_end_a_pod_is_quoted() -> None:
    web = leaving(placed(pod("web"), phase="Running"))
    said = event(web, "FailedKillPod", "error killing pod: Unauthorized")
    assert (
        "FailedKillPod: error killing pod: Unauthorized" in only_group(node("n1"), web, said).cause
    )


def test_agent_that_owns_a_taint_has_to_run() -> None:
    taint = {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoSchedule"}
    group = only_group(node("n1", taints=[taint]), pod("web"))
    first, second = group.changes[:2]
    assert first.text == "Let the agent of Cilium run on n1"
    assert second.shared


def _container(generation: int) -> Manifest:
    port = {"containerPort": 80, "hostPort": 80}
    return {"name": "main", "image": f"app:{generation}", "ports": [port]}


def _rolling(generation: int) -> tuple[Manifest, Manifest]:
    """A ReplicaSet of Deployment web, and its pod, which wants host port 80."""
    name, labels = f"web-{generation}", {"app": "web", "pod-template-hash": str(generation)}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    metadata = {"name": name, "namespace": "default", "uid": name}
    metadata["ownerReferences"] = [{**owner, "uid": "deployment-web"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": [_container(generation)]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    found = pod(f"{name}-a", labels=labels, containers=[_container(generation)])
    reference = {**owner, "kind": "ReplicaSet", "name": name, "uid": name}
    found["metadata"]["ownerReferences"] = [reference]
    made = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}
    return made, found


def test_blocked_rollout_takes_no_other_port() -> None:
    owner = deployment("web", 1, 1)
    (old, before), (new, after) = _rolling(1), _rolling(2)
    running = placed(before, phase="Running")
    group = only_group(node("n1"), owner, old, running, new, after)
    assert "port" not in {each.kind for each in group.changes}
    alone = only_group(node("n1"), running, pod("x", containers=[_container(2)]))
    assert "port" in {each.kind for each in alone.changes}


def test_workload_leads_with_why_its_pods_wait() -> None:
    owner = deployment("web", 1, 0)
    found, waiting = _rolling(1)
    waiting["spec"]["nodeSelector"] = {"disk": "ssd"}
    answer = answer_about("Deployment", "default/web", node("n1"), owner, found, waiting)
    assert "disk=ssd" in answer.sentence


def test_volume_is_asked_about_like_its_pod() -> None:
    data = claim("data", volumeName="v1")
    data["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    far = {"required": {"nodeSelectorTerms": [{"matchExpressions": [_HOST]}]}}
    disk = volume("v1", nodeAffinity=far, claimRef={"namespace": "default", "name": "data"})
    answer = answer_about(
        "PersistentVolume", "v1", node("n1"), data, disk, pod("web", claims=["data"])
    )
    assert "kubernetes.io/hostname in [n9]" in answer.sentence


_HOST = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n9"]}


def test_missing_class_is_made_like_another() -> None:
    fast = {**claim("data", "fast"), "status": {"phase": "Pending"}}
    group = only_group(
        node("n1"), storage_class("slow", "csi.acme.io"), fast, pod("web", claims=["data"])
    )
    assert group.changes[0].text == "Create the class fast, like slow"


def test_growth_that_nobody_answers_names_the_resizer() -> None:
    data = {**claim("data", "fast", "20Gi"), "status": {"phase": "Bound"}}
    data["status"]["capacity"] = {"storage": "10Gi"}
    said = event(data, "ExternalExpanding", "waiting for an external controller", type="Normal")
    group = only_group(storage_class("fast", "csi.acme.io"), data, said)
    assert group.changes[0].text == "Run the external-resizer of csi.acme.io, beside its controller"


def test_snapshot_that_nobody_looked_at_is_named() -> None:
    source = {"kind": "VolumeSnapshot", "name": "snap"}
    data = {**claim("data", "fast", dataSource=source), "status": {"phase": "Pending"}}
    snapshot = _named("VolumeSnapshot", "snap", spec={})
    group = only_group(storage_class("fast", "csi.acme.io"), data, snapshot)
    assert "no snapshot-controller has looked at it" in group.cause


def test_driver_behind_a_migrated_volume_is_looked_for() -> None:
    disk = volume("v1", claimRef={"namespace": "default", "name": "data"})
    disk["metadata"]["annotations"] = {"pv.kubernetes.io/migrated-to": "pd.csi.storage.gke.io"}
    web = placed(pod("web", claims=["data"]))
    group = only_group(node("n1"), csi_node("n1"), claim("data", volumeName="v1"), disk, web)
    assert group.by == "driver pd.csi.storage.gke.io"


def test_devices_outside_the_model_place_no_pod() -> None:
    train = pod("train", resourceClaims=[{"name": "g", "resourceClaimName": "gpu"}])
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    train["status"] = {"conditions": [{**refused, "lastTransitionTime": ELEVEN}]}
    (group,) = triage_of(node("n1"), train, profile="v1.34").groups
    assert "asks for devices (resource claim gpu)" in group.cause
    assert group.short == "asks for devices, not modelled here"
    assert not group.contradicts


def test_overhead_is_named_beside_the_request() -> None:
    boxed = pod("box", cpu="3500m", overhead={"cpu": "1"}, runtimeClassName="kata")
    kata = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}}
    kata |= {"handler": "kata", "overhead": {"podFixed": {"cpu": "1"}}}
    group = only_group(node("n1", cpu="4"), kata, boxed)
    assert "Its RuntimeClass kata adds an overhead of 1 cpu." in group.cause


def test_label_of_an_absent_driver_names_it() -> None:
    key = "topology.disk.acme.io/zone"
    there, registered = node("n1", labels={key: "a"}), csi_node("n1", "disk.acme.io", key)
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": ["b"]}]}
    far = {"required": {"nodeSelectorTerms": [term]}}
    disk = volume("v", nodeAffinity=far, claimRef={"namespace": "default", "name": "data"})
    disk["spec"] |= {"csi": {"driver": "disk.acme.io", "volumeHandle": "v"}}
    data = claim("data", volumeName="v")
    data["status"] = {"phase": "Bound"}
    data["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    found = triage_of(there, node("n2"), registered, disk, data, pod("db", claims=["data"]))
    assert (
        "n2 lacks that label: driver disk.acme.io, which sets it, is not registered there."
        in found.groups[0].cause
    )


def test_label_that_begins_a_domain_is_named() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "rack"}
    together = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    first = pod("web", labels={"app": "web"}, affinity=together)
    assert "no node has the label rack." in only_group(node("n1"), first).cause
    other = pod("web", labels={"app": "api"}, affinity=together)
    assert "no pod that has a node matches app=web" in only_group(node("n1"), other).cause


@pytest.mark.parametrize("key", ["kubernetes.io/os", "beta.kubernetes.io/arch"])
def test_images_are_not_moved_to_another_machine(key: str) -> None:
    there = node("n1", labels={key: "linux"})
    required = {"key": key, "operator": "In", "values": ["windows"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [required]}]}
    by_affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    for spec in ({"nodeSelector": {key: "windows"}}, {"affinity": by_affinity}):
        changes = only_group(there, pod("iis", **spec)).changes
        assert {each.kind for each in changes} <= {"node"}


def test_old_label_of_a_volume_is_given_back() -> None:
    older, newer = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
    term = {"matchExpressions": [{"key": older, "operator": "In", "values": ["a"]}]}
    near = {"required": {"nodeSelectorTerms": [term]}}
    disk = volume("v", nodeAffinity=near, claimRef={"namespace": "default", "name": "data"})
    data = claim("data", volumeName="v")
    data["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    data["status"] = {"phase": "Bound"}
    group = only_group(node("n1", "a"), disk, data, pod("db", claims=["data"]))
    assert f"The label was renamed, and the nodes carry {newer} alone." in group.cause
    assert group.changes[0].text == f"Label n1 {older}=a"


def test_attachment_that_fills_a_node_is_named() -> None:
    allows = csi_node("n1", "disk.acme.io")
    allows["spec"]["drivers"][0]["allocatable"] = {"count": 1}
    csi = {"driver": "disk.acme.io", "volumeHandle": "old"}
    spec = {"attacher": "disk.acme.io", "nodeName": "n1"}
    spec["source"] = {"persistentVolumeName": "old"}
    tie = _named("VolumeAttachment", "csi-1", spec=spec, status={"attached": True})
    tie["apiVersion"] = "storage.k8s.io/v1"
    del tie["metadata"]["namespace"]
    disk = volume("v", claimRef={"namespace": "default", "name": "data"})
    disk["spec"]["csi"] = {**csi, "volumeHandle": "v"}
    old = volume("old")
    old["spec"]["csi"] = csi
    data = claim("data", volumeName="v")
    data["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    data["status"] = {"phase": "Bound"}
    found = triage_of(node("n1"), allows, tie, disk, old, data, pod("db", claims=["data"]))
    assert (
        "volume old is attached to n1 and no pod there uses it: once it is detached "
        "(VolumeAttachment csi-1), there is room." in found.groups[0].cause
    )


def test_domain_that_is_full_blames_no_taints() -> None:
    rule = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname"}
    rule |= {"whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "a"}}}
    spread = {"topologySpreadConstraints": [rule], "labels": {"app": "a"}}
    here = placed(pod("a-1", **spread), phase="Running")
    group = only_group(node("n1", "a"), node("n2", "a", cpu="0"), here, pod("a-2", **spread))
    assert "n2 (cpu 1 short)" in group.cause
    assert "nodeTaintsPolicy" not in group.cause
