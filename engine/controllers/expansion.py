"""Volume expansion: a bound claim that requests more gets more, if its class allows it.

    user raises spec.resources   →  expand controller: leaves it to the CSI driver, emits an Event;
                                    for a migrated volume it names the driver in an annotation
    external resizer             →  condition Resizing, the driver grows the volume, volume.capacity
    file system                  →  condition FileSystemResizePending until a pod runs with it, then
                                    the kubelet grows the file system and writes claim.capacity

The external resizer is in `csi/external_resizer.py`, which also does the kubelet's part.
Upstream: pkg/controller/volume/expand/expand_controller.go.
"""

from typing import ClassVar, Final

from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.kernel.errors import ApiError, NotFound
from engine.kernel.loop import EventLoop
from engine.objects.objects import EMPTY, Manifest, PersistentVolumeClaim, quantity
from engine.objects.phases import CLAIM_BOUND
from engine.storage.migration import Migration, in_tree_plugin_of
from engine.storage.ports import NORMAL, WARNING, EventSink, InformerListers

CONTROLLER: Final = "volume-expand"
# Names the CSI driver that expands a migrated volume. Upstream: VolumeResizerKey.
STORAGE_RESIZER: Final = "volume.kubernetes.io/storage-resizer"
_EXTERNAL_EXPANDING: Final = "ExternalExpanding"


class ExpandController:
    """Emits an Event on each claim whose request grew: the CSI driver has to expand the volume.

    *event* is the type and the message of that Event for a volume that is not migrated.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("_queue",)

    def __init__(
        self,
        loop: EventLoop,
        store: ObjectStore,
        listers: InformerListers,
        events: EventSink,
        event: tuple[str, str],
        migration: Migration,
    ) -> None:
        self._store = store
        self._listers = listers
        self._events = events
        self._event = event
        self._migration = migration
        self._queue = WorkQueue(loop, self.sync, answers=store.answers.of(CONTROLLER))
        listers.claim_informer.on_event(self._on_claim)

    def _on_claim(self, event: WatchEvent) -> None:
        claim, old = event.new, event.old
        if event.type == "DELETED" or not isinstance(claim, PersistentVolumeClaim):
            return
        if claim.phase != CLAIM_BOUND or not wants_more(claim):
            return
        if isinstance(old, PersistentVolumeClaim) and not (
            claim.request_bytes > old.request_bytes or capacity_of(claim) > capacity_of(old)
        ):
            return
        self._queue.add(claim.key)

    def sync(self, key: str) -> None:
        """Leave the expansion of the claim of that key, if it waits for one, to the CSI driver.

        Upstream: syncHandler().
        """
        claim = self._listers.claim(key)
        if claim is None or claim.request_bytes <= capacity_of(claim):
            return
        volume = self._listers.volume(claim.volume_name)
        if volume is None:
            return
        plugin = in_tree_plugin_of(volume)
        if plugin is not None and self._migration.is_enabled(plugin):
            self._leave_to_driver(claim, plugin)
            return
        event_type, message = self._event
        self._events.event(claim, event_type, _EXTERNAL_EXPANDING, message)

    def _leave_to_driver(self, claim: PersistentVolumeClaim, plugin: str) -> None:
        """Name the driver that took over the in-tree *plugin*. Upstream: SetClaimResizer()."""
        message = (
            f"CSI migration enabled for {plugin}; waiting for external resizer to expand the pvc"
        )
        self._events.event(claim, NORMAL, _EXTERNAL_EXPANDING, message)
        driver = self._migration.driver_of(plugin)
        if claim.annotations.get(STORAGE_RESIZER) == driver:
            return
        patch: Manifest = {"metadata": {"annotations": {STORAGE_RESIZER: driver}}}
        try:
            self._store.patch(
                claim.kind,
                claim.key,
                patch,
                by=CONTROLLER,
                event="ClaimResizerSet",
                message=f"to be expanded by {driver}",
            )
        except NotFound:
            return
        except ApiError as error:
            message = (
                f"error setting resizer annotation to pvc {claim.key}, with error "
                f'patchPVCStatus failed to patch PVC "{claim.name}": {error}'
            )
            self._events.event(claim, WARNING, _EXTERNAL_EXPANDING, message)
            self._queue.add_rate_limited(claim.key)
        else:
            self._queue.forget(claim.key)


def wants_more(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim requests more than it has."""
    # Most claims have what they request; comparing the texts is cheaper than parsing them.
    has = (claim.status.get("capacity") or EMPTY).get("storage", 0)
    return requested_size(claim) != has and claim.request_bytes > quantity.value(has)


def capacity_of(claim: PersistentVolumeClaim) -> int:
    """status.capacity.storage in bytes: what the claim has, not what it requests."""
    return quantity.value((claim.status.get("capacity") or EMPTY).get("storage", 0))


def requested_size(claim: PersistentVolumeClaim) -> str:
    """spec.resources.requests.storage as it is written; "0" if absent."""
    return ((claim.spec.get("resources") or EMPTY).get("requests") or EMPTY).get("storage", "0")
