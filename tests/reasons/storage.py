"""The reasons of the scheduler's volume plugins."""

from __future__ import annotations

from typing import Any, Final

from tests.builders import (
    Manifest,
    claim,
    csi_node,
    host,
    local_volume,
    node,
    pod,
    reachable_from,
    storage_class,
    user_of,
    volume,
)
from tests.reasons.case import ANYTHING, Case
from tests.reasons.case import Expected as Fact

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
DRIVER: Final = "csi.example.com"


def disk(name: str, pd_name: str = "pd", **fields: Any) -> Manifest:
    """A pod with an in-tree disk of its own."""
    return pod(name, volumes=[{"name": "d", "gcePersistentDisk": {"pdName": pd_name}}], **fields)


def bound(name: str, **spec: Any) -> tuple[Manifest, Manifest]:
    """The claim NAME, bound to the volume pv-NAME."""
    made = claim(
        name,
        volumeName=f"pv-{name}",
        **({"class_name": spec.pop("class_name")} if "class_name" in spec else {}),
    )
    made["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    made["metadata"]["uid"] = f"uid-{name}"
    made["status"] = {"phase": "Bound"}
    labels = spec.pop("labels", None)
    ref = {
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": name,
        "uid": f"uid-{name}",
    }
    backing = volume(
        f"pv-{name}", made["spec"]["storageClassName"], labels=labels, claimRef=ref, **spec
    )
    backing["status"] = {"phase": "Bound"}
    return made, backing


def driver(name: str = DRIVER, **spec: Any) -> Manifest:
    """A CSIDriver."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name},
        "spec": spec,
    }


def limited(name: str, count: int) -> Manifest:
    """A CSINode whose driver attaches so many volumes."""
    made = csi_node(name)
    made["spec"]["drivers"][0]["allocatable"] = {"count": count}
    return made


def csi(handle: str) -> Manifest:
    """The source of a CSI volume."""
    return {"csi": {"driver": DRIVER, "volumeHandle": handle}}


CASES: Final = (
    Case(
        reason="pod has unbound immediate PersistentVolumeClaims",
        by="VolumeBinding",
        objects=(
            node("n"),
            claim("data"),
            volume("small", size="500Mi", hostPath={"path": "/"}),
            user_of("data"),
        ),
        facts=(
            Fact("claim/default/data", "spec.resources.requests.storage", "1Gi"),
            Fact("claim/default/data", "spec.storageClassName", ""),
            Fact("volume/small", "spec.capacity.storage", "500Mi", 1073741824),
        ),
    ),
    Case(
        reason='persistentvolumeclaim "*" bound to non-existent persistentvolume "*"',
        by="VolumeBinding",
        objects=(node("n"), bound("data", hostPath={"path": "/"})[0], user_of("data")),
        facts=(
            Fact("claim/default/data", "spec.volumeName", "pv-data"),
            Fact("claim/default/data", "status.phase", "Lost"),
        ),
    ),
    Case(
        reason="node(s) didn't match PersistentVolume's node affinity",
        by="VolumeBinding",
        objects=(
            host("a"),
            *bound("data", local={"path": "/"}, nodeAffinity=reachable_from(HOSTNAME, "gone")),
            user_of("data"),
        ),
        facts=(
            Fact("claim/default/data", "spec.volumeName", "pv-data"),
            Fact(
                "volume/pv-data",
                "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0]",
            ),
            Fact("node/a", "metadata.labels[kubernetes.io/hostname]", "a", ["gone"]),
        ),
    ),
    Case(
        reason="node(s) didn't find available persistent volumes to bind",
        by="VolumeBinding",
        objects=(
            host("a"),
            storage_class("local"),
            local_volume("pv", "b"),
            claim("data", "local"),
            user_of("data"),
        ),
        facts=(
            Fact("claim/default/data", "spec.resources.requests.storage", "1Gi"),
            Fact("volume/pv", "spec.nodeAffinity.required", ANYTHING, "a"),
            Fact("class/local", "provisioner", "kubernetes.io/no-provisioner"),
        ),
    ),
    Case(
        reason="node(s) didn't find available persistent volumes to bind",
        by="VolumeBinding",
        objects=(
            host("a"),
            csi_node("a"),
            storage_class(
                "fast",
                DRIVER,
                allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["z"]}]}],
            ),
            claim("data", "fast"),
            user_of("data"),
        ),
        facts=(
            Fact("claim/default/data", "spec.resources.requests.storage", "1Gi"),
            Fact("class/fast", "provisioner", "csi.example.com"),
            Fact("class/fast", "allowedTopologies"),
            Fact("node/a", "metadata.labels[topology.kubernetes.io/zone]", None, ["z"]),
        ),
    ),
    Case(
        reason="node(s) did not have enough free storage",
        by="VolumeBinding",
        objects=(
            host("a"),
            csi_node("a"),
            driver(storageCapacity=True),
            storage_class("fast", DRIVER),
            claim("data", "fast"),
            user_of("data"),
        ),
        facts=(
            Fact("claim/default/data", "spec.resources.requests.storage", "1Gi"),
            Fact("csidriver/csi.example.com", "spec.storageCapacity", True),
            Fact("class/fast", "metadata.name", "fast"),
        ),
    ),
    Case(
        reason="node(s) did not have enough free storage",
        by="VolumeBinding",
        objects=(
            host("a"),
            csi_node("a"),
            driver(storageCapacity=True),
            storage_class("fast", DRIVER),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIStorageCapacity",
                "metadata": {"name": "cap", "namespace": "default"},
                "storageClassName": "fast",
                "nodeTopology": {"matchLabels": {HOSTNAME: "a"}},
                "capacity": "500Mi",
            },
            claim("data", "fast"),
            user_of("data"),
        ),
        facts=(
            Fact("claim/default/data", "spec.resources.requests.storage", "1Gi"),
            Fact("csidriver/csi.example.com", "spec.storageCapacity", True),
            Fact("csistoragecapacity/default/cap", "capacity", "500Mi", 1073741824),
        ),
    ),
    Case(
        reason='persistentvolumeclaim "*" not found',
        by="VolumeBinding",
        objects=(node("n"), user_of("data")),
        facts=(Fact("pod/default/p", "spec.volumes[0].persistentVolumeClaim.claimName", "data"),),
    ),
    Case(
        reason='persistentvolumeclaim "*" is being deleted',
        by="VolumeBinding",
        objects=(
            node("n"),
            *bound("data", hostPath={"path": "/"}),
            user_of("data", "other"),
            user_of("data", schedulingGates=[{"name": "a/b"}]),
        ),
        after=(
            (5, {"verb": "delete", "object": "claim/default/data"}),
            (
                6,
                {
                    "verb": "patch",
                    "object": "pod/default/p",
                    "patch": {"spec": {"schedulingGates": []}},
                },
            ),
        ),
        facts=(
            Fact("claim/default/data", "metadata.deletionTimestamp"),
            Fact("claim/default/data", "metadata.finalizers[0]", "kubernetes.io/pvc-protection"),
            Fact("pod/default/other", "spec.volumes[0]"),
        ),
    ),
    Case(
        reason='waiting for ephemeral volume controller to create the persistentvolumeclaim "*"',
        by="VolumeBinding",
        objects=(
            node("n"),
            pod(
                "p",
                volumes=[
                    {
                        "name": "d",
                        "ephemeral": {
                            "volumeClaimTemplate": {
                                "spec": {
                                    "accessModes": ["ReadWriteOnce"],
                                    "resources": {"requests": {"storage": "1Gi"}},
                                }
                            }
                        },
                    }
                ],
            ),
        ),
        seconds=0.004,
        facts=(
            Fact("claim/default/p-d", "spec.resources.requests.storage", "1Gi"),
            Fact("claim/default/p-d", "spec.storageClassName", None),
        ),
    ),
    Case(
        reason="node(s) had no available disk",
        by="VolumeRestrictions",
        objects=(node("n"), disk("holder", nodeName="n"), disk("p")),
        facts=(
            Fact("pod/default/p", "spec.volumes[0]"),
            Fact("pod/default/holder", "spec.volumes[0]", ANYTHING, "pd"),
        ),
    ),
    Case(
        reason="node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
        by="VolumeRestrictions",
        objects=(
            node("n"),
            claim("data", modes=("ReadWriteOncePod",)),
            volume("pv", modes=("ReadWriteOncePod",), hostPath={"path": "/"}),
            user_of("data", "holder", nodeName="n"),
            user_of("data"),
        ),
        facts=(
            Fact("claim/default/data", "spec.accessModes"),
            Fact("pod/default/holder", "spec.volumes", ANYTHING, "data"),
        ),
    ),
    Case(
        reason="node(s) had no available volume zone",
        by="VolumeZone",
        objects=(
            node("a", "a"),
            *bound("data", labels={ZONE: "b"}, awsElasticBlockStore={"volumeID": "vol-1"}),
            user_of("data"),
        ),
        facts=(
            Fact("volume/pv-data", "metadata.labels[topology.kubernetes.io/zone]", "b"),
            Fact("node/a", "metadata.labels[topology.kubernetes.io/zone]", "a", ["b"]),
        ),
    ),
    Case(
        reason="node(s) exceed max volume count",
        by="NodeVolumeLimits",
        objects=(
            host("a"),
            limited("a", 1),
            *bound("one", **csi("1")),
            *bound("two", **csi("2")),
            user_of("one", "first", nodeName="a"),
            user_of("two"),
        ),
        facts=(
            Fact("claim/default/two", "spec.volumeName", "pv-two"),
            Fact("csinode/a", "spec.drivers[0].allocatable.count", 1, 2),
            Fact("pod/default/first", "spec.volumes"),
        ),
    ),
    Case(
        reason="* CSI driver is not installed on the node",
        by="NodeVolumeLimits",
        profile="v1.36",
        scenario={"feature_gates": {"VolumeLimitScaling": True}},
        objects=(
            host("a"),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIDriver",
                "metadata": {"name": "disk.example.com"},
                "spec": {"preventPodSchedulingIfMissing": True},
            },
            *bound("data", csi={"driver": "disk.example.com", "volumeHandle": "1"}),
            user_of("data"),
        ),
        facts=(
            Fact("csidriver/disk.example.com", "spec.preventPodSchedulingIfMissing", True),
            Fact("node/a", "metadata.name", "a"),
        ),
    ),
    Case(
        reason='storageclass.storage.k8s.io "*" not found',
        by="VolumeZone",
        objects=(node("n", "a"), claim("data", "gone"), user_of("data")),
        facts=(Fact("claim/default/data", "spec.storageClassName", "gone"),),
    ),
)
