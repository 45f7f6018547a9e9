"""Questions and changes that the PV controller and the scheduler's volume binder share.

Upstream: component-helpers/storage/volume/pv_helpers.go.
"""

from collections.abc import Mapping
from typing import Any

from engine.kernel.errors import SimError
from engine.objects.objects import Manifest, PersistentVolume, PersistentVolumeClaim
from engine.objects.phases import (
    BOUND_BY_CONTROLLER,
    WAIT_FOR_FIRST_CONSUMER,
    YES,
    claim_class,
    claim_ref_of,
    is_volume_bound_to_claim,
)
from engine.storage.ports import Listers


class ControllerError(SimError):
    """A sync cannot go on; the text is upstream's."""


def is_delay_binding(claim: PersistentVolumeClaim, listers: Listers) -> bool:
    """Whether a claim's class leaves its binding to the scheduler.

    Raises ControllerError for a class without a mode (the API server sets one). Upstream:
    IsDelayBindingMode().
    """
    name = claim_class(claim)
    storage_class = listers.storage_class(name) if name else None
    if storage_class is None:
        return False
    mode = storage_class.raw.get("volumeBindingMode")
    if mode is None:
        raise ControllerError(f'VolumeBindingMode not set for StorageClass "{name}"')
    return mode == WAIT_FOR_FIRST_CONSUMER


def bind_volume_to_claim(
    volume: PersistentVolume, claim: PersistentVolumeClaim
) -> PersistentVolume:
    """*volume* as bound to *claim*; the same object if it is already.

    The bound-by-controller annotation is set unless the volume was reserved for the claim. Upstream:
    GetBindVolumeToClaim().
    """
    reserved = is_volume_bound_to_claim(volume, claim)
    ref = volume.claim_ref
    parts: Manifest = {}
    if not reserved or ref is None or (ref.get("uid") or "") != claim.uid:
        parts["spec"] = {**volume.spec, "claimRef": claim_ref_of(claim)}
    if not reserved and BOUND_BY_CONTROLLER not in volume.annotations:
        return volume.annotated({**volume.annotations, BOUND_BY_CONTROLLER: YES}, **parts)
    return volume.replaced(**parts) if parts else volume


def with_claim_ref(volume: PersistentVolume, ref: Mapping[str, Any]) -> PersistentVolume:
    """*volume* with its whole claimRef replaced."""
    return volume.replaced(spec={**volume.spec, "claimRef": dict(ref)})
