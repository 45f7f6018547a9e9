"""Which ResourceClaims a pod has. Upstream: dynamic-resource-allocation/resourceclaim/claim.go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from engine.objects.objects import Manifest, Pod

RESOURCE_CLAIM: Final = "ResourceClaim"
# Keeps a claim from being deleted while it has devices. Upstream: resourceapi.Finalizer.
FINALIZER: Final = "resource.kubernetes.io/delete-protection"


class PodClaim(NamedTuple):
    """One entry of a pod's resourceClaims."""

    name: str  # What the pod's containers call it.
    claim: str | None  # The name of the ResourceClaim; None if it has none.
    template: str | None  # The ResourceClaimTemplate that it is made from.
    is_made: bool  # False while a claim from a template is missing.


def pod_claims(pod: Pod) -> Iterator[PodClaim]:
    """The entries in order. Upstream: resourceclaim.Name()."""
    statuses: list[Manifest] = pod.status.get("resourceClaimStatuses") or []
    made: dict[str, str | None] = {each["name"]: each.get("resourceClaimName") for each in statuses}
    entries: list[Manifest] = pod.spec.get("resourceClaims") or []
    for entry in entries:
        name: str = entry["name"]
        named: str | None = entry.get("resourceClaimName")
        template: str | None = entry.get("resourceClaimTemplateName")
        if named:
            yield PodClaim(name, named, None, is_made=True)
        elif template:
            # A status without a claim name means that the pod needs no claim: it counts as made.
            yield PodClaim(name, made.get(name) or None, template, is_made=name in made)


def claims_named(pod: Pod) -> tuple[str, ...]:
    """The names of the ResourceClaims that the pod has by now."""
    if not pod.spec.get("resourceClaims"):
        return ()
    return tuple(each.claim for each in pod_claims(pod) if each.claim)


def extended_claim(pod: Pod) -> str | None:
    """The name of the claim that the scheduler made for the pod's extended resources."""
    status: Manifest = pod.status.get("extendedResourceClaimStatus") or {}
    return status.get("resourceClaimName")


def all_claims_named(pod: Pod) -> tuple[str, ...]:
    """The same names, and that of the claim for its extended resources."""
    extended = extended_claim(pod)
    return (*claims_named(pod), extended) if extended else claims_named(pod)
