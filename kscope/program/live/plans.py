"""Which lists a question needs: all kinds for a whole cluster, what concerns it for one object.

What a pod is refused for depends on all nodes and all pods; on volumes only where it has some, on
devices only where it asks for some. What is read for `why` has to give the answer that everything
gives: tests/program/live holds both against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.objects.manifest_parts import items, section
from kscope.program.live.kinds import KINDS, ReadKind, of_kinds

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wish:
    """A list that is wanted: of all namespaces or of one, of all objects or of those of a field."""

    kind: ReadKind
    namespace: str = ""
    fields: str = ""


# Of all namespaces: they decide together where a pod can go.
_EVERYWHERE: Final = (
    *("Pod", "Node", "Namespace", "PriorityClass", "PodDisruptionBudget", "Deployment"),
    *("DaemonSet", "RuntimeClass"),
)
# Of the namespace of the object.
_BESIDE: Final = (
    *("Event", "ReplicaSet", "StatefulSet", "Job", "ReplicationController", "Service"),
    *("ResourceQuota", "LimitRange"),
)
_VOLUMES: Final = (
    *("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver"),
    *("CSIStorageCapacity", "VolumeAttachment", "VolumeSnapshot", "VolumeSnapshotContent"),
    "VolumeAttributesClass",
)
_DEVICES: Final = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass")
_POOLS: Final = ("NodePool", "NodeClaim", "MachineDeployment")
_QUEUES: Final = ("Workload", "LocalQueue", "ClusterQueue", "PodGroup")
_NAMED: Final = ("Secret", "ConfigMap", "ServiceAccount")
_REFUSERS: Final = (
    "ServiceAccount",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
)
_NODE_LEASES: Final = "kube-node-lease"
_SYSTEM: Final = "kube-system"
_OF_VOLUMES: Final = frozenset(_VOLUMES)
_OF_DEVICES: Final = frozenset(_DEVICES)
_WORKLOADS: Final = frozenset(
    (
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "ReplicationController",
        "Job",
        "CronJob",
    )
)
_RULES: Final = frozenset(("ResourceQuota", "LimitRange"))


def whole_plan(only: Iterable[ReadKind] = ()) -> list[Wish]:
    """Everything that kscope reads, or *only* some kinds."""
    wanted = tuple(only) or KINDS
    return [Wish(each) for each in KINDS if each in wanted]


def plan_of(manifest: Manifest, own: ReadKind) -> list[Wish]:
    """What concerns one object, of the kind *own*."""
    kind, namespace = own.kind, str(manifest["metadata"].get("namespace") or "")
    chosen = _chosen(kind, manifest)
    if chosen is None:
        return [*whole_plan(), *([] if own in KINDS else [Wish(own, namespace)])]
    everywhere, beside = chosen
    wishes = [Wish(each) for each in of_kinds(*_EVERYWHERE, *everywhere)]
    wishes += [Wish(each, namespace) for each in of_kinds(*_BESIDE, *beside)]
    wishes += [Wish(each, at) for each in of_kinds("Lease") for at in (_NODE_LEASES, _SYSTEM)]
    return list(_once(wishes))


def _once(wishes: Iterable[Wish]) -> Iterator[Wish]:
    """Each list once; one of a namespace not beside that of all."""
    whole = {each.kind for each in wishes if not each.namespace}
    seen: set[Wish] = set()
    for each in wishes:
        if each not in seen and (not each.namespace or each.kind not in whole):
            seen.add(each)
            yield each


_Chosen = tuple[tuple[str, ...], tuple[str, ...]]


def _chosen(kind: str, manifest: Manifest) -> _Chosen | None:
    """What is wanted besides, of all namespaces and of that of the object; None for everything."""
    if kind == "Pod":
        return _of_pod(manifest)
    if kind in _OF_VOLUMES:
        return (*_VOLUMES, *_POOLS), _NAMED
    if kind in _OF_DEVICES:
        return _DEVICES, ()
    if kind in _WORKLOADS:
        return (*_VOLUMES, *_DEVICES, *_POOLS, *_QUEUES), (*_REFUSERS, *_NAMED, "CronJob")
    if kind in _RULES:
        return (), _REFUSERS
    if kind == "PodDisruptionBudget":
        return (), ()
    return None


def _of_pod(pod: Manifest) -> _Chosen:
    spec, status = section(pod, "spec"), section(pod, "status")
    is_waiting = not spec.get("nodeName")
    everywhere: tuple[str, ...] = _POOLS if is_waiting else ()
    if _has_volumes(spec):
        everywhere += _VOLUMES
    if spec.get("resourceClaims") or is_waiting:
        everywhere += _DEVICES
    if spec.get("schedulingGates") or spec.get("workloadRef") or spec.get("schedulingGroup"):
        everywhere += _QUEUES
    starts = not is_waiting and status.get("phase") in ("Pending", None)
    is_unwell = any(not each.get("ready") for each in items(status, "containerStatuses"))
    return everywhere, _NAMED if starts or is_unwell else ()


def _has_volumes(spec: Manifest) -> bool:
    of_claims = ("persistentVolumeClaim", "ephemeral")
    return any(name in each for each in spec.get("volumes") or () for name in of_claims)
