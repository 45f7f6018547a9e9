"""The rules that decide whether a claim may have a volume, and upstream's loop over them.

Upstream: component-helpers/storage/volume/pv_helpers.go, FindMatchingVolume(), and
pkg/controller/volume/persistentvolume/pv_controller.go, checkVolumeSatisfyClaim().
"""

from collections.abc import Collection, Iterable
from typing import Final

from engine.objects.objects import Node, PersistentVolume, PersistentVolumeClaim
from engine.storage.matching.offers import Offer, Wanted, fits_node, offer_of, wanted_of

NOTHING_EXCLUDED: Final[frozenset[str]] = frozenset()


def is_considered(wanted: Wanted, offer: Offer, *, protect: bool = True) -> bool:
    """The rules that hold even for a volume reserved for this very claim."""
    return (
        offer.size >= wanted.size
        and offer.mode == wanted.mode
        and (offer.claim_key is None or offer.names(wanted))
        and offer.attributes_class == wanted.attributes_class
        and not (protect and offer.deleting)
    )


def is_plain_match(wanted: Wanted, offer: Offer, node: Node | None) -> bool:
    """The further rules for a volume without a claim, if `is_considered` holds.

    The attributes class is checked again here: the lists of the index are not separated by it.
    """
    if not offer.available or offer.storage_class != wanted.storage_class:
        return False
    if wanted.selector is not None and not wanted.selector.matches(offer.labels):
        return False
    if wanted.attributes_class != offer.attributes_class:
        return False
    if node is None:
        return True
    return fits_node(offer, node) and all(mode in offer.modes for mode in wanted.modes)


def find_matching_volume(
    claim: PersistentVolumeClaim,
    volumes: Iterable[PersistentVolume],
    node: Node | None = None,
    excluded: Collection[str] = NOTHING_EXCLUDED,
    delay_binding: bool = False,
    *,
    protect: bool = True,
) -> PersistentVolume | None:
    """The best of *volumes* for *claim*: one that names it, else the smallest that fits.

    With a *node* it searches as the scheduler does (node affinity and access modes count); without
    one as the PV controller does, where *delay_binding* leaves unreserved volumes to the scheduler.
    *excluded* volumes are taken by other claims of the pod. *protect* is the gate
    StorageObjectInUseProtection. Equal sizes: the earlier one in *volumes*. Upstream:
    FindMatchingVolume().
    """
    wanted = wanted_of(claim)
    smallest: PersistentVolume | None = None
    smallest_size = 0
    for volume in volumes:
        offer = offer_of(volume)
        if offer.name in excluded or not is_considered(wanted, offer, protect=protect):
            continue
        if offer.claim_key is not None:
            # It is reserved for this claim, which therefore fits nowhere else.
            return volume if node is None or fits_node(offer, node) else None
        if delay_binding and node is None:
            continue
        if not is_plain_match(wanted, offer, node):
            continue
        if smallest is None or offer.size < smallest_size:
            smallest, smallest_size = volume, offer.size
    return smallest


def check_volume_satisfies_claim(
    volume: PersistentVolume, claim: PersistentVolumeClaim, *, protect: bool = True
) -> str | None:
    """Why *claim*, which names *volume*, cannot have it; None when it can.

    The claim's selector does not count. Upstream: pv_controller.go, checkVolumeSatisfyClaim().
    """
    wanted, offer = wanted_of(claim), offer_of(volume)
    if protect and offer.deleting:
        return f'the volume is marked for deletion "{volume.name}"'
    if volume.capacity_bytes < claim.request_bytes:
        return "requested PV is too small"
    if offer.storage_class != wanted.storage_class:
        return "storageClassName does not match"
    if offer.attributes_class != wanted.attributes_class:
        return "volumeAttributesClassName does not match"
    if offer.mode != wanted.mode:
        return "incompatible volumeMode"
    if any(mode not in offer.modes for mode in wanted.modes):
        return "incompatible accessMode"
    return None
