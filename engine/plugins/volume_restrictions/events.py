"""The events that may help a pod whose disk or claim was in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.framework.cluster_events import NODE, PERSISTENT_VOLUME_CLAIM, POD, Action
from engine.framework.hints import claim_is_named, the_claim
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration, on
from engine.plugins.volume_restrictions.disks import disks_conflict, restricted_disks

if TYPE_CHECKING:
    from engine.objects.objects import Pod


def volume_was_released(pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Upstream: VolumeRestrictions isSchedulableAfterPodDeleted()."""
    if old is None or old.namespace != pod.pod.namespace:
        return False
    used = old.named_claims
    return any(name in used for name in pod.pod.named_claims) or disks_conflict(
        restricted_disks(pod.pod), restricted_disks(old)
    )


EVENTS: tuple[Registration, ...] = (
    on(POD, Action.DELETE, volume_was_released),
    on(NODE, Action.ADD),
    on(PERSISTENT_VOLUME_CLAIM, Action.ADD, claim_is_named, the_claim),
)
