"""The sync of one claim. Upstream: pv_controller.go, syncClaim().

Written, as upstream is, in "space shuttle style": every branch is there, with its else and with
what holds when it is taken. Each sync looks at the whole situation again, so a sync may be abandoned
at any write that fails; a later sync continues from the state that the writes left.

A bind is four writes, in this order; a write that would change nothing is left out:

    volume.spec.claimRef → volume.status Bound → claim.spec.volumeName → claim.status Bound
"""

from typing import Any, Final

from engine.controllers.persistent_volumes.operations import VolumeOperations
from engine.controllers.persistent_volumes.trace_steps.reading import claim_branch
from engine.controllers.persistent_volumes.writer import VolumeWriter
from engine.objects.objects import ApiObject, PersistentVolume, PersistentVolumeClaim
from engine.objects.phases import (
    BOUND_BY_CONTROLLER,
    CLAIM_LOST,
    CLAIM_PENDING,
    SELECTED_NODE,
    claim_class,
    is_volume_bound_to_claim,
)
from engine.storage.matching.explanation import explain_candidates
from engine.storage.matching.rules import check_volume_satisfies_claim
from engine.storage.ports import NORMAL, WARNING, WriteEvent
from engine.storage.pv_helpers import ControllerError, is_delay_binding

# Above this many volumes the event of a bind does not list the candidates; pages can ask for them.
_MOST_EXPLAINED_VOLUMES: Final = 200
_SHOWN_CANDIDATES: Final = 12


