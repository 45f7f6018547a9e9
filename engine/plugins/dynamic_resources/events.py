"""The events that may help a pod which got no devices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol

from engine.framework.cluster_events import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
)
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration, Subject, on
from engine.plugins.dynamic_resources.allocation.claims import (
    ClaimMissing,
    allocation_of,
    claims_of,
)

if TYPE_CHECKING:
    from engine.objects.objects import ApiObject, Pod


def resource_claim_changed(
    known: KnowsClaims, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: DynamicResources isSchedulableAfterClaimChange()."""
    if new is None:
        return False
    try:
        claims = claims_of(pod.pod, known.claims)
    except ClaimMissing:
        return False
    if old is not None and allocation_of(old) is not None and allocation_of(new) is None:
        return True
    if all(claim.uid != new.uid for claim in claims):
        return False
    return old is None or old.status != new.status


def claim_unless_freed(old: ApiObject | None, new: ApiObject | None) -> Subject | None:
    """What `resource_claim_changed` is about: any pod, where devices become free."""
    if new is None or (
        old is not None and allocation_of(old) is not None and allocation_of(new) is None
    ):
        return None
    return RESOURCE_CLAIM, new.key


def claims_were_generated(
    known: KnowsClaims, pod: PodInfo, old: Pod | None, new: Pod | None
) -> bool:
    """Upstream: DynamicResources isSchedulableAfterPodChange()."""
    if new is None or new.uid != pod.uid:
        return False
    try:
        claims_of(new, known.claims)
    except ClaimMissing:
        return False
    return True


class KnowsClaims(Protocol):
    """The plugin, as far as its hints ask it."""

    @property
    def claims(self) -> Mapping[str, ApiObject]:
        """The resource claims by key."""
        ...


def events_of(plugin: KnowsClaims) -> tuple[Registration, ...]:
    """The events, with hints that ask *plugin*."""
    return (
        on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE),
        on(
            RESOURCE_CLAIM,
            _ADD_OR_UPDATE,
            partial(resource_claim_changed, plugin),
            claim_unless_freed,
        ),
        on(
            POD,
            Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
            partial(claims_were_generated, plugin),
        ),
        on(DEVICE_CLASS, _ADD_OR_UPDATE),
        on(RESOURCE_SLICE, _ADD_OR_UPDATE),
    )


_ADD_OR_UPDATE = Action.ADD | Action.UPDATE
