"""What the API server refuses when a user changes a claim or a volume.

Upstream: pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate() and
ValidatePersistentVolumeUpdate(); plugin/pkg/admission/storage/persistentvolume/resize.
"""

from collections.abc import Mapping
from typing import Any, Final

from engine.kernel.errors import Forbidden, Invalid
from engine.objects.objects import (
    EMPTY,
    ApiObject,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from engine.objects.phases import ATTRIBUTES_CLASS, CLAIM_BOUND
from engine.objects.values import quantity

# What of a volume's spec is not its source, and may change.
_NOT_THE_SOURCE: Final = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)


def check_update(
    old: ApiObject,
    new: ApiObject,
    storage_class: StorageClass | None,
    *,
    changes_attributes: bool = False,
    lowers_requests: bool = False,
) -> None:
    """Raises Invalid or Forbidden, in upstream's words, when *new* may not take *old*'s place.

    *storage_class* is the claim's; objects of other kinds pass. With *changes_attributes* a bound
    claim may name another VolumeAttributesClass; with *lowers_requests* a claim may request less than
    before, but more than it has.
    """
    if isinstance(old, PersistentVolumeClaim) and isinstance(new, PersistentVolumeClaim):
        if new.request_bytes > old.request_bytes:
            _check_expansion(old, storage_class)
        elif new.request_bytes < old.request_bytes:
            _check_lower_request(old, new, lowers_requests)
        _check_claim(old, new, changes_attributes)
    elif old.kind == ATTRIBUTES_CLASS:
        _check_attributes_class(old, new)
    elif isinstance(old, PersistentVolume) and isinstance(new, PersistentVolume):
        _check_volume(old, new)


def _check_lower_request(
    old: PersistentVolumeClaim, new: PersistentVolumeClaim, lowers_requests: bool
) -> None:
    """A claim recovers from an expansion that failed by requesting less; volumes never shrink."""
    has = (old.status.get("capacity") or EMPTY).get("storage", 0)
    if lowers_requests and new.request_bytes > quantity.value(has):
        return
    least = "status.capacity" if lowers_requests else "previous value"
    raise Invalid(
        f'PersistentVolumeClaim "{old.name}" is invalid: spec.resources.requests.storage: '
        f"Forbidden: field can not be less than {least}"
    )


def _check_claim(
    old: PersistentVolumeClaim, new: PersistentVolumeClaim, changes_attributes: bool
) -> None:
    free = {"resources"}
    if not old.volume_name:
        # The binding itself.
        free.add("volumeName")
    if old.storage_class_name is None:
        # The default class, given later.
        free.add("storageClassName")
    mutable = "resources.requests"
    if changes_attributes:
        mutable = "resources.requests and volumeAttributesClassName"
        if old.phase == CLAIM_BOUND:
            free.add("volumeAttributesClassName")
    if _without(old.spec, free) != _without(new.spec, free):
        raise Invalid(
            f'PersistentVolumeClaim "{old.name}" is invalid: spec: Forbidden: spec is immutable '
            f"after creation except {mutable} for bound claims"
        )
    if changes_attributes:
        _check_kept_attributes(old, new)


def _check_kept_attributes(old: PersistentVolumeClaim, new: PersistentVolumeClaim) -> None:
    """A claim that has a class keeps one."""
    before, after = (one.spec.get("volumeAttributesClassName") for one in (old, new))
    refused = f'PersistentVolumeClaim "{old.name}" is invalid: spec.volumeAttributesClassName: '
    if before is not None and after is None:
        raise Invalid(refused + "Forbidden: update from non-nil value to nil is forbidden")
    if before and not after:
        raise Invalid(
            refused + "Forbidden: update from non-empty value to an empty string is forbidden"
        )


def _check_attributes_class(old: ApiObject, new: ApiObject) -> None:
    for field in ("driverName", "parameters"):
        if old.raw.get(field) != new.raw.get(field):
            refused = f'VolumeAttributesClass "{old.name}" is invalid: {field}: Forbidden'
            raise Invalid(f"{refused}: updates to {field} are forbidden.")


def _check_expansion(claim: PersistentVolumeClaim, storage_class: StorageClass | None) -> None:
    refused = f'persistentvolumeclaims "{claim.name}" is forbidden: '
    if claim.phase != CLAIM_BOUND:
        raise Forbidden(refused + "Only bound persistent volume claims can be expanded")
    if storage_class is None or not storage_class.raw.get("allowVolumeExpansion"):
        raise Forbidden(
            refused + "only dynamically provisioned pvc can be resized and the storageclass that "
            "provisions the pvc must support resize"
        )


def _check_volume(old: PersistentVolume, new: PersistentVolume) -> None:
    refused = f'PersistentVolume "{old.name}" is invalid: spec'
    if _without(old.spec, _NOT_THE_SOURCE) != _without(new.spec, _NOT_THE_SOURCE):
        raise Invalid(
            f"{refused}.persistentvolumesource: Forbidden: spec.persistentvolumesource is "
            "immutable after creation"
        )
    if old.spec.get("volumeMode") != new.spec.get("volumeMode"):
        raise Invalid(f"{refused}.volumeMode: Invalid value: field is immutable")
    if old.spec.get("nodeAffinity") and old.spec["nodeAffinity"] != new.spec.get("nodeAffinity"):
        raise Invalid(f"{refused}.nodeAffinity: Invalid value: field is immutable")


def _without(spec: Mapping[str, Any], names: frozenset[str] | set[str]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name not in names}
