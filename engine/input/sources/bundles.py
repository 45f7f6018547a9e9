"""Bundles that support tools make of a cluster, recognised by their files.

Upstream: replicatedhq/troubleshoot pkg/collect/cluster_resources.go; openshift/must-gather and
oc adm inspect; kubectl pkg/cmd/clusterinfo/clusterinfo_dump.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, Final

from engine.api_server.validation.kinds import KINDS

Manifest = dict[str, Any]

_TROUBLESHOOT: Final = "a troubleshoot support bundle"
_MUST_GATHER: Final = "a must-gather"
_CLUSTER_INFO: Final = "a kubectl cluster-info dump"
_INSPECTED: Final = re.compile(r"(^|/)(cluster-scoped-resources|namespaces/[^/]+)/[^/]+/")
LOGS_BEGIN: Final = b"==== START logs for container "
LOGS_END: Final = b"\n==== END logs for container "
_LOGS: Final = re.compile(
    rb"^==== START logs for container .*?^==== END logs for container [^\n]*$",
    re.MULTILINE | re.DOTALL,
)
# Names of files and folders of a troubleshoot bundle that are not the plural of a kind.
_SHORT: Final = {
    "pvs": "PersistentVolume",
    "pvcs": "PersistentVolumeClaim",
    "events": "Event",
    "leases": "Lease",
    "cronjobs": "CronJob",
    "configmaps": "ConfigMap",
    "serviceaccounts": "ServiceAccount",
}
_GROUPS: Final = {
    "apps/v1": ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"),
    "autoscaling/v2": ("HorizontalPodAutoscaler",),
    "batch/v1": ("Job", "CronJob"),
    "storage.k8s.io/v1": (
        *("StorageClass", "CSINode", "CSIDriver", "VolumeAttachment", "CSIStorageCapacity"),
        "VolumeAttributesClass",
    ),
    "scheduling.k8s.io/v1": ("PriorityClass",),
    "policy/v1": ("PodDisruptionBudget",),
    "node.k8s.io/v1": ("RuntimeClass",),
    "resource.k8s.io/v1": (
        *("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass"),
    ),
    "resource.k8s.io/v1beta2": ("DeviceTaintRule",),
    "coordination.k8s.io/v1": ("Lease",),
}
_VERSIONS: Final = {kind: version for version, kinds in _GROUPS.items() for kind in kinds}


def without_logs(data: bytes) -> bytes:
    """*data* without the logs that `kubectl cluster-info dump` prints between its lists."""
    return _LOGS.sub(b"", data) if LOGS_BEGIN in data else data


def bundle_of(names: Iterable[str]) -> str:
    """What the files of these names are together, in words; "" where nothing is known."""
    found = [PurePosixPath(name.replace("\\", "/")).as_posix() for name in names]
    if any("cluster-resources/" in name for name in found):
        return _TROUBLESHOOT
    if any(_INSPECTED.search(name) for name in found):
        return _MUST_GATHER
    stems = {PurePosixPath(name).name for name in found}
    is_dump = {"pods.json", "events.json"} <= stems or {"pods.yaml", "events.yaml"} <= stems
    return _CLUSTER_INFO if is_dump and stems & {"nodes.json", "nodes.yaml"} else ""


def base_of(name: str) -> Manifest:
    """The kind and version of the items of a bare list, as its file or folder is called.

    Older troubleshoot bundles have lists of objects that say neither. Empty for another name.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    for word in (path.stem, path.parent.name):
        plain = word.lower().replace("-", "").replace("_", "")
        kind = _SHORT.get(plain) or _PLURALS.get(plain)
        if kind is not None:
            return {"apiVersion": _VERSIONS.get(kind, "v1"), "kind": kind}
    return {}


def _plural(kind: str) -> str:
    word = kind.lower()
    return (
        f"{word}es" if word.endswith("s") else f"{word[:-1]}ies" if word[-1] == "y" else f"{word}s"
    )


_PLURALS: Final = {_plural(kind): kind for kind in KINDS}
