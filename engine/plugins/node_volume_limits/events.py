"""The events that may help a pod with too many volumes for a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.framework.cluster_events import (
    CSI_NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    VOLUME_ATTACHMENT,
    Action,
)
from engine.framework.hints import claim_is_its_own, the_claim
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration, on
from engine.storage.migration import IN_TREE
from engine.storage.translation import csi_handle, in_tree_plugin

if TYPE_CHECKING:
    from engine.objects.objects import ApiObject, Manifest, Pod


def attachment_was_freed(pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Upstream: NodeVolumeLimits isSchedulableAfterPodDeleted()."""
    return (
        old is not None
        and bool(old.node_name or old.nominated_node_name)
        and any(map(_may_be_attached, old.volumes))
    )


def attachment_was_deleted(pod: PodInfo, old: ApiObject | None, new: ApiObject | None) -> bool:
    """Upstream: isSchedulableAfterVolumeAttachmentDeleted(), which forgets ephemeral volumes."""
    attacher = None if old is None else old.spec.get("attacher")
    return any(_may_have_held(volume, attacher) for volume in pod.pod.volumes)


def _may_have_held(volume: Manifest, attacher: object) -> bool:
    if volume.get("persistentVolumeClaim"):
        return True
    plugin = in_tree_plugin(volume)
    if plugin is None:
        return False
    # A disk that cannot be translated is an error of the hint, upon which the pod is queued.
    return IN_TREE[plugin].driver == attacher or not csi_handle(plugin, volume, None)


def limit_was_raised(pod: PodInfo, old: ApiObject | None, new: ApiObject | None) -> bool:
    """Upstream: isSchedulableAfterCSINodeUpdated(), to which no limit is one of none."""
    if new is None:
        return False
    before = {} if old is None else _driver_limits(old)
    return any(limit > before.get(name, 0) for name, limit in _driver_limits(new).items())


def _may_be_attached(volume: Manifest) -> bool:
    claimed = volume.get("persistentVolumeClaim") or volume.get("ephemeral") is not None
    return bool(claimed) or in_tree_plugin(volume) is not None


def _driver_limits(csi_node: ApiObject) -> dict[str, int]:
    drivers: list[Manifest] = csi_node.spec.get("drivers") or []
    allocatable: list[tuple[str, Manifest]] = [
        (driver.get("name") or "", driver.get("allocatable") or {}) for driver in drivers
    ]
    return {name: limits.get("count") or 0 for name, limits in allocatable}


EVENTS: tuple[Registration, ...] = (
    on(CSI_NODE, Action.ADD),
    on(CSI_NODE, Action.UPDATE, limit_was_raised),
    on(POD, Action.DELETE, attachment_was_freed),
    on(PERSISTENT_VOLUME_CLAIM, Action.ADD, claim_is_its_own, the_claim),
    on(VOLUME_ATTACHMENT, Action.DELETE, attachment_was_deleted),
)
