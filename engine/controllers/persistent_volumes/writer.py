"""The writes of the PV controller: bindings, phases, annotations. Its caches show each write at once.

Each write is recorded as one event, with its author. Upstream: pv_controller.go.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from engine.controllers.persistent_volumes.caches import ControllerCaches
from engine.controllers.persistent_volumes.context import ControllerContext
from engine.controllers.persistent_volumes.migration_annotations import (
    claim_migration_patch,
    migration_patch,
    volume_migration_patch,
)
from engine.controllers.persistent_volumes.trace_steps.syncs import Wrote
from engine.kernel.errors import ApiError, Conflict
from engine.objects.objects import (
    EMPTY,
    ApiObject,
    Manifest,
    PersistentVolume,
    PersistentVolumeClaim,
    quantity,
)
from engine.objects.phases import (
    BETA_STORAGE_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIM_BOUND,
    CLAIM_LOST,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    VOLUME_AVAILABLE,
    VOLUME_BOUND,
    YES,
)
from engine.storage.ports import WriteEvent
from engine.storage.pv_helpers import ControllerError, bind_volume_to_claim

_Obj = TypeVar("_Obj", bound=ApiObject)


class VolumeWriter:
    """Writes volumes and claims to the API server, and what it stored into the caches."""

    def __init__(self, context: ControllerContext, caches: ControllerCaches) -> None:
        self.context = context
        self.caches = caches

    # Binding

    def bind(
        self,
        volume: PersistentVolume,
        claim: PersistentVolumeClaim,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Write a binding: the volume, its status, the claim, its status.

        Raises SimError at the first write that fails; what was written stays, half-bound.
        """
        claimed = self._bind_volume_to_claim(volume, claim, data)
        if claimed is not volume and claim.volume_name and self._is_overtaken():
            raise Conflict(
                f'Operation cannot be fulfilled on persistentvolumes "{volume.name}": the object '
                "has been modified; please apply your changes to the latest version and try again"
            )
        volume = self.update_volume_phase(claimed, VOLUME_BOUND, f"bound to {claim.key}")
        claim = self._bind_claim_to_volume(claim, volume)
        self.update_claim_status(claim, CLAIM_BOUND, volume, f"bound to {volume.name}")

    def _is_overtaken(self) -> bool:
        """Whether the volume worker writes the phase of the volume before the claim worker does.

        Upstream the two workers race when a claim names its volume. The write of the slower one fails
        with a conflict. Until v1.36 nothing queues the claim again before the next resync.
        """
        return self.context.delays is not None and self.context.delays.draw("bind_race") > 0

    def _bind_volume_to_claim(
        self,
        volume: PersistentVolume,
        claim: PersistentVolumeClaim,
        data: dict[str, Any] | None,
    ) -> PersistentVolume:
        bound = bind_volume_to_claim(volume, claim)
        if bound is volume:
            return volume
        record_as = WriteEvent("VolumePreBound", f"claimRef names {claim.key}", data)
        return self.update_volume(bound, record_as)

    def _bind_claim_to_volume(
        self, claim: PersistentVolumeClaim, volume: PersistentVolume
    ) -> PersistentVolumeClaim:
        parts: Manifest = {}
        annotations = {**claim.annotations}
        if claim.volume_name != volume.name:
            parts["spec"] = {**claim.spec, "volumeName": volume.name}
            # Not set when the user had named the volume.
            annotations.setdefault(BOUND_BY_CONTROLLER, YES)
        annotations.setdefault(BIND_COMPLETED, YES)
        if len(annotations) != len(claim.annotations):
            bound = claim.annotated(annotations, **parts)
        elif parts:
            bound = claim.replaced(**parts)
        else:
            return claim
        record_as = WriteEvent("ClaimBindCompleted", f"volumeName names {volume.name}")
        return self.update_claim(bound, record_as)

    def unbind_volume(self, volume: PersistentVolume) -> None:
        """Undo the binding of the volume. A volume that the user reserved stays reserved, by name."""
        spec, metadata = dict(volume.spec), dict(volume.metadata)
        if BOUND_BY_CONTROLLER in volume.annotations:
            # The controller bound it: any claim may have it again.
            spec.pop("claimRef", None)
            left = {k: v for k, v in volume.annotations.items() if k != BOUND_BY_CONTROLLER}
            metadata["annotations"] = left
            if not left:
                del metadata["annotations"]
        elif volume.claim_ref is not None:
            # The user reserved it: only the uid is removed.
            spec["claimRef"] = {k: v for k, v in volume.claim_ref.items() if k != "uid"}
        unbound = PersistentVolume({**volume.raw, "metadata": metadata, "spec": spec})
        record_as = WriteEvent("VolumeUnbound", f"no longer bound to {volume.claim_key}")
        stored = self.update_volume(unbound, record_as)
        self.update_volume_phase(stored, VOLUME_AVAILABLE)

    def update_volume_phase(
        self, volume: PersistentVolume, phase: str, why: str = "", status_message: str = ""
    ) -> PersistentVolume:
        """Set a volume's phase and status message. Does nothing if it has that phase already."""
        has = volume.status
        if (has.get("phase") or "") == phase:
            return volume
        status: Manifest = {**has, "phase": phase}
        if status_message:
            status["message"] = status_message
        else:
            status.pop("message", None)
        record_as = WriteEvent(f"Volume{phase}", why or status_message or f"phase is {phase}")
        update = self.context.api.update_volume_status
        stored = self._written(update, volume.with_status(status), record_as)
        self.caches.store_volume_update(stored)
        return stored

    def update_volume_phase_with_event(
        self, volume: PersistentVolume, phase: str, event_type: str, reason: str, message: str
    ) -> None:
        """Set a phase and emit an Event with the reason, both only if the phase is new."""
        if volume.phase == phase:
            return
        stored = self.update_volume_phase(volume, phase, status_message=message)
        self.context.events.event(stored, event_type, reason, message)

    def update_claim_status(
        self,
        claim: PersistentVolumeClaim,
        phase: str,
        volume: PersistentVolume | None,
        why: str = "",
    ) -> PersistentVolumeClaim:
        """Set a claim's phase, and copy the access modes and the capacity of *volume*, if there is one."""
        has = claim.status
        is_new = has.get("phase") != phase
        status: Manifest = {**has, "phase": phase}
        if volume is None:
            status.pop("accessModes", None)
            status.pop("capacity", None)
            status.pop("currentVolumeAttributesClassName", None)
        else:
            modes = volume.access_modes
            has_modes = modes == tuple(has.get("accessModes") or ())
            if has_modes and not is_new:
                # The status of a bound claim changes only with the access modes.
                return claim
            if not has_modes:
                status["accessModes"] = list(modes)
            if is_new:
                # Only when it becomes Bound: later the two may differ on purpose, as in an expansion.
                capacity = volume.spec.get("capacity") or EMPTY
                if "storage" not in capacity:
                    raise ControllerError(
                        f'PersistentVolume "{volume.name}" is without a storage capacity'
                    )
                known = has.get("capacity") or EMPTY
                if "storage" not in known or _differs(known, capacity):
                    status["capacity"] = dict(capacity)
                attributes: str = volume.spec.get("volumeAttributesClassName") or ""
                if attributes:
                    status["currentVolumeAttributesClassName"] = attributes
        if status == has:
            return claim
        # The Kubernetes Event that follows is called ClaimLost.
        kind = "ClaimPhaseLost" if phase == CLAIM_LOST else f"Claim{phase}"
        record_as = WriteEvent(kind, why or f"phase is {phase}")
        update = self.context.api.update_claim_status
        stored = self._written(update, claim.with_status(status), record_as)
        self.caches.store_claim_update(stored)
        return stored

    # Migration

    def update_claim_migration(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Write the claim's migrated-to annotation, if it is not right already."""
        annotations = (
            claim_migration_patch(claim, self.context.migration) if claim.annotations else None
        )
        if annotations is None:
            return claim
        patched = claim.patched({"metadata": {"annotations": annotations}})
        try:
            return self.update_claim(patched, WriteEvent("ClaimMigrated"))
        except ApiError as error:
            raise _cannot_anneal(error) from error

    def update_volume_migration(self, volume: PersistentVolume) -> PersistentVolume:
        """Write the volume's migrated-to annotation and finalizers, if they are not right already."""
        if not volume.annotations:
            return volume
        metadata = self.volume_migration_patch(volume)
        if not metadata:
            return volume
        patched = volume.patched({"metadata": metadata})
        try:
            return self.update_volume(patched, WriteEvent("VolumeMigrated"))
        except ApiError as error:
            raise _cannot_anneal(error) from error

    def volume_migration_patch(self, volume: PersistentVolume) -> Manifest:
        """The change to the volume's metadata that CSI migration and reclaim require."""
        context = self.context
        honors = context.rules.honors_reclaim_policy
        return volume_migration_patch(volume, context.migration, honors_reclaim_policy=honors)

    # Provisioning

    def set_claim_provisioner(
        self, claim: PersistentVolumeClaim, provisioner: str
    ) -> PersistentVolumeClaim:
        """Write the annotations that ask an external provisioner for a volume."""
        keys = self.context.rules.provisioner_annotations
        if claim.annotations.get(keys[-1]) == provisioner:
            return claim
        annotations: dict[str, str | None] = dict.fromkeys(keys, provisioner)
        after = {**claim.annotations, **dict.fromkeys(keys, provisioner)}
        migrated = migration_patch(
            after, self.context.migration, STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER
        )
        annotations.update(migrated or {})
        patched = claim.patched({"metadata": {"annotations": annotations}})
        record_as = WriteEvent("ClaimProvisionerSet", f"to be provisioned by {provisioner}")
        return self.update_claim(patched, record_as)

    def reschedule_provisioning(self, claim: PersistentVolumeClaim) -> None:
        """Remove the selected node from the claim, so that the scheduler decides again."""
        if SELECTED_NODE not in claim.annotations:
            return
        patched = claim.patched({"metadata": {"annotations": {SELECTED_NODE: None}}})
        record_as = WriteEvent("ClaimRescheduled", f"node {claim.selected_node} did not work out")
        with suppress(ApiError):
            self.update_claim(patched, record_as)

    # The API server

    def create_volume(self, volume: PersistentVolume, record_as: WriteEvent) -> None:
        """Create a provisioned volume. Raises ApiError."""
        stored = self.context.api.create_volume(volume, record_as)
        self.caches.store_volume_update(stored)

    def update_volume(self, volume: PersistentVolume, record_as: WriteEvent) -> PersistentVolume:
        """Replace a volume. Raises ApiError."""
        stored = self._written(self.context.api.update_volume, volume, record_as)
        self.caches.store_volume_update(stored)
        return stored

    def update_claim(
        self, claim: PersistentVolumeClaim, record_as: WriteEvent
    ) -> PersistentVolumeClaim:
        """Replace a claim. Raises ApiError."""
        stored = self._written(self.context.api.update_claim, claim, record_as)
        self.caches.store_claim_update(stored)
        return stored

    def _written(
        self, write: Callable[[_Obj, WriteEvent], _Obj], obj: _Obj, record_as: WriteEvent
    ) -> _Obj:
        """What the API server stored of *obj*; tells of it. Raises ApiError."""
        trace = self.context.trace_of(obj)
        if trace is None:
            return write(obj, record_as)
        try:
            stored = write(obj, record_as)
        except ApiError as refusal:
            trace.add(obj.id, Wrote(record_as.kind, obj.resource_version, str(refusal)))
            raise
        trace.add(obj.id, Wrote(record_as.kind, stored.resource_version))
        return stored


def _differs(has: Mapping[str, Any], capacity: Mapping[str, Any]) -> bool:
    return quantity.parse(has["storage"]) != quantity.parse(capacity["storage"])


def _cannot_anneal(error: ApiError) -> ApiError:
    kind = type(error)
    return kind(f"persistent Volume Controller can't anneal migration annotations: {error}")
