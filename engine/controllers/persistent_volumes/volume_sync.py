"""The sync of one volume. Upstream: pv_controller.go, syncVolume().

Written in the style of claim_sync.py: every branch is there, with its else.
"""

from engine.controllers.persistent_volumes.operations import VolumeOperations
from engine.controllers.persistent_volumes.trace_steps.reading import volume_branch
from engine.controllers.persistent_volumes.writer import VolumeWriter
from engine.kernel.errors import NotFound
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim
from engine.objects.phases import (
    PROVISIONED_BY,
    RECLAIM_DELETE,
    VOLUME_AVAILABLE,
    VOLUME_BOUND,
    VOLUME_FAILED,
    VOLUME_RELEASED,
    volume_mode,
)
from engine.storage.ports import WARNING, KeyQueue


class VolumeSync:
    """Decides what to do with a volume: update its phase, unbind it or reclaim it.

    Claims that a volume waits for go into *claim_queue*.
    """

    def __init__(
        self, writer: VolumeWriter, operations: VolumeOperations, claim_queue: KeyQueue
    ) -> None:
        self._context = writer.context
        self._caches = writer.caches
        self._writer = writer
        self._operations = operations
        self._claim_queue = claim_queue

    def sync_volume(self, volume: PersistentVolume) -> None:
        """Decide what to do with a volume. Raises SimError when a write fails."""
        volume = self._writer.update_volume_migration(volume)
        ref = volume.claim_ref
        if ref is None:
            # The volume is unused.
            self._write_step("unused", volume)
            self._writer.update_volume_phase(volume, VOLUME_AVAILABLE)
        elif not ref.get("uid"):
            # It is reserved for a claim that has not been bound to it yet; the claim's sync will
            # handle it.
            self._write_step("reserved", volume)
            self._writer.update_volume_phase(volume, VOLUME_AVAILABLE)
        else:
            self._sync_claimed_volume(volume, self._claim_of(volume))

    def _claim_of(self, volume: PersistentVolume) -> PersistentVolumeClaim | None:
        """The claim that *volume* is bound to, or None if it was certainly deleted."""
        assert volume.claim_ref is not None
        claim = self._caches.claims.get(volume.claim_key)
        if claim is None and volume.phase not in (VOLUME_RELEASED, VOLUME_FAILED):
            # The watch may deliver a volume that another component made or bound before its claim.
            # Read the claim again rather than reclaim the volume wrongly.
            claim = self._context.listers.claim(volume.claim_key) or self._live_claim(
                volume.claim_key
            )
        if claim is not None and claim.uid != volume.claim_ref["uid"]:
            if self._context.rules.rechecks_claim_uid:
                # The claim known here may be the older of the two.
                claim = self._live_claim(volume.claim_key)
                if claim is not None and claim.uid == volume.claim_ref["uid"]:
                    return claim
            # The claim was deleted, and another one of the same name created.
            return None
        return claim

    def _live_claim(self, key: str) -> PersistentVolumeClaim | None:
        try:
            return self._context.api.get_claim(key)
        except NotFound:
            return None

    def _sync_claimed_volume(
        self, volume: PersistentVolume, claim: PersistentVolumeClaim | None
    ) -> None:
        if claim is None:
            # The claim must have been deleted. A Failed phase stays for the user to see, while the
            # reclaim is tried again.
            self._write_step("claim_gone", volume)
            self._operations.reclaim_volume(self._released(volume))
        elif not claim.volume_name:
            if volume_mode(claim) != volume_mode(volume):
                # The claim's sync will never match the two.
                self._write_step("mode_mismatch", volume, claim)
                self._emit_mode_mismatch(volume, claim)
                return
            # Either the binding is not completed, or the volume was bound and the claim got
            # unbound by the user.
            # OBSERVATION: volume is "Bound", claim is "Pending".
            # The next claim sync will fix it; this speeds it up, above all for volumes that a
            # provisioner has saved.
            self._write_step("waits_for_claim", volume, claim)
            self._claim_queue.add(claim.key)
        elif claim.volume_name == volume.name:
            # The volume is bound to its claim properly.
            self._write_step("bound_properly", volume, claim)
            self._writer.update_volume_phase(volume, VOLUME_BOUND)
        # The volume is bound to a claim, but the claim is bound elsewhere.
        elif PROVISIONED_BY in volume.annotations and volume.reclaim_policy == RECLAIM_DELETE:
            # It was provisioned for this claim, which does not need it any more.
            self._write_step("not_needed", volume, claim)
            self._operations.reclaim_volume(self._released(volume))
        else:
            # Either the controller tried this volume for the claim, which was then fulfilled by
            # another one; or the user reserved it, and it stays reserved.
            self._write_step("unbind", volume, claim)
            self._writer.unbind_volume(volume)

    def _released(self, volume: PersistentVolume) -> PersistentVolume:
        if volume.phase in (VOLUME_RELEASED, VOLUME_FAILED):
            return volume
        return self._writer.update_volume_phase(volume, VOLUME_RELEASED)

    def _emit_mode_mismatch(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        self._context.events.event(
            volume,
            WARNING,
            "VolumeMismatch",
            "Cannot bind PersistentVolume to requested PersistentVolumeClaim "
            f'"{claim.name}" due to incompatible volumeMode.',
        )
        self._context.events.event(
            claim,
            WARNING,
            "VolumeMismatch",
            f'Cannot bind PersistentVolume "{volume.name}" to requested PersistentVolumeClaim due '
            "to incompatible volumeMode.",
        )

    def _write_step(
        self, leaf: str, volume: PersistentVolume, claim: PersistentVolumeClaim | None = None
    ) -> None:
        """The sync ended at *leaf* of its tree. *claim* is the one that claimRef names."""
        trace = self._context.trace_of(volume)
        if trace is not None:
            trace.add(volume.id, volume_branch(leaf, volume, claim))
