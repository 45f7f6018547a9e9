"""The cluster at an instant as YAML: `kubectl apply` takes it, and importing it gives the same state.

Everything stays but what an API server refuses in a new object: its resourceVersion. Kinds come in
the order in which objects need each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from engine.objects.yaml_text import yaml_text

Manifest = dict[str, Any]

# What others name comes first.
_ORDER: Final = (
    *(
        "Namespace",
        "CustomResourceDefinition",
        "PriorityClass",
        "RuntimeClass",
        "StorageClass",
        "VolumeAttributesClass",
    ),
    *("CSIDriver", "DeviceClass", "Node", "CSINode", "CSIStorageCapacity", "ResourceSlice"),
    *("LimitRange", "ResourceQuota", "ServiceAccount", "Service", "PersistentVolume"),
    *("PersistentVolumeClaim", "ResourceClaimTemplate", "ResourceClaim", "Workload", "PodGroup"),
    *("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"),
    *("Pod", "PodDisruptionBudget", "VolumeAttachment", "Lease"),
)
_RANKS: Final[Mapping[str, int]] = {kind: rank for rank, kind in enumerate(_ORDER)}
# Their data are not kept, and an object without them would take those of a cluster away.
_NEVER: Final = ("Secret", "ConfigMap", "Event")
_OF_THE_SERVER: Final = ("resourceVersion", "managedFields", "selfLink")


def rank(kind: str) -> tuple[int, str]:
    """What to sort kinds by."""
    return _RANKS.get(kind, len(_ORDER)), kind


def is_written(kind: str) -> bool:
    """Whether objects of the kind are among the manifests."""
    return kind not in _NEVER


def documents(manifests: Iterable[Manifest]) -> bytes:
    """Manifests as YAML documents, in the order in which they are given."""
    return b"".join(b"---\n" + _document(portable(each)) for each in manifests)


def portable(manifest: Manifest) -> Manifest:
    """A manifest as it can be applied elsewhere."""
    metadata = {
        name: part for name, part in manifest["metadata"].items() if name not in _OF_THE_SERVER
    }
    return {**manifest, "metadata": metadata}


def _document(manifest: Manifest) -> bytes:
    # YAML knows texts only, and none that remember their pattern.
    plain = orjson.loads(orjson.dumps(manifest))
    return yaml_text(plain).encode()
