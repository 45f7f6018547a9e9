"""The PV controller: binds claims to volumes, starts provisioning, reclaims released volumes.

    watch events ─▶ queues ─▶ workers ─▶ ClaimSync, VolumeSync ─▶ VolumeWriter, VolumeOperations
    Resync ───────────▲

Upstream: pkg/controller/volume/persistentvolume/pv_controller_base.go; the syncs are those of
pv_controller.go.
"""

from typing import ClassVar

from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.controllers.persistent_volumes.caches import ControllerCaches
from engine.controllers.persistent_volumes.claim_sync import ClaimSync
from engine.controllers.persistent_volumes.context import ControllerContext
from engine.controllers.persistent_volumes.operations import VolumeOperations
from engine.controllers.persistent_volumes.resync import Resync
from engine.controllers.persistent_volumes.trace_steps.syncs import SyncBegan, SyncEnded
from engine.controllers.persistent_volumes.volume_sync import VolumeSync
from engine.controllers.persistent_volumes.writer import VolumeWriter
from engine.kernel.errors import SimError
from engine.objects.objects import ApiObject, PersistentVolume, PersistentVolumeClaim
from engine.storage.operations.runner import OperationRunner
from engine.storage.ports import KeyQueue


class PersistentVolumeController:
    """Queues the claims and volumes that changed, and syncs them one by one.

    `claim_queue` and `volume_queue` hold what is to be synced. They are work queues of the context's
    loop unless others are given.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("claim_queue", "volume_queue", "runner", "resync")

    def __init__(
        self,
        context: ControllerContext,
        claim_queue: KeyQueue | None = None,
        volume_queue: KeyQueue | None = None,
    ) -> None:
        loop, answers = context.loop, context.answers
        self.context = context
        self.runner = OperationRunner(loop, answers)
        self.claim_queue: KeyQueue = claim_queue or WorkQueue(
            loop, self.work_claim, answers=answers
        )
        self.volume_queue: KeyQueue = volume_queue or WorkQueue(
            loop, self.work_volume, answers=answers
        )
        self.caches = ControllerCaches()
        self.writer = VolumeWriter(context, self.caches)
        self.operations = VolumeOperations(self.writer, self.runner)
        self.resync = Resync(self.writer, self.claim_queue, self.volume_queue)
        self._candidates = self.resync.candidates
        # Object id → why its latest sync was abandoned.
        self.last_error: dict[str, str] = {}
        # What is synced now.
        self._syncing: ApiObject | None = None
        self._claim_sync = ClaimSync(self.writer, self.operations)
        self._volume_sync = VolumeSync(self.writer, self.operations, self.claim_queue)

    def start(self, first_resync: int = 0) -> None:
        """Fill the caches from the listers; the first resync comes *first_resync* ns from now."""
        for volume in self.context.listers.volumes():
            self._candidates.volumes.observe(volume.key, volume.claim_key)
            self.caches.store_volume_update(volume)
        for claim in self.context.listers.claims():
            self._candidates.claims.observe(claim.key, claim.volume_name)
            self.caches.store_claim_update(claim)
        self.resync.start_at(self.context.loop.now + first_resync)

    def next_try(self) -> int | None:
        """When what is synced now is synced again if a write of it fails, in ns; None if unknown."""
        obj = self._syncing
        if obj is None:
            return None
        queue = self.claim_queue if obj.kind == PersistentVolumeClaim.KIND else self.volume_queue
        if self.context.rules.retries_failed_syncs and isinstance(queue, WorkQueue):
            return queue.next_try(obj.key)
        return self.resync.next_at

    # Watch events

    def on_claim_event(self, event: WatchEvent) -> None:
        """Queue the claim of a watch event."""
        claim = event.new
        assert isinstance(claim, PersistentVolumeClaim), f"{claim.id} is no claim"
        self._candidates.claims.observe(claim.key, claim.volume_name, event.type == "DELETED")
        delays = self.context.delays
        delay = delays.draw("claim_sync") if delays else 0
        if delay:
            self.context.loop.call_after(delay, self.claim_queue.add, claim.key)
        else:
            self.claim_queue.add(claim.key)
        if not self.resync.is_armed:
            self.resync.arm()

    def on_volume_event(self, event: WatchEvent) -> None:
        """Queue the volume of a watch event."""
        volume = event.new
        assert isinstance(volume, PersistentVolume), f"{volume.id} is no volume"
        self._candidates.volumes.observe(volume.key, volume.claim_key, event.type == "DELETED")
        self.volume_queue.add(volume.key)
        if not self.resync.is_armed:
            self.resync.arm()

    # Workers

    def work_volume(self, key: str) -> None:
        """Sync the volume of that name, or forget it if it is deleted. Upstream: volumeWorker()."""
        volume = self.context.listers.volume(key)
        if volume is not None:
            self._update_volume(volume)
            return
        cached = self.caches.volumes.get(key)
        if cached is not None:
            self._delete_volume(cached)
        # Else its deletion was already processed.

    def work_claim(self, key: str) -> None:
        """Sync the claim of that key, or forget it if it is deleted. Upstream: claimWorker()."""
        claim = self.context.listers.claim(key)
        if claim is not None:
            self._update_claim(claim)
            return
        cached = self.caches.claims.get(key)
        if cached is not None:
            self._delete_claim(cached)
        # Else its deletion was already processed.

    def _update_volume(self, volume: PersistentVolume) -> None:
        """Sync a volume of the informer, unless the cache has a newer version."""
        if not self.caches.store_volume_update(volume):
            return
        self._tell_begin("syncVolume", volume)
        self._syncing = volume
        try:
            self.sync_volume(volume)
        except SimError as error:
            # Conflicts are normal. After any error a later sync continues.
            self._handle_error(self.volume_queue, volume, error)
        else:
            if self.last_error:
                self._forget_error(self.volume_queue, volume)
            self._tell_end(volume)
        self._syncing = None

    def _update_claim(self, claim: PersistentVolumeClaim) -> None:
        """Sync a claim of the informer, unless the cache has a newer version."""
        if not self.caches.store_claim_update(claim):
            return
        self._tell_begin("syncClaim", claim)
        self._syncing = claim
        try:
            self.sync_claim(claim)
        except SimError as error:
            self._handle_error(self.claim_queue, claim, error)
        else:
            if self.last_error:
                self._forget_error(self.claim_queue, claim)
            self._tell_end(claim)
        self._syncing = None

    def _handle_error(self, queue: KeyQueue, obj: ApiObject, error: SimError) -> None:
        self.last_error[obj.id] = str(error)
        retries = self.context.rules.retries_failed_syncs
        if retries:
            queue.add_rate_limited(obj.key)
        self._tell_end(obj, str(error), queued_again=retries)

    def _forget_error(self, queue: KeyQueue, obj: ApiObject) -> None:
        if self.last_error.pop(obj.id, None) is not None:
            queue.forget(obj.key)

    def _delete_volume(self, volume: PersistentVolume) -> None:
        """Forget a deleted volume, and queue the claim that it was bound to."""
        self._tell_begin("deleteVolume", volume)
        self.caches.delete_volume(volume)
        self._forget_error(self.volume_queue, volume)
        if volume.claim_ref is not None:
            # Otherwise the claim would become Lost only at the next resync.
            self.claim_queue.add(volume.claim_key)
        self._tell_end(volume)

    def _delete_claim(self, claim: PersistentVolumeClaim) -> None:
        """Forget a deleted claim, and queue the volume that it was bound to."""
        self._tell_begin("deleteClaim", claim)
        self.caches.delete_claim(claim)
        self._forget_error(self.claim_queue, claim)
        if claim.volume_name:
            # Otherwise the volume would become Released only at the next resync.
            self.volume_queue.add(claim.volume_name)
        self._tell_end(claim)

    # Syncs

    def sync_claim(self, claim: PersistentVolumeClaim) -> None:
        """Decide what to do with a claim. Raises SimError when a write fails."""
        self._claim_sync.sync_claim(claim)

    def sync_volume(self, volume: PersistentVolume) -> None:
        """Decide what to do with a volume. Raises SimError when a write fails."""
        self._volume_sync.sync_volume(volume)

    # Telling

    def _tell_begin(self, function: str, obj: ApiObject) -> None:
        trace = self.context.trace_of(obj)
        if trace is not None:
            trace.add(obj.id, SyncBegan(function, obj.resource_version))

    def _tell_end(self, obj: ApiObject, error: str = "", *, queued_again: bool = False) -> None:
        trace = self.context.trace_of(obj)
        if trace is not None:
            trace.add(obj.id, SyncEnded(error, queued_again))
