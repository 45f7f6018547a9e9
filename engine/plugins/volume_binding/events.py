"""The events that may help a pod whose claims found no volume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.framework.cluster_events import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    Action,
)
from engine.framework.hints import claim_is_its_own, the_claim
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration, on
from engine.storage.matching.storage_capacity import volume_limit

if TYPE_CHECKING:
    from engine.objects.objects import ApiObject, Manifest


def migration_changed(pod: PodInfo, old: ApiObject | None, new: ApiObject | None) -> bool:
    annotation = "storage.alpha.kubernetes.io/migrated-plugins"
    return (
        old is None
        or new is None
        or old.annotations.get(annotation, "") != new.annotations.get(annotation, "")
    )


def class_topology_changed(pod: PodInfo, old: ApiObject | None, new: ApiObject | None) -> bool:
    return (
        old is None
        or new is None
        or (old.raw.get("allowedTopologies") or []) != (new.raw.get("allowedTopologies") or [])
    )


def driver_stopped_capacity_checks(
    pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: isSchedulableAfterCSIDriverChange(), which looks for the driver in the pod itself."""
    if old is None or new is None or not old.spec.get("storageCapacity"):
        return False
    sources: list[Manifest] = [volume.get("csi") or {} for volume in pod.pod.volumes]
    return not new.spec.get("storageCapacity") and any(
        source.get("driver") == new.name for source in sources
    )


def storage_capacity_grew(pod: PodInfo, old: ApiObject | None, new: ApiObject | None) -> bool:
    """Upstream: isSchedulableAfterCSIStorageCapacityChange()."""
    if old is None or new is None:
        return True
    before, now = volume_limit(old), volume_limit(new)
    return now is not None and (before is None or now > before)


_ADD_OR_UPDATE = Action.ADD | Action.UPDATE
EVENTS: tuple[Registration, ...] = (
    on(STORAGE_CLASS, _ADD_OR_UPDATE, class_topology_changed),
    on(PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE, claim_is_its_own, the_claim),
    on(PERSISTENT_VOLUME, _ADD_OR_UPDATE),
    on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
    on(CSI_NODE, _ADD_OR_UPDATE, migration_changed),
    on(CSI_DRIVER, Action.UPDATE, driver_stopped_capacity_checks),
    on(CSI_STORAGE_CAPACITY, _ADD_OR_UPDATE, storage_capacity_grew),
)
