"""The resource claims of pods. Upstream: dynamic-resource-allocation/resourceclaim/claim.go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.resource_claims import pod_claims

Manifest = Mapping[str, Any]

# Upstream: resourceapi.ResourceClaimReservedForMaxSize.
MAX_RESERVATIONS = 256
EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"


class ClaimMissing(Exception):
    """A claim of the pod is not there, or not to be used; the text says why."""


def claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """The names of the pod's claims, and whether each was made from a template for it.

    Raises:
        ClaimMissing: a claim was not made from its template yet.
    """
    for each in pod_claims(pod):
        if not each.is_made:
            raise ClaimMissing(f'pod "{pod.key}": ResourceClaim not created yet')
        if each.claim is not None:
            yield each.claim, each.template is not None


def claims_of(pod: Pod, claims: Mapping[str, ApiObject]) -> list[ApiObject]:
    """The pod's claims, out of all by key. Upstream: foreachPodResourceClaim().

    Raises:
        ClaimMissing: one is not there, is being deleted, or was made for another pod.
    """
    found: list[ApiObject] = []
    for name, is_generated in claim_names(pod):
        claim = claims.get(f"{pod.namespace}/{name}")
        if claim is None:
            raise ClaimMissing(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.deletion_timestamp:
            raise ClaimMissing(f'resourceclaim "{name}" is being deleted')
        controller = claim.controller or {}
        if is_generated and controller.get("uid") != pod.uid:
            raise ClaimMissing(
                f"ResourceClaim {claim.key} was not created for pod {pod.key} (pod is not owner)"
            )
        found.append(claim)
    return found


def allocation_of(claim: ApiObject) -> Manifest | None:
    """The claim's allocation, or None."""
    allocation: Manifest | None = claim.status.get("allocation")
    return allocation


def results_of(claim: ApiObject) -> Sequence[Manifest]:
    """The devices of the claim, as its allocation lists them."""
    return items(section(allocation_of(claim) or {}, "devices"), "results")


def is_reserved_for(claim: ApiObject, pod: Pod) -> bool:
    """Whether the pod may use the claim. Upstream: IsReservedForPod()."""
    return any(each.get("uid") == pod.uid for each in items(claim.status, "reservedFor"))


def can_be_reserved(claim: ApiObject) -> bool:
    """Whether one more pod may use it. Upstream: CanBeReserved()."""
    return len(items(claim.status, "reservedFor")) < MAX_RESERVATIONS
