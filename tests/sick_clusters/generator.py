"""A random sick cluster as the manifests of its export, each from a seed."""

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from tests.sick_clusters.disks import storage
from tests.sick_clusters.machines import EARLIER, NOON, RECENT, nodes, registrations
from tests.sick_clusters.work import named_things, pods, workloads

Manifest = dict[str, Any]

_MOUNT_FAILS: Final = (
    ("FailedMount", 'MountVolume.SetUp failed for volume "part" : secret "absent" not found'),
    (
        "FailedMount",
        'MountVolume.SetUp failed for volume "pv-c0" : kubernetes.io/csi: mounter.SetUpAt failed to '
        "get CSI client: driver name nfs.csi.k8s.io not found in the list of registered CSI drivers",
    ),
    (
        "FailedAttachVolume",
        'AttachVolume.Attach failed for volume "pv-c0" : rpc error: code = Internal desc = timeout',
    ),
    (
        "FailedAttachVolume",
        'Multi-Attach error for volume "pv-c0" Volume is already exclusively attached to one node '
        "and can't be attached to another",
    ),
    (
        "FailedCreatePodSandBox",
        'Failed to create pod sandbox: rpc error: code = Unknown desc = plugin type="cni" failed',
    ),
)
_REFUSED: Final = (
    ("ProvisioningFailed", "rpc error: code = ResourceExhausted desc = no space"),
    ("ProvisioningFailed", 'storageclass.storage.k8s.io "gone" not found'),
    ("ExternalProvisioning", "Waiting for a volume to be created by the external provisioner"),
)


def sick_cluster(seed: int) -> list[Manifest]:
    """Everything that was exported: objects that kscope plays, and those that are evidence alone."""
    chance = Random(seed)
    machines = nodes(chance)
    names = [each["metadata"]["name"] for each in machines if each["kind"] == "Node"]
    disks = storage(names, chance)
    claims = [each for each in disks if each["kind"] == "PersistentVolumeClaim"]
    work = pods(names, claims, chance)
    found = [*machines, *registrations(names, chance), *disks, *named_things(chance)]
    found += [*work, *workloads(chance)]
    events = list(_events([*work, *claims], chance)) if chance.random() < 0.8 else []
    return [*found, *events, _clock()]


def _clock() -> Manifest:
    """Something that was written at the instant of the export."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "leader", "namespace": "kube-system"},
        "spec": {"renewTime": NOON},
    }


def _events(objects: list[Manifest], chance: Random) -> Iterator[Manifest]:
    for each in objects:
        if chance.random() > 0.5:
            continue
        said = _said(each, chance)
        if said is not None:
            make = chance.choice((_core_event, _new_event))
            yield make(each, *said, chance.randint(1, 40))


def _said(about: Manifest, chance: Random) -> tuple[str, str] | None:
    if about["kind"] == "PersistentVolumeClaim":
        return chance.choice(_REFUSED) if about["status"]["phase"] == "Pending" else None
    if about["spec"].get("nodeName"):
        return chance.choice(_MOUNT_FAILS) if about["status"]["phase"] == "Pending" else None
    return "FailedScheduling", "0/3 nodes are available: 3 Insufficient cpu."


def _core_event(about: Manifest, reason: str, message: str, count: int) -> Manifest:
    return {
        **_event("v1", about),
        "involvedObject": _reference(about),
        "reason": reason,
        "message": message,
        "count": count,
        "firstTimestamp": EARLIER,
        "lastTimestamp": RECENT,
    }


def _new_event(about: Manifest, reason: str, message: str, count: int) -> Manifest:
    return {
        **_event("events.k8s.io/v1", about),
        "regarding": _reference(about),
        "reason": reason,
        "note": message,
        "eventTime": EARLIER.replace("Z", ".000000Z"),
        "series": {"count": count, "lastObservedTime": RECENT.replace("Z", ".000000Z")},
    }


def _event(version: str, about: Manifest) -> Manifest:
    metadata = about["metadata"]
    name = f"{about['kind'].lower()}-{metadata['name']}.1"
    return {
        "apiVersion": version,
        "kind": "Event",
        "metadata": {"name": name, "namespace": metadata["namespace"]},
        "type": "Warning",
    }


def _reference(about: Manifest) -> Manifest:
    metadata = about["metadata"]
    return {"kind": about["kind"], "namespace": metadata["namespace"], "name": metadata["name"]}
