"""What a CSIStorageCapacity object and a claim say of storage. Upstream: binder.go, volumeLimit()."""

from kscope.sim.objects.objects import EMPTY, ApiObject, PersistentVolumeClaim, quantity


def requests_storage(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim requests an amount of storage."""
    return "storage" in ((claim.spec.get("resources") or EMPTY).get("requests") or EMPTY)


def volume_limit(capacity: ApiObject) -> int | None:
    """The size in bytes of the largest volume that there is room for; None where it is not given."""
    limit = capacity.raw.get("maximumVolumeSize")
    if limit is None:
        limit = capacity.raw.get("capacity")
    return None if limit is None else quantity.value(limit)
