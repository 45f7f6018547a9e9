"""Hints about devices: resource claims of the pod and of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduling.engine.dynamic_resources.claims import ClaimMissing, allocation_of, claims_of
from scheduling.engine.framework.registrations import HintWorld
from scheduling.engine.pods.pod_info import PodInfo

if TYPE_CHECKING:
    from kscope.sim.objects.objects import ApiObject, Pod


def resource_claim_changed(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: DynamicResources isSchedulableAfterClaimChange()."""
    if new is None:
        return False
    try:
        claims = claims_of(pod.pod, world.resource_claims())
    except ClaimMissing:
        return False
    if old is not None and allocation_of(old) is not None and allocation_of(new) is None:
        return True
    if all(claim.uid != new.uid for claim in claims):
        return False
    return old is None or old.status != new.status


def claims_were_generated(world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Upstream: DynamicResources isSchedulableAfterPodChange()."""
    if new is None or new.uid != pod.uid:
        return False
    try:
        claims_of(new, world.resource_claims())
    except ClaimMissing:
        return False
    return True
