"""Nodes that are well, silent, or not ready for a reason of their own, and the drivers on them."""

from random import Random
from typing import Any, Final

Manifest = dict[str, Any]

NOON: Final = "2026-11-20T12:00:00Z"
RECENT: Final = "2026-11-20T11:59:30Z"
EARLIER: Final = "2026-11-20T11:30:00Z"
OLD: Final = "2026-11-20T09:00:00Z"

ZONES: Final = ("za", "zb")
# The label of a zone before and since v1.17.
ZONE_LABELS: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
DISKS: Final = "csi.example.com"
SHARES: Final = "nfs.csi.k8s.io"
CLOUD: Final = "ebs.csi.aws.com"
DRIVERS: Final = (DISKS, SHARES, CLOUD)

_NOT_READY: Final = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized",
    "container runtime is down",
    "PLEG is not healthy: pleg was last seen active 4m3s ago; threshold is 3m0s",
    "[container runtime status check may not have completed yet, PLEG is not healthy]",
    "the kubelet is unwell",
    "",
)


def nodes(chance: Random) -> list[Manifest]:
    """One to five nodes, with their Leases in some clusters."""
    found = [_node(f"n{i}", chance) for i in range(chance.randint(1, 5))]
    if chance.random() < 0.5:
        found += [_lease(each, chance) for each in found]
    return found


def registrations(names: list[str], chance: Random) -> list[Manifest]:
    """CSINodes, some without a driver that is needed, and what the drivers say of themselves."""
    told = chance.random() < 0.8
    found = [_csi_node(name, chance) for name in names if told and chance.random() < 0.9]
    if chance.random() < 0.7:
        found.append(_csi_driver(SHARES, attaches=False))
        found.append(_csi_driver(DISKS, attaches=True))
    return found


def _node(name: str, chance: Random) -> Manifest:
    labels = {"kubernetes.io/hostname": name}
    labels |= dict.fromkeys(chance.choice((ZONE_LABELS, *((each,) for each in ZONE_LABELS))), "za")
    zone = chance.choice(ZONES)
    labels = {key: zone if key in ZONE_LABELS else text for key, text in labels.items()}
    amounts = {"cpu": chance.choice(("1", "2", "4")), "memory": "4Gi", "pods": "6"}
    ready = chance.choice(("True", "True", "True", "Unknown", "False"))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": OLD},
        "spec": _taints(ready, chance),
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [_ready(ready, chance)],
        },
    }


def _ready(status: str, chance: Random) -> Manifest:
    said = {
        "True": ("KubeletReady", "kubelet is posting ready status"),
        "Unknown": ("NodeStatusUnknown", "Kubelet stopped posting node status."),
        "False": ("KubeletNotReady", chance.choice(_NOT_READY)),
    }
    reason, message = said[status]
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": EARLIER,
        "lastHeartbeatTime": chance.choice((OLD, RECENT)),
    }


def _taints(ready: str, chance: Random) -> Manifest:
    keys = {"Unknown": "unreachable", "False": "not-ready"}
    taints: list[Manifest] = []
    if ready != "True" and chance.random() < 0.8:
        key = f"node.kubernetes.io/{keys[ready]}"
        taints += [{"key": key, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    if chance.random() < 0.2:
        taints.append({"key": "dedicated", "value": "ml", "effect": "NoSchedule"})
    spec: Manifest = {"taints": taints} if taints else {}
    return {**spec, "unschedulable": True} if chance.random() < 0.1 else spec


def _lease(node: Manifest, chance: Random) -> Manifest:
    """A Lease that fits the condition, mostly."""
    is_ready = node["status"]["conditions"][0]["status"] != "Unknown"
    is_fresh = is_ready if chance.random() < 0.9 else not is_ready
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node["metadata"]["name"], "namespace": "kube-node-lease"},
        "spec": {
            "holderIdentity": node["metadata"]["name"],
            "leaseDurationSeconds": 40,
            "renewTime": "2026-11-20T11:59:55.000000Z"
            if is_fresh
            else "2026-11-20T11:30:00.000000Z",
        },
    }


def _csi_node(name: str, chance: Random) -> Manifest:
    there = [each for each in DRIVERS if chance.random() < 0.75]
    drivers: list[Manifest] = []
    for each in there:
        driver: Manifest = {"name": each, "nodeID": name, "topologyKeys": [ZONE_LABELS[0]]}
        if chance.random() < 0.3:
            driver["allocatable"] = {"count": chance.choice((1, 2, 3))}
        drivers.append(driver)
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }


def _csi_driver(name: str, *, attaches: bool) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name},
        "spec": {"attachRequired": attaches},
    }
