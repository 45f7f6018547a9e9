"""Texts of operation errors and events. Upstream: operationexecutor/operation_executor.go, generate…"""

from engine.kubelet.volume_manager.actual_state import AttachedVolume, MountedVolume
from engine.kubelet.volume_manager.desired_state import VolumeToMount


def to_mount(volume: VolumeToMount, prefix: str, suffix: str) -> str:
    """The detailed text about a volume that should be mounted for a pod."""
    name = volume.spec.name if volume.spec.volume or volume.spec.persistent_volume else ""
    return (
        f'{prefix} for volume "{name}" (UniqueName: "{volume.volume_name}") '
        f'pod "{volume.pod.name}" (UID: "{volume.pod.uid}") {suffix}'
    )


def mounted(volume: MountedVolume, prefix: str, suffix: str) -> str:
    """The detailed text about a volume that is mounted for a pod."""
    return (
        f'{prefix} for volume "{volume.outer_name}" (UniqueName: "{volume.volume_name}") '
        f'pod "{volume.pod_name}" (UID: "{volume.pod_uid}") {suffix}'
    )


def attached(volume: AttachedVolume, node: str, prefix: str, suffix: str) -> str:
    """The detailed text about a volume that is attached to a node."""
    name = volume.spec.name if volume.spec.volume or volume.spec.persistent_volume else ""
    return f'{prefix} for volume "{name}" (UniqueName: "{volume.name}") on node "{node}" {suffix}'