class ClaimSync:
    """Decides what to do with a claim: bind it, provision a volume for it, or mark it Lost."""

    def __init__(self, writer: VolumeWriter, operations: VolumeOperations) -> None:
        self._context = writer.context
        self._caches = writer.caches
        self._writer = writer
        self._operations = operations

    def sync_claim(self, claim: PersistentVolumeClaim) -> None:
        """Decide what to do with a claim. Raises SimError when a write fails."""
        # Newly migrated, or rolled back, claims get their annotation first.
        claim = self._writer.update_claim_migration(claim)
        if not claim.is_bind_completed:
            self._sync_unbound_claim(claim)
        else:
            self._sync_bound_claim(claim)

    def _sync_unbound_claim(self, claim: PersistentVolumeClaim) -> None:
        # This is a new claim that has not completed binding.
        # OBSERVATION: claim is "Pending".
        if not claim.volume_name:
            # The user did not care which volume they get.
            delay_binding = is_delay_binding(claim, self._context.listers)
            volume = self._caches.volumes.find_best_match_for_claim(claim, delay_binding)
            if volume is None:
                # No volume could be found.
                # OBSERVATION: claim is "Pending", will retry.
                if self._context.rules.retroactive_default_class and self._assign_default_class(
                    claim
                ):
                    # The write brings the claim back here, with a class.
                    return
                if delay_binding and SELECTED_NODE not in claim.annotations:
                    self._write_step("waits_for_consumer", claim)
                    self._emit_waiting(claim)
                elif claim_class(claim):
                    self._write_step("provision", claim)
                    self._operations.provision_claim(claim)
                    return
                else:
                    self._write_step("no_class", claim)
                    self._context.events.event(
                        claim,
                        NORMAL,
                        "FailedBinding",
                        "no persistent volumes available for this claim and no storage class is set",
                    )
                # Mark the claim as Pending and try to find a match in the next periodic sync.
                self._writer.update_claim_status(claim, CLAIM_PENDING, None)
            else:
                # Found a volume for this claim.
                # OBSERVATION: claim is "Pending", volume is "Available".
                self._write_step("found", claim, volume)
                self._writer.bind(
                    volume, claim, self._candidates(claim, volume.name, delay_binding)
                )
                # OBSERVATION: claim is "Bound", volume is "Bound".
                self._caches.operation_starts.pop(claim.key, None)
        else:
            # The user asked for a specific volume.
            self._sync_claim_that_names_a_volume(claim)

    def _sync_claim_that_names_a_volume(self, claim: PersistentVolumeClaim) -> None:
        volume = self._caches.volumes.get(claim.volume_name)
        if volume is None:
            # The user asked for a volume that does not exist.
            # OBSERVATION: claim is "Pending". Retry later.
            self._write_step("named_missing", claim)
            self._writer.update_claim_status(claim, CLAIM_PENDING, None)
        elif volume.claim_ref is None:
            # The user asked for a volume that is not claimed.
            # OBSERVATION: claim is "Pending", volume is "Available".
            fault = check_volume_satisfies_claim(volume, claim)
            if fault is not None:
                self._write_step("named_mismatch", claim, volume)
                message = f'Cannot bind to requested volume "{volume.name}": {fault}'
                self._context.events.event(claim, WARNING, "VolumeMismatch", message)
                self._writer.update_claim_status(claim, CLAIM_PENDING, None)
            else:
                self._write_step("named_free", claim, volume)
                self._writer.bind(volume, claim)
                # OBSERVATION: claim is "Bound", volume is "Bound".
        elif is_volume_bound_to_claim(volume, claim):
            # The user asked for a volume that is claimed by this claim; finish the binding by
            # adding the claim's uid.
            # OBSERVATION: claim is "Pending", volume is "Bound".
            self._write_step("named_reserved", claim, volume)
            self._writer.bind(volume, claim)
            # OBSERVATION: claim is "Bound", volume is "Bound".
        else:
            # The user asked for a volume that is claimed by someone else.
            # OBSERVATION: claim is "Pending", volume is "Bound".
            if self._context.rules.reports_taken_volume:
                message = f'volume "{volume.name}" already bound to a different claim.'
                self._context.events.event(claim, WARNING, "FailedBinding", message)
            if BOUND_BY_CONTROLLER in claim.annotations:
                # This should never happen: someone had to remove the bind-completed annotation.
                self._write_step("named_invalid", claim, volume)
                raise ControllerError(
                    f'Invalid binding of claim "{claim.key}" to volume "{claim.volume_name}": '
                    f'volume already claimed by "{volume.claim_key}"'
                )
            # Retry later.
            self._write_step("named_taken", claim, volume)
            self._writer.update_claim_status(claim, CLAIM_PENDING, None)

    def _sync_bound_claim(self, claim: PersistentVolumeClaim) -> None:
        # This claim has been bound before.
        # OBSERVATION: claim is not "Pending".
        if not claim.volume_name:
            # It was bound before but is not any more.
            self._write_step("lost_reference", claim)
            self._lose_claim(
                claim,
                "ClaimLost",
                "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
            )
            return
        volume = self._caches.volumes.get(claim.volume_name)
        if volume is None:
            # It is bound to a volume that does not exist.
            self._write_step("lost_volume", claim)
            self._lose_claim(
                claim,
                "ClaimLost",
                "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
            )
        elif volume.claim_ref is None:
            # The claim is bound but the volume is not; or the watch has not delivered the updated
            # volume yet. The two cases cannot be distinguished. Bind again.
            self._write_step("bind_again", claim, volume)
            self._writer.bind(volume, claim)
        elif (volume.claim_ref.get("uid") or "") == claim.uid:
            # All is well. In most cases there is nothing to write.
            self._write_step("all_well", claim, volume)
            self._writer.bind(volume, claim)
        else:
            # The claim is bound but the volume has a different claimant. Lost is terminal.
            self._write_step("misbound", claim, volume)
            self._lose_claim(
                claim,
                "ClaimMisbound",
                "Two claims are bound to the same volume, this one is bound incorrectly",
            )

    def _lose_claim(self, claim: PersistentVolumeClaim, reason: str, message: str) -> None:
        if claim.phase == CLAIM_LOST:
            return
        lost = self._writer.update_claim_status(claim, CLAIM_LOST, None)
        self._context.events.event(lost, WARNING, reason, message)

    def _emit_waiting(self, claim: PersistentVolumeClaim) -> None:
        reason = "WaitForFirstConsumer"
        message = "waiting for first consumer to be created before binding"
        if self._context.rules.names_waiting_pods:
            names = [
                pod.name
                for pod in self._context.listers.pods_of_claim(claim.key)
                if not pod.is_terminated and not pod.node_name
            ]
            if names:
                # Several pods may use the claim; which one is being scheduled is not known here.
                reason = "WaitForPodScheduled"
                which = "pod" if len(names) == 1 else "pods"
                message = f"waiting for {which} {','.join(names)} to be scheduled"
        self._context.events.event(claim, NORMAL, reason, message)

    def _candidates(
        self, claim: PersistentVolumeClaim, chosen: str, delay_binding: bool
    ) -> dict[str, Any]:
        data: dict[str, Any] = {"claim": claim.key, "volumes": len(self._caches.volumes)}
        if len(self._caches.volumes) <= _MOST_EXPLAINED_VOLUMES:
            verdicts = explain_candidates(
                claim, self._caches.volumes, None, (), delay_binding, chosen
            )
            data["candidates"] = [verdict.to_dict() for verdict in verdicts[:_SHOWN_CANDIDATES]]
        return data

    def _assign_default_class(self, claim: PersistentVolumeClaim) -> bool:
        """Give a claim without any class the default one. Upstream: assignDefaultStorageClass()."""
        if claim.storage_class_name is not None:
            return False
        defaults = [each for each in self._context.listers.storage_classes() if each.is_default]
        if not defaults:
            return False
        # The newest wins; of equally old ones the first by name.
        defaults.sort(key=_name_of)
        default = max(defaults, key=_created_at)
        self._write_step("default_class", claim)
        patched = claim.patched({"spec": {"storageClassName": default.name}})
        record_as = WriteEvent("ClaimClassAssigned", f"class {default.name} is the default")
        self._writer.update_claim(patched, record_as)
        return True

    def _write_step(
        self, leaf: str, claim: PersistentVolumeClaim, volume: PersistentVolume | None = None
    ) -> None:
        """The sync ended at *leaf* of its tree. *volume* is the one that it looked at."""
        trace = self._context.trace_of(claim)
        if trace is not None:
            trace.add(claim.id, claim_branch(leaf, claim, volume))


def _name_of(obj: ApiObject) -> str:
    return obj.name


def _created_at(obj: ApiObject) -> str:
    return obj.creation_timestamp
