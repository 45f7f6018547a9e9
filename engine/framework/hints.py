"""Hints that several plugins use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.framework.cluster_events import PERSISTENT_VOLUME_CLAIM
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Subject

if TYPE_CHECKING:
    from engine.objects.objects import ApiObject, Pod


def itself_updated(pod: PodInfo, old: Any, new: Any) -> bool:
    """Whether it is the waiting pod itself that was updated."""
    return new is not None and new.uid == pod.uid


def has_place(pod: Pod) -> bool:
    """Whether the pod has a node, or is nominated to one."""
    return bool(pod.node_name or pod.nominated_node_name)


def the_claim(old: ApiObject | None, new: ApiObject | None) -> Subject | None:
    """What the next two are about: a PersistentVolumeClaim."""
    return None if new is None else (PERSISTENT_VOLUME_CLAIM, new.key)


def claim_is_its_own(pod: PodInfo, old: ApiObject | None, new: ApiObject | None) -> bool:
    """Whether the waiting pod uses the claim."""
    return (
        new is not None and new.namespace == pod.pod.namespace and new.name in pod.pod.claim_names
    )


def claim_is_named(pod: PodInfo, old: ApiObject | None, new: ApiObject | None) -> bool:
    """The same without the claims of ephemeral volumes, which some plugins do not look at."""
    return (
        new is not None and new.namespace == pod.pod.namespace and new.name in pod.pod.named_claims
    )
