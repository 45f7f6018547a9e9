"""The events that may help a pod whose volumes lie elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.framework.cluster_events import (
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    Action,
)
from engine.framework.hints import claim_is_named, the_claim
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration, on
from engine.plugins.volume_zone.topologies import volume_topologies

if TYPE_CHECKING:
    from engine.objects.objects import ApiObject, PersistentVolume


def class_waits_for_consumer(pod: PodInfo, old: ApiObject | None, new: ApiObject | None) -> bool:
    return new is not None and new.raw.get("volumeBindingMode") == "WaitForFirstConsumer"


def volume_topology_changed(
    pod: PodInfo,
    old: PersistentVolume | None,
    new: PersistentVolume | None,
) -> bool:
    return old is None or new is None or volume_topologies(old) != volume_topologies(new)


_ADD_OR_UPDATE = Action.ADD | Action.UPDATE
EVENTS: tuple[Registration, ...] = (
    on(STORAGE_CLASS, Action.ADD, class_waits_for_consumer),
    on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
    on(PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE, claim_is_named, the_claim),
    on(PERSISTENT_VOLUME, _ADD_OR_UPDATE, volume_topology_changed),
)
