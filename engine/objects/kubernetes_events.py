"""An Event of core/v1, made of what a history says of an object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from engine.kernel.units import timestamp
from engine.objects.kinds import entity_id

Manifest = dict[str, Any]

# The names under which components report Events, where the history calls them otherwise.
# Upstream: the EventSource of each component's recorder.
_REPORTERS: Final = {
    "attach-detach": "attachdetach-controller",
    "pv-controller": "persistentvolume-controller",
    "volume-expand": "volume_expand",
}
_DEFAULT_SCHEDULER: Final = "default-scheduler"
# The API versions of the kinds that Events are about.
_KINDS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "v1": (
        *("ConfigMap", "LimitRange", "Namespace", "Node", "PersistentVolume"),
        *("PersistentVolumeClaim", "Pod", "ReplicationController", "ResourceQuota", "Secret"),
        *("Service", "ServiceAccount"),
    ),
    "apps/v1": ("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "batch/v1": ("Job",),
    "coordination.k8s.io/v1": ("Lease",),
    "node.k8s.io/v1": ("RuntimeClass",),
    "policy/v1": ("PodDisruptionBudget",),
    "resource.k8s.io/v1": (
        *("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
    ),
    "scheduling.k8s.io/v1": ("PriorityClass",),
    "scheduling.k8s.io/v1alpha2": ("PodGroup", "Workload"),
    "storage.k8s.io/v1": (
        *("CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"),
        "VolumeAttributesClass",
    ),
}
_OF_PREFIX: Final = {
    entity_id(kind, "").removesuffix("/"): (kind, version)
    for version, kinds in _KINDS_OF.items()
    for kind in kinds
}


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of an object with the same words: how often, and when by the clock."""

    object: str
    reason: str
    component: str
    message: str
    type: str
    first_seq: int
    last_seq: int
    first_at: int
    last_at: int
    count: int


class Life(NamedTuple):
    """An object: its uid, a pod's scheduler and node, and the event that created it."""

    uid: str
    scheduler: str
    node: str
    created: int


def core_event(said: Said, life: Life | None) -> Manifest:
    """What was *said* of an object, *life*, as an Event; without a uid where that is not known."""
    reference, source = _reference(said, life), _source(said, life)
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": _metadata(said, reference),
        "involvedObject": reference,
        "reason": said.reason,
        "message": said.message,
        "source": source,
        "firstTimestamp": timestamp(said.first_at),
        "lastTimestamp": timestamp(said.last_at),
        "count": said.count,
        "type": said.type,
        "eventTime": None,
        "reportingComponent": source["component"],
        "reportingInstance": source.get("host", ""),
    }


def _source(said: Said, life: Life | None) -> Manifest:
    if said.component == "scheduler":
        return {"component": (life.scheduler if life else "") or _DEFAULT_SCHEDULER}
    source = {"component": _REPORTERS.get(said.component, said.component)}
    node = life.node if life and said.component == "kubelet" else ""
    return {**source, "host": node} if node else source


def _reference(said: Said, life: Life | None) -> Manifest:
    prefix, _, key = said.object.partition("/")
    kind, version = _OF_PREFIX.get(prefix, (prefix, ""))
    namespace, _, name = key.rpartition("/")
    reference: Manifest = {"kind": kind, "name": name}
    if namespace:
        reference["namespace"] = namespace
    if version:
        reference["apiVersion"] = version
    if life is not None and (life.uid or prefix == "node"):
        # Events about nodes name the node where its uid would stand, as a kubelet does.
        reference["uid"] = name if prefix == "node" else life.uid
    return reference


def _metadata(said: Said, reference: Manifest) -> Manifest:
    return {
        "name": f"{reference['name']}.{said.first_seq:016x}",
        "namespace": reference.get("namespace", "default"),
        "uid": f"00000000-0000-4000-8000-{said.first_seq:012x}",
        "creationTimestamp": timestamp(said.first_at),
    }
