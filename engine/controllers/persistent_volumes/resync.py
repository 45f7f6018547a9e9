"""The periodic resync of the PV controller, and which claims and volumes it has to queue.

Upstream: pv_controller_base.go, resync().
"""

from typing import Final

from engine.controllers.persistent_volumes.in_tree.plugin import PluginError
from engine.controllers.persistent_volumes.migration_annotations import claim_migration_patch
from engine.controllers.persistent_volumes.reclaim import find_deletable_plugin
from engine.controllers.persistent_volumes.unsettled import UnsettledObjects
from engine.controllers.persistent_volumes.writer import VolumeWriter
from engine.kernel.units import SECOND
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim
from engine.objects.phases import (
    CLAIM_BOUND,
    CLAIM_LOST,
    MIGRATED_TO,
    RECLAIM_DELETE,
    RECLAIM_RETAIN,
    VOLUME_AVAILABLE,
    VOLUME_BOUND,
    VOLUME_RELEASED,
)
from engine.storage.ports import KeyQueue

RESYNC_PERIOD: Final = 15 * SECOND


class Resync:
    """Queues, every 15 s, each claim and each volume that a sync would change.

    Upstream queues all of them, but a sync of a settled object does nothing. Only the resync queues a
    claim for which a volume has been created since. While nothing changes no timer is set.
    """

    def __init__(self, writer: VolumeWriter, claim_queue: KeyQueue, volume_queue: KeyQueue) -> None:
        self._context = writer.context
        self._caches = writer.caches
        self._writer = writer
        self._claim_queue = claim_queue
        self._volume_queue = volume_queue
        # The objects that may be unsettled; the controller notes each new version here.
        self.candidates = UnsettledObjects()
        self._next_at = -1
        # Whether the timer of the next resync is set.
        self.is_armed = False

    # The timer

    @property
    def next_at(self) -> int | None:
        """When the next resync comes, in ns; None where none is due."""
        return self._next_at if self.is_armed else None

    def start_at(self, at: int) -> None:
        """Resync at *at*, in ns, and every 15 s from then on. To be called before the first resync."""
        self._next_at = at
        self.arm()

    def arm(self) -> None:
        """Set the timer of the next resync, unless it is set or the resync was not started."""
        if self.is_armed or self._next_at < 0:
            return
        self.is_armed = True
        loop = self._context.loop
        late = loop.now - self._next_at
        if late > 0:
            self._next_at += -(-late // RESYNC_PERIOD) * RESYNC_PERIOD
        loop.call_at(self._next_at, self._ring)

    def _ring(self) -> None:
        # Nothing that happened before is the cause of a resync.
        self._context.loop.cause = 0
        self.is_armed = False
        self._next_at += RESYNC_PERIOD
        if self.queue_unsettled():
            self.arm()

    def queue_unsettled(self) -> int:
        """Queue each object that a sync would change; returns how many there are."""
        claims, volumes = self.unsettled()
        for key in claims:
            self._claim_queue.add(key)
        for key in volumes:
            self._volume_queue.add(key)
        return len(claims) + len(volumes)

    # What a sync would change

    def unsettled(self) -> tuple[list[str], list[str]]:
        """Keys of the claims and of the volumes that a sync would change.

        Checks only the objects that changed since they were last found to be settled.
        """
        unsettled, caches = self.candidates, self._caches
        unsettled.changed(caches.changed_volumes, caches.changed_claims)
        caches.changed_volumes.clear()
        caches.changed_claims.clear()
        claims = [key for key in unsettled.claims.in_order() if self._is_claim_unsettled(key)]
        volumes = [key for key in unsettled.volumes.in_order() if self._is_volume_unsettled(key)]
        unsettled.claims.keep(claims)
        unsettled.volumes.keep(volumes)
        return claims, volumes

    def _is_claim_unsettled(self, key: str) -> bool:
        claim = self._context.listers.claim(key)
        if claim is None:
            return False
        # One that cannot be judged (None) is not queued: its sync would fail as well.
        return self._context.loop.tried(self.is_claim_settled, claim) is False

    def _is_volume_unsettled(self, key: str) -> bool:
        volume = self._context.listers.volume(key)
        if volume is None:
            return False
        return self._context.loop.tried(self.is_volume_settled, volume) is False

    def is_claim_settled(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a sync would leave *claim* unchanged."""
        if not claim.is_bind_completed:
            return False
        if claim_migration_patch(claim, self._context.migration) is not None:
            return False
        volume = self._caches.volumes.get(claim.volume_name)
        if volume is None:
            return claim.phase == CLAIM_LOST
        if volume.claim_ref is None:
            return False
        if volume.claim_ref.get("uid") != claim.uid:
            return claim.phase == CLAIM_LOST
        return (
            claim.phase == CLAIM_BOUND
            and volume.phase == VOLUME_BOUND
            and tuple(claim.status.get("accessModes") or ()) == volume.access_modes
        )

    def is_volume_settled(self, volume: PersistentVolume) -> bool:
        """Whether a sync would leave *volume* unchanged."""
        if self._writer.volume_migration_patch(volume):
            return False
        ref = volume.claim_ref
        if ref is None or not ref.get("uid"):
            return volume.phase == VOLUME_AVAILABLE
        claim = self._caches.claims.get(volume.claim_key)
        if claim is not None and claim.uid == ref["uid"]:
            return claim.volume_name == volume.name and volume.phase == VOLUME_BOUND
        return volume.phase == VOLUME_RELEASED and self._is_reclaim_idle(volume)

    def _is_reclaim_idle(self, volume: PersistentVolume) -> bool:
        """Whether a released volume is kept, or reclaimed by a component other than this one."""
        if volume.reclaim_policy == RECLAIM_RETAIN or MIGRATED_TO in volume.annotations:
            return True
        if volume.reclaim_policy != RECLAIM_DELETE:
            return False
        if volume.deletion_timestamp:
            return True
        try:
            return find_deletable_plugin(volume, self._context) is None
        except PluginError:
            return False
