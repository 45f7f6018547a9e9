"""The Events of the storage controllers, the kubelet and the workload controllers."""

from __future__ import annotations

from typing import Any, Final

from tests.builders import (
    Manifest,
    claim,
    csi_node,
    host,
    node,
    pod,
    storage_class,
    user_of,
    volume,
)
from tests.reasons.case import ANYTHING, Case
from tests.reasons.case import Expected as Fact
from tests.reasons.storage import DRIVER, bound, csi

CLAIM: Final = "claim default/data"
PATH: Final = {"hostPath": {"path": "/mnt"}}


def fault(**fields: Any) -> dict[str, Any]:
    """The command that injects a fault."""
    return {"verb": "fault", "patch": fields}


def workload(kind: str, **spec: Any) -> Manifest:
    """A workload named web."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x")["spec"]}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def quota(**hard: str) -> Manifest:
    """A quota of namespace default."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "default"},
        "spec": {"hard": hard},
    }


def moving() -> tuple[Manifest, ...]:
    """Two nodes, and a volume that a pod on the first one uses."""
    return (
        host("a"),
        host("b"),
        csi_node("a"),
        csi_node("b"),
        *bound("data", **csi("h")),
        user_of("data", "old", nodeName="a"),
    )


CASES: Final = (
    Case(
        reason="FailedBinding",
        by="persistentvolume-controller",
        asked=CLAIM,
        objects=(claim("data"), volume("small", size="500Mi", **PATH)),
        facts=(
            Fact("claim/default/data", "spec.resources.requests.storage", "1Gi"),
            Fact("claim/default/data", "spec.storageClassName", ""),
            Fact("volume/small", "spec.capacity.storage", "500Mi", 1073741824),
        ),
    ),
    Case(
        reason="VolumeMismatch",
        by="persistentvolume-controller",
        asked=CLAIM,
        objects=(claim("data", volumeName="small"), volume("small", size="500Mi", **PATH)),
        facts=(
            Fact("claim/default/data", "spec.volumeName", "small"),
            Fact("volume/small", "spec.capacity.storage", "500Mi", 1073741824),
            Fact("claim/default/data", "spec.resources.requests.storage", "1Gi"),
        ),
    ),
    Case(
        reason="FailedBinding",
        by="persistentvolume-controller",
        asked=CLAIM,
        objects=(claim("data", volumeName="pv-other"), *bound("other", **PATH)),
        facts=(
            Fact("claim/default/data", "spec.volumeName", "pv-other"),
            Fact("volume/pv-other", "spec.claimRef"),
        ),
    ),
    Case(
        reason="ProvisioningFailed",
        by="persistentvolume-controller",
        asked=CLAIM,
        objects=(claim("data", "gone"),),
        facts=(Fact("claim/default/data", "spec.storageClassName", "gone"),),
    ),
    Case(
        reason="ProvisioningFailed",
        by="external-provisioner",
        asked=CLAIM,
        objects=(node("n"), storage_class("fast", DRIVER, mode="Immediate"), claim("data", "fast")),
        after=(
            (
                0,
                fault(
                    fail="provision",
                    claim="default/data",
                    text="rpc error: code = PermissionDenied desc = no role",
                    times=100,
                ),
            ),
        ),
        facts=(
            Fact("claim/default/data", "spec.storageClassName", "fast"),
            Fact("class/fast", "provisioner", "csi.example.com"),
            Fact(
                "claim/default/data",
                "metadata.annotations[volume.kubernetes.io/storage-provisioner]",
                "csi.example.com",
            ),
        ),
    ),
    Case(
        reason="ExternalProvisioning",
        by="persistentvolume-controller",
        asked=CLAIM,
        objects=(node("n"), storage_class("fast", DRIVER, mode="Immediate"), claim("data", "fast")),
        after=((0, fault(absent=DRIVER)),),
        facts=(
            Fact("claim/default/data", "spec.storageClassName", "fast"),
            Fact("class/fast", "provisioner", "csi.example.com"),
            Fact(
                "claim/default/data",
                "metadata.annotations[volume.kubernetes.io/storage-provisioner]",
                "csi.example.com",
            ),
        ),
    ),
    Case(
        reason="WaitForFirstConsumer",
        by="persistentvolume-controller",
        asked=CLAIM,
        objects=(node("n"), storage_class("fast", DRIVER), claim("data", "fast")),
        facts=(
            Fact("claim/default/data", "spec.storageClassName", "fast"),
            Fact("class/fast", "volumeBindingMode", "WaitForFirstConsumer"),
            Fact(
                "claim/default/data",
                "metadata.annotations[volume.kubernetes.io/selected-node]",
                None,
            ),
        ),
    ),
    Case(
        reason="WaitForPodScheduled",
        by="persistentvolume-controller",
        asked=CLAIM,
        objects=(
            node("n", unschedulable=True),
            storage_class("fast", DRIVER),
            claim("data", "fast"),
            user_of("data"),
        ),
        facts=(
            Fact("class/fast", "volumeBindingMode", "WaitForFirstConsumer"),
            Fact(
                "claim/default/data",
                "metadata.annotations[volume.kubernetes.io/selected-node]",
                None,
            ),
            Fact("pod/default/p", "spec.volumes[0]"),
        ),
    ),
    Case(
        reason="ClaimLost",
        by="persistentvolume-controller",
        asked=CLAIM,
        objects=bound("data", **PATH)[:1],
        facts=(
            Fact("claim/default/data", "spec.volumeName", "pv-data"),
            Fact("claim/default/data", "status.phase", "Lost"),
        ),
    ),
    Case(
        reason="ClaimMisbound",
        by="persistentvolume-controller",
        asked=CLAIM,
        objects=(
            bound("data")[0],
            volume(
                "pv-data", **PATH, claimRef={"namespace": "default", "name": "other", "uid": "u"}
            ),
        ),
        facts=(
            Fact("claim/default/data", "spec.volumeName", "pv-data"),
            Fact("volume/pv-data", "spec.claimRef", ANYTHING, "uid-data"),
        ),
    ),
    Case(
        reason="VolumeFailedDelete",
        by="persistentvolume-controller",
        asked="volume pv-data",
        objects=bound(
            "data", persistentVolumeReclaimPolicy="Delete", nfs={"server": "s", "path": "/"}
        ),
        after=((2, {"verb": "delete", "object": "claim/default/data"}),),
        facts=(
            Fact("volume/pv-data", "status.message"),
            Fact("volume/pv-data", "spec.persistentVolumeReclaimPolicy", "Delete"),
            Fact("volume/pv-data", "metadata.annotations[pv.kubernetes.io/provisioned-by]", None),
            Fact("volume/pv-data", "spec.claimRef"),
        ),
    ),
    Case(
        reason="VolumeFailedRecycle",
        by="persistentvolume-controller",
        asked="volume pv-data",
        objects=bound(
            "data",
            persistentVolumeReclaimPolicy="Recycle",
            csi={"driver": DRIVER, "volumeHandle": "h"},
        ),
        after=((2, {"verb": "delete", "object": "claim/default/data"}),),
        facts=(
            Fact("volume/pv-data", "status.message", "No recycler plugin found for the volume!"),
            Fact("volume/pv-data", "spec.persistentVolumeReclaimPolicy", "Recycle"),
            Fact("volume/pv-data", "metadata.annotations[pv.kubernetes.io/provisioned-by]", None),
            Fact("volume/pv-data", "spec.claimRef"),
        ),
    ),
    Case(
        reason="FailedAttachVolume",
        by="attachdetach-controller",
        asked="pod default/p",
        objects=(*moving(), user_of("data", nodeName="b")),
        facts=(
            Fact("volume/pv-data", "spec.accessModes"),
            Fact("pod/default/old", "spec.nodeName", "a"),
        ),
    ),
    Case(
        reason="FailedAttachVolume",
        by="attachdetach-controller",
        asked="pod default/p",
        objects=(host("b"), csi_node("b"), *bound("data", **csi("h")), user_of("data")),
        after=(
            (
                0,
                fault(
                    fail="attach",
                    volume="pv-data",
                    node="b",
                    times=100,
                    text="rpc error: code = NotFound desc = volume h not found",
                ),
            ),
        ),
        facts=(Fact("volume/pv-data", "spec.csi.driver", "csi.example.com"),),
    ),
    Case(
        reason="FailedMount",
        by="kubelet",
        asked="pod default/p",
        objects=(host("b"), csi_node("b"), *bound("data", **csi("h")), user_of("data")),
        after=(
            (0, fault(fail="mount", volume="pv-data", node="b", times=100, text="exit status 32")),
        ),
        facts=(
            Fact("pod/default/p", "spec.nodeName", "b"),
            Fact("pod/default/p", "status.phase", "Pending"),
            Fact("claim/default/data", "spec.volumeName", "pv-data"),
        ),
    ),
    Case(
        reason="FailedMount",
        by="kubelet",
        asked="pod default/p",
        objects=(host("b"), csi_node("b"), *bound("data", **csi("h")), user_of("data")),
        after=(
            (
                0,
                fault(
                    fail="mount_device", volume="pv-data", node="b", times=100, text="wrong fs type"
                ),
            ),
        ),
        facts=(
            Fact("pod/default/p", "spec.nodeName", "b"),
            Fact("pod/default/p", "status.phase", "Pending"),
            Fact("claim/default/data", "spec.volumeName", "pv-data"),
        ),
    ),
    Case(
        reason="FailedMount",
        by="kubelet",
        asked="pod default/p",
        objects=(host("b"), claim("data"), user_of("data", nodeName="b")),
        facts=(
            Fact("claim/default/data", "spec.resources.requests.storage", "1Gi"),
            Fact("claim/default/data", "spec.storageClassName", ""),
        ),
    ),
    Case(
        reason="FailedMount",
        by="kubelet",
        asked="pod default/p",
        objects=(*moving(), user_of("data", nodeName="b")),
        seconds=200,
        # Newer kubelets emit nothing when the wait for volumes times out.
        profile="v1.20",
        facts=(
            Fact("volume/pv-data", "spec.accessModes"),
            Fact("pod/default/old", "spec.nodeName", "a"),
        ),
    ),
    Case(
        reason="FailedMount",
        by="kubelet",
        asked="pod default/p",
        objects=(host("b"), user_of("data", nodeName="b")),
        facts=(
            Fact("pod/default/p", "spec.nodeName", "b"),
            Fact("pod/default/p", "spec.volumes"),
        ),
    ),
    Case(
        reason="NetworkNotReady",
        by="kubelet",
        asked="pod default/p",
        objects=(
            host("b"),
            pod("p", nodeName="b"),
        ),
        after=(
            (
                0,
                {
                    "verb": "patch",
                    "object": "node/b",
                    "patch": {
                        "status": {
                            "conditions": [
                                {
                                    "type": "Ready",
                                    "status": "False",
                                    "message": "container runtime network not ready: no CNI",
                                }
                            ]
                        }
                    },
                },
            ),
        ),
        facts=(
            Fact("pod/default/p", "spec.nodeName", "b"),
            Fact("node/b", "status.conditions[0]"),
        ),
    ),
    Case(
        reason="FailedCreate",
        by="replicaset-controller",
        asked="replicaset default/web",
        objects=(node("n"), quota(pods="1"), workload("ReplicaSet", replicas=2)),
        facts=(
            Fact("replicaset/default/web", "spec.replicas", 2, 1),
            Fact("replicaset/default/web", "status.conditions[0]"),
            Fact("resourcequota/default/few", "status.used.pods", "1", "1"),
        ),
    ),
    Case(
        reason="FailedCreate",
        by="replicaset-controller",
        asked="replicaset default/web",
        objects=(
            node("n"),
            quota(**{"requests.memory": "1Gi"}),
            workload("ReplicaSet", replicas=2),
        ),
        facts=(
            Fact("replicaset/default/web", "spec.replicas", 2, 0),
            Fact("resourcequota/default/few", "spec.hard[requests.memory]", "1Gi"),
            Fact("replicaset/default/web", "status.conditions[0]"),
        ),
    ),
    Case(
        reason="FailedCreate",
        by="statefulset-controller",
        asked="statefulset default/web",
        objects=(node("n"), quota(pods="1"), workload("StatefulSet", replicas=2)),
        facts=(
            Fact("statefulset/default/web", "spec.replicas", 2, 1),
            Fact("resourcequota/default/few", "status.used.pods", "1", "1"),
        ),
    ),
    Case(
        reason="FailedCreate",
        by="job-controller",
        asked="job default/web",
        objects=(node("n"), quota(pods="1"), {**workload("Job", parallelism=2)}),
        facts=(
            Fact("job/default/web", "spec.parallelism", 2, 1),
            Fact("resourcequota/default/few", "status.used.pods", "1", "1"),
        ),
    ),
    Case(
        reason="FailedCreate",
        by="daemonset-controller",
        asked="daemonset default/web",
        objects=(node("n"), node("m"), quota(pods="1"), workload("DaemonSet")),
        facts=(
            Fact("daemonset/default/web", "status.desiredNumberScheduled", 2, 1),
            Fact("resourcequota/default/few", "status.used.pods", "1", "1"),
        ),
    ),
    Case(
        reason="ExternalExpanding",
        by="external-resizer",
        asked=CLAIM,
        objects=(
            host("b"),
            csi_node("b"),
            storage_class("fast", DRIVER, allowVolumeExpansion=True),
            *bound("data", class_name="fast", **csi("h")),
            user_of("data"),
        ),
        after=(
            (1, fault(no_resizer=DRIVER)),
            (
                10,
                {
                    "verb": "patch",
                    "object": "claim/default/data",
                    "patch": {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
                },
            ),
        ),
        facts=(
            Fact("claim/default/data", "spec.resources.requests.storage", "2Gi", 1073741824),
            Fact("claim/default/data", "status.capacity.storage", "1Gi"),
            Fact("class/fast", "allowVolumeExpansion", True),
        ),
    ),
)
