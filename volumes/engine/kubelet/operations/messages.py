"""Texts of operation errors and events. Upstream: operationexecutor/operation_executor.go, generate…"""

from collections.abc import Mapping
from typing import Any

from volumes.engine.kubelet.actual_state import AttachedVolume, MountedVolume
from volumes.engine.kubelet.desired_state import VolumeToMount

# More volumes than this are a number.
_MOST_NAMED = 3


def changed(volumes: Mapping[str, Mapping[str, Any] | None]) -> str:
    """What to say of volumes of which the view changed, each as it is shown now, None when it is not."""
    said = [_change(name, shown) for name, shown in volumes.items()]
    more = len(said) - _MOST_NAMED
    return ", ".join(said[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _change(unique_name: str, shown: Mapping[str, Any] | None) -> str:
    if shown is None:
        return f"{unique_name} is gone"
    operations = [*shown.get("operations", {}).values(), shown.get("operation", {})]
    names = [operation["name"] for operation in operations if "started" in operation]
    return f"{shown['name']} in {' and '.join(names)}" if names else shown["name"]


def simple(prefix: str, volume: str, suffix: str) -> str:
    """The text of an Event on the pod."""
    return f'{prefix} for volume "{volume}" {suffix}'


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


def error_suffix(text: str | None) -> str:
    """What follows a prefix: the error after a colon, or nothing."""
    return f": {text}" if text else ""
