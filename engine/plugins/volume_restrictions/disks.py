"""In-tree disks that two pods of one node may not share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.framework.nodes.node_table import NodeTable
from engine.objects.objects import Pod

# (kind, identity, whether it is read-only, which allows sharing)
Disk = tuple[str, str, bool]


def restricted_disks(pod: Pod) -> list[Disk]:
    """The pod's in-tree disks that two pods of one node may not share freely."""
    return [disk for volume in pod.volumes for disk in _disks(volume)]


def _disks(volume: Mapping[str, Any]) -> list[Disk]:
    if source := volume.get("gcePersistentDisk"):
        return [("gce", str(source.get("pdName")), bool(source.get("readOnly")))]
    if source := volume.get("awsElasticBlockStore"):
        return [("ebs", str(source.get("volumeID")), False)]
    if source := volume.get("iscsi"):
        return [("iscsi", str(source.get("iqn")), bool(source.get("readOnly")))]
    if source := volume.get("rbd"):
        image = f"{source.get('pool') or 'rbd'}/{source.get('image')}"
        read_only = bool(source.get("readOnly"))
        monitors = source.get("monitors") or ()
        return [("rbd", f"{monitor}/{image}", read_only) for monitor in monitors]
    return []


def has_disk_conflict(table: NodeTable, row: int, disks: list[Disk]) -> bool:
    """Whether a pod at *row* holds one of *disks* and not both are read-only."""
    pods = table.pods[row].values()
    return any(disks_conflict(disks, restricted_disks(other.pod)) for other in pods)


def disks_conflict(disks: list[Disk], others: list[Disk]) -> bool:
    """Whether pods with these disks keep each other off a node. Upstream: isVolumeConflict()."""
    return any(
        held[:2] == disk[:2] and not (held[2] and disk[2]) for held in others for disk in disks
    )
