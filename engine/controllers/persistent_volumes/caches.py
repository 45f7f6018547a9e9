"""The PV controller's own caches. Upstream: pv_controller_base.go, storeObjectUpdate()."""

from dataclasses import dataclass

from engine.objects.objects import ApiObject, PersistentVolume, PersistentVolumeClaim
from engine.storage.matching.index import VolumeIndex
from engine.storage.pv_helpers import ControllerError


@dataclass(frozen=True, slots=True)
class OperationStart:
    """When a provisioning or deletion was first requested. Upstream: metrics.OperationStartTimeCache."""

    plugin: str
    operation: str
    at: int


class ControllerCaches:
    """Volumes and claims as the controller knows them: its own writes show here at once.

    `changed_volumes` and `changed_claims` collect the keys of what changed until the resync reads and
    clears them. `operation_starts` is by volume name or claim key.
    """

    __slots__ = ("changed_claims", "changed_volumes", "claims", "operation_starts", "volumes")

    def __init__(self) -> None:
        self.volumes = VolumeIndex()
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.changed_volumes: dict[str, None] = {}
        self.changed_claims: dict[str, None] = {}
        self.operation_starts: dict[str, OperationStart] = {}

    def store_volume_update(self, volume: PersistentVolume) -> bool:
        """Put *volume* into the cache; False if a newer version is there already."""
        if not _is_current(volume, self.volumes.get(volume.name), "volume"):
            return False
        self.volumes.put(volume)
        self.changed_volumes[volume.name] = None
        return True

    def store_claim_update(self, claim: PersistentVolumeClaim) -> bool:
        """Put *claim* into the cache; False if a newer version is there already."""
        if not _is_current(claim, self.claims.get(claim.key), "claim"):
            return False
        self.claims[claim.key] = claim
        self.changed_claims[claim.key] = None
        return True

    def delete_volume(self, volume: PersistentVolume) -> None:
        """Remove a deleted volume."""
        self.volumes.remove(volume.name)
        self.changed_volumes[volume.name] = None
        self.operation_starts.pop(volume.name, None)

    def delete_claim(self, claim: PersistentVolumeClaim) -> None:
        """Remove a deleted claim."""
        self.claims.pop(claim.key, None)
        self.changed_claims[claim.key] = None
        self.operation_starts.pop(claim.key, None)

    def note_operation_start(self, key: str, start: OperationStart) -> None:
        """Note when an operation on the volume or claim *key* was first requested."""
        self.operation_starts.setdefault(key, start)

    def is_volume_released(self, volume: PersistentVolume) -> bool:
        """Whether the claim of *volume* is gone, or bound to another volume."""
        ref = volume.claim_ref
        if ref is None or not ref.get("uid"):
            # It has no claim, or the user reserved it.
            return False
        claim = self.claims.get(volume.claim_key)
        if claim is not None and claim.uid == ref["uid"]:
            # The claim still exists; released only if it is bound to another volume.
            return bool(claim.volume_name) and claim.volume_name != volume.name
        return True


def _is_current(new: ApiObject, old: ApiObject | None, kind: str) -> bool:
    """Whether *new* is not older than *old*."""
    if old is None or old is new:
        return True
    try:
        return int(old.resource_version) <= int(new.resource_version)
    except ValueError:
        # One of the two raises the error that names it.
        return _version(old, kind, "old ") <= _version(new, kind, "")


def _version(obj: ApiObject, kind: str, prefix: str) -> int:
    text = obj.resource_version
    try:
        return int(text)
    except ValueError:
        raise ControllerError(
            f'Error parsing {prefix}ResourceVersion "{text}" of {kind} "{obj.key}": '
            f'strconv.ParseInt: parsing "{text}": invalid syntax'
        ) from None
