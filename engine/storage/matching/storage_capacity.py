"""The storage that a claim requests and that a CSIStorageCapacity has. Upstream: binder.go, volumeLimit()."""

from engine.objects.objects import EMPTY, ApiObject, PersistentVolumeClaim, quantity


def requests_storage(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim requests an amount of storage."""
    return "storage" in ((claim.spec.get("resources") or EMPTY).get("requests") or EMPTY)


def volume_limit(capacity: ApiObject) -> int | None:
    """The size in bytes of the largest volume that can be made there; None if unknown."""
    limit = capacity.raw.get("maximumVolumeSize")
    if limit is None:
        limit = capacity.raw.get("capacity")
    return None if limit is None else quantity.value(limit)
