"""Classes, volumes, claims, snapshots and attachments, in any state that a cluster leaves them in."""

from random import Random
from typing import Any, Final

from tests.sick_clusters.machines import (
    CLOUD,
    DISKS,
    EARLIER,
    OLD,
    RECENT,
    SHARES,
    ZONE_LABELS,
    ZONES,
)

Manifest = dict[str, Any]

NAMESPACES: Final = ("default", "shop")
MODES: Final = (
    "ReadWriteOnce",
    "ReadWriteOnce",
    "ReadWriteMany",
    "ReadOnlyMany",
    "ReadWriteOncePod",
)
# Name, provisioner, binding mode. The files lack the class that some claims want.
_CLASSES: Final = (
    ("slow", DISKS, "WaitForFirstConsumer"),
    ("quick", DISKS, "Immediate"),
    ("cloud", CLOUD, "WaitForFirstConsumer"),
    ("shares", SHARES, "Immediate"),
    ("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
)
_WANTED: Final = (*(name for name, _, _ in _CLASSES), "gone")


def storage(nodes: list[str], chance: Random) -> list[Manifest]:
    """Everything but the pods that use it. What is bound is bound on both sides, mostly."""
    found = [_class(*each) for each in _CLASSES]
    number = chance.randint(0, 6)
    for place in range(number):
        claim = _claim(f"c{place}", number, chance)
        found.append(claim)
        if claim["spec"].get("volumeName") and chance.random() < 0.9:
            volume = _volume(claim, nodes, chance)
            found.append(volume)
            if "csi" in volume["spec"] and chance.random() < 0.4:
                found.append(_attachment(volume, nodes, chance))
    found += [_snapshot(f"s{i}", chance) for i in range(chance.randint(0, 2))]
    return found


def _class(name: str, provisioner: str, mode: str) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        "allowVolumeExpansion": True,
    }


def _claim(name: str, number: int, chance: Random) -> Manifest:
    spec: Manifest = {
        "accessModes": [chance.choice(MODES)],
        "resources": {"requests": {"storage": f"{chance.randint(1, 6)}Gi"}},
        "storageClassName": chance.choice(_WANTED),
    }
    if chance.random() < 0.1:
        spec["volumeMode"] = "Block"
    metadata: Manifest = {
        "name": name,
        "namespace": chance.choice(NAMESPACES),
        "uid": f"claim-{name}",
        "creationTimestamp": OLD,
    }
    status: Manifest = {"phase": "Pending"}
    state = chance.choice(("bound", "bound", "bound", "pending", "copy", "lost", "grows"))
    if state in ("bound", "lost", "grows"):
        spec["volumeName"] = f"pv-{name}"
        status = {"phase": "Lost" if state == "lost" else "Bound"}
        status["capacity"] = {"storage": spec["resources"]["requests"]["storage"]}
    if state == "copy":
        spec["dataSource"] = _source(number, chance)
    if state == "grows":
        spec["resources"] = {"requests": {"storage": "9Gi"}}
        status["conditions"] = [
            {
                "type": chance.choice(("Resizing", "FileSystemResizePending")),
                "status": "True",
                "lastTransitionTime": chance.choice((EARLIER, RECENT)),
            }
        ]
    if chance.random() < 0.1:
        metadata |= {"deletionTimestamp": EARLIER, "finalizers": ["kubernetes.io/pvc-protection"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def _source(number: int, chance: Random) -> Manifest:
    if chance.random() < 0.5:
        name = f"c{chance.randint(0, number)}"
        return {"kind": "PersistentVolumeClaim", "name": name}
    name = f"s{chance.randint(0, 2)}"
    return {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name}


def _volume(claim: Manifest, nodes: list[str], chance: Random) -> Manifest:
    """The volume of a bound claim, in some zone or on some node, which may be another's."""
    metadata: Manifest = {"name": claim["spec"]["volumeName"], "creationTimestamp": OLD}
    spec: Manifest = {
        "capacity": {"storage": f"{chance.randint(1, 9)}Gi"},
        "accessModes": claim["spec"]["accessModes"],
        "storageClassName": claim["spec"]["storageClassName"],
        "persistentVolumeReclaimPolicy": chance.choice(("Delete", "Retain")),
        "claimRef": {
            "kind": "PersistentVolumeClaim",
            "namespace": claim["metadata"]["namespace"],
            "name": claim["metadata"]["name"],
            "uid": claim["metadata"]["uid"],
        },
    }
    if claim["spec"].get("volumeMode"):
        spec["volumeMode"] = claim["spec"]["volumeMode"]
    zone = chance.choice(ZONES)
    match chance.choice(("disk", "disk", "cloud", "in-tree", "share", "local")):
        case "disk":
            spec["csi"] = {"driver": DISKS, "volumeHandle": metadata["name"]}
            spec["nodeAffinity"] = _affinity(chance.choice(ZONE_LABELS), zone)
        case "cloud":
            spec["csi"] = {"driver": CLOUD, "volumeHandle": metadata["name"]}
            metadata["labels"] = {chance.choice(ZONE_LABELS): zone}
        case "in-tree":
            spec["awsElasticBlockStore"] = {"volumeID": f"vol-{claim['metadata']['name']}"}
            metadata["labels"] = {chance.choice(ZONE_LABELS): zone}
        case "share":
            spec["csi"] = {"driver": SHARES, "volumeHandle": metadata["name"]}
        case _:
            spec["local"] = {"path": "/mnt"}
            where = chance.choice((*nodes, "node-that-is-gone"))
            spec["nodeAffinity"] = _affinity("kubernetes.io/hostname", where)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Bound"},
    }


def _affinity(key: str, value: str) -> Manifest:
    expression = {"key": key, "operator": "In", "values": [value]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def _attachment(volume: Manifest, nodes: list[str], chance: Random) -> Manifest:
    name = volume["metadata"]["name"]
    metadata: Manifest = {"name": f"csi-{name}", "creationTimestamp": OLD}
    driver = volume["spec"]["csi"]["driver"]
    if chance.random() < 0.2:
        held = [f"external-attacher/{driver.replace('.', '-')}"]
        metadata |= {"deletionTimestamp": EARLIER, "finalizers": held}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": metadata,
        "spec": {
            "attacher": driver,
            "nodeName": chance.choice((*nodes, "node-that-is-gone")),
            "source": {"persistentVolumeName": name},
        },
        "status": {"attached": chance.random() < 0.8},
    }


def _snapshot(name: str, chance: Random) -> Manifest:
    return {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {
            "name": name,
            "namespace": chance.choice(NAMESPACES),
            "creationTimestamp": OLD,
        },
        "spec": {"source": {"persistentVolumeClaimName": "c0"}},
        "status": {"readyToUse": chance.random() < 0.6, "restoreSize": f"{chance.randint(1, 9)}Gi"},
    }
