"""Hints about volumes: claims, volumes, classes, and limits of drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduling.engine.framework.registrations import HintWorld
from scheduling.engine.plugins.volume_restrictions.plugin import disks_conflict, restricted_disks
from scheduling.engine.plugins.volume_zone.plugin import volume_topologies
from scheduling.engine.pods.pod_info import PodInfo
from volumes.engine.matching.storage_capacity import volume_limit
from volumes.engine.migration import IN_TREE
from volumes.engine.translation import csi_handle, in_tree_plugin

if TYPE_CHECKING:
    from kscope.sim.objects.objects import ApiObject, Manifest, PersistentVolume, Pod


def claim_is_its_own(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    return (
        new is not None and new.namespace == pod.pod.namespace and new.name in pod.pod.claim_names
    )


def claim_is_named(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """The same without the claims of ephemeral volumes, which these plugins do not look at."""
    return (
        new is not None and new.namespace == pod.pod.namespace and new.name in pod.pod.named_claims
    )


def volume_was_released(world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Upstream: VolumeRestrictions isSchedulableAfterPodDeleted()."""
    if old is None or old.namespace != pod.pod.namespace:
        return False
    used = old.named_claims
    return any(name in used for name in pod.pod.named_claims) or disks_conflict(
        restricted_disks(pod.pod), restricted_disks(old)
    )


def attachment_was_freed(world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Upstream: NodeVolumeLimits isSchedulableAfterPodDeleted()."""
    return (
        old is not None
        and bool(old.node_name or old.nominated_node_name)
        and any(map(_may_be_attached, old.volumes))
    )


def attachment_was_deleted(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
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


def limit_was_raised(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: isSchedulableAfterCSINodeUpdated(), to which no limit is one of none."""
    if new is None:
        return False
    before = {} if old is None else _driver_limits(old)
    return any(limit > before.get(name, 0) for name, limit in _driver_limits(new).items())


def migration_changed(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    annotation = "storage.alpha.kubernetes.io/migrated-plugins"
    return (
        old is None
        or new is None
        or old.annotations.get(annotation, "") != new.annotations.get(annotation, "")
    )


def class_topology_changed(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    return (
        old is None
        or new is None
        or (old.raw.get("allowedTopologies") or []) != (new.raw.get("allowedTopologies") or [])
    )


def class_waits_for_consumer(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    return new is not None and new.raw.get("volumeBindingMode") == "WaitForFirstConsumer"


def driver_stopped_capacity_checks(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: isSchedulableAfterCSIDriverChange(), which looks for the driver in the pod itself."""
    if old is None or new is None or not old.spec.get("storageCapacity"):
        return False
    sources: list[Manifest] = [volume.get("csi") or {} for volume in pod.pod.volumes]
    return not new.spec.get("storageCapacity") and any(
        source.get("driver") == new.name for source in sources
    )


def storage_capacity_grew(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: isSchedulableAfterCSIStorageCapacityChange()."""
    if old is None or new is None:
        return True
    before, now = volume_limit(old), volume_limit(new)
    return now is not None and (before is None or now > before)


def volume_topology_changed(
    world: HintWorld,
    pod: PodInfo,
    old: PersistentVolume | None,
    new: PersistentVolume | None,
) -> bool:
    return old is None or new is None or volume_topologies(old) != volume_topologies(new)


def _may_be_attached(volume: Manifest) -> bool:
    claimed = volume.get("persistentVolumeClaim") or volume.get("ephemeral") is not None
    return bool(claimed) or in_tree_plugin(volume) is not None


def _driver_limits(csi_node: ApiObject) -> dict[str, int]:
    drivers: list[Manifest] = csi_node.spec.get("drivers") or []
    allocatable: list[tuple[str, Manifest]] = [
        (driver.get("name") or "", driver.get("allocatable") or {}) for driver in drivers
    ]
    return {name: limits.get("count") or 0 for name, limits in allocatable}
