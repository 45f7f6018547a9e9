"""External resizers: expand the volumes of CSI drivers, and the file systems on them.

Upstream: kubernetes-csi/external-resizer pkg/controller/controller.go, and the kubelet's
NodeExpandVolume. The stages are in `engine/controllers/expansion.py`.
"""

from typing import Any, ClassVar, Final

from engine.api_server.store import process
from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.controllers.expansion import STORAGE_RESIZER, capacity_of, requested_size, wants_more
from engine.csi_sidecars.context import SidecarContext
from engine.csi_sidecars.driver_faults import DriverFaults
from engine.csi_sidecars.external_modifier import VolumeModifier
from engine.kernel.errors import ApiError
from engine.kernel.units import timestamp
from engine.objects.objects import EMPTY, Manifest, PersistentVolume, PersistentVolumeClaim, Pod
from engine.objects.phases import CLAIM_BOUND, claim_class
from engine.storage.migration import IN_TREE, in_tree_plugin_of
from engine.storage.ports import NORMAL, WARNING, EventSink

RESIZER: Final = "external-resizer"
KUBELET: Final = "kubelet"

RESIZING: Final = "Resizing"
FILE_SYSTEM_RESIZE_PENDING: Final = "FileSystemResizePending"


class ExternalResizers:
    """The resizers of all CSI drivers, and the kubelets' part of an expansion."""

    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "modifying")

    def __init__(
        self,
        context: SidecarContext,
        events: EventSink,
        kubelet_events: EventSink,
        absent: tuple[str, ...] = (),
        modifier: VolumeModifier | None = None,
        faults: DriverFaults | None = None,
    ) -> None:
        """*faults* says which drivers expand only volumes that no pod uses.

        *modifier* is the part that changes the attributes of volumes, in versions that can."""
        listers = context.listers
        # What of it acts by itself; see `process.end`.
        self.modifying = [] if modifier is None else process.parts_of(modifier)
        self._loop = context.loop
        self._store = context.store
        self._listers = listers
        self._events = events
        self._kubelet_events = kubelet_events
        self._delays = context.delays
        # Drivers without a resizer.
        self.absent = absent
        self._faults = faults or DriverFaults()
        # Claims whose expansion had begun before the run did: what stands in the files is no moment
        # of a resize that takes seconds, but one that the driver refuses while the volume is in use.
        self._refused: dict[str, None] = {}
        self._is_first = context.loop.now == 0
        self._busy: dict[str, None] = {}
        self._queue = WorkQueue(context.loop, self.sync)
        listers.claim_informer.on_event(self._on_claim)
        listers.pod_informer.on_event(self._on_pod, plain=False)

    def _on_claim(self, event: WatchEvent) -> None:
        claim = event.new
        if event.type == "DELETED" or not isinstance(claim, PersistentVolumeClaim):
            return
        if claim.phase == CLAIM_BOUND and wants_more(claim):
            if event.type == "ADDED" and self._is_first and RESIZING in _conditions(claim):
                self._refused[claim.id] = None
            self._queue.add(claim.key)

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.new
        if isinstance(pod, Pod) and (
            pod.phase == "Running" or pod.is_terminated or event.type == "DELETED"
        ):
            for name in pod.claim_names:
                claim = self._listers.claim(f"{pod.namespace}/{name}")
                if claim is not None and claim.request_bytes > capacity_of(claim):
                    self._queue.add(claim.key)

    def sync(self, key: str) -> None:
        """Begin the next stage of the claim's expansion, if it waits for one."""
        claim = self._listers.claim(key)
        if claim is None or claim.id in self._busy or claim.phase != CLAIM_BOUND:
            return
        volume = self._listers.volume(claim.volume_name)
        if volume is None or claim.request_bytes <= capacity_of(claim):
            return
        if volume.capacity_bytes < claim.request_bytes:
            if self._serves(claim, volume) and not self._waits_for_users(claim, volume):
                self._begin(claim)
        elif FILE_SYSTEM_RESIZE_PENDING in _conditions(claim):
            pod = self._user(claim)
            if pod is not None:
                self._busy[claim.id] = None
                self._loop.call_after(self._delays.draw("expand"), self._grow_file_system, claim)
        elif self._serves(claim, volume) and RESIZING in _conditions(claim):
            # The volume has grown, but the write of the condition failed.
            self._write_progress(claim)

    def _serves(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
        """Whether a driver is there and the class allows it. The API server refuses it otherwise."""
        storage_class = self._listers.storage_class(claim_class(claim))
        allowed = storage_class is not None and storage_class.raw.get("allowVolumeExpansion")
        driver = _driver_of(claim, volume)
        return bool(allowed) and bool(driver) and driver not in self.absent

    def _waits_for_users(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
        """Whether the driver expands the volume only once no pod uses it, and one does.

        Upstream: inUsePVCStore.checkForUse(). Each sync says so again; so do users that change.
        """
        driver = _driver_of(claim, volume)
        if claim.id not in self._refused and driver not in self._faults.offline:
            return False
        pods = self._listers.pods_of_claim(claim.key)
        users = [pod.key for pod in pods if pod.node_name and not pod.is_terminated]
        if not users:
            self._refused.pop(claim.id, None)
            return False
        if RESIZING not in _conditions(claim):
            status = {"conditions": [self._condition(RESIZING)]}
            why = f"waits until it is not used by {', '.join(users)}"
            # The watch event of this write syncs the claim again.
            self._write_claim(claim.key, status, RESIZER, "ClaimResizing", why)
            return True
        message = (
            f"Unable to expand {claim.key} because CSI driver {driver} only supports offline "
            "expansion and volume is currently in-use"
        )
        self._events.event(claim, WARNING, "VolumeResizeFailed", message)
        return True

    def _user(self, claim: PersistentVolumeClaim) -> Pod | None:
        pods = self._listers.pods_of_claim(claim.key)
        return next((pod for pod in pods if pod.node_name and pod.phase == "Running"), None)

    def _begin(self, claim: PersistentVolumeClaim) -> None:
        status = {"conditions": [self._condition(RESIZING)]}
        if not self._write_claim(claim.key, status, RESIZER, "ClaimResizing", ""):
            return
        message = f"External resizer is resizing volume {claim.volume_name}"
        self._events.event(claim, NORMAL, "Resizing", message)
        self._busy[claim.id] = None
        self._loop.call_after(self._delays.draw("expand"), self._grow_volume, claim)

    def _grow_volume(self, claim: PersistentVolumeClaim) -> None:
        self._busy.pop(claim.id, None)
        size = requested_size(claim)
        patch = {"spec": {"capacity": {"storage": size}}}
        try:
            self._store.patch(
                "PersistentVolume",
                claim.volume_name,
                patch,
                by=RESIZER,
                event="VolumeExpanded",
                message=f"grown to {size}",
            )
        except ApiError:
            self._queue.add_rate_limited(claim.key)
            return
        self._write_progress(claim)

    def _write_progress(self, claim: PersistentVolumeClaim) -> None:
        """Write the next stage: the file system is to be resized, or the expansion is complete."""
        size = requested_size(claim)
        if (claim.spec.get("volumeMode") or "Filesystem") != "Filesystem":
            status: Manifest = {"capacity": {"storage": size}, "conditions": None}
            if self._write_claim(claim.key, status, RESIZER, "ClaimExpanded", f"has {size}"):
                message = "Resize volume succeeded"
                self._events.event(claim, NORMAL, "VolumeResizeSuccessful", message)
            return
        status = {"conditions": [self._condition(FILE_SYSTEM_RESIZE_PENDING)]}
        why = "the file system grows once a pod runs with it"
        if self._write_claim(claim.key, status, RESIZER, "ClaimFileSystemResizePending", why):
            message = "Require file system resize of volume on node"
            self._events.event(claim, NORMAL, "FileSystemResizeRequired", message)

    def _grow_file_system(self, claim: PersistentVolumeClaim) -> None:
        self._busy.pop(claim.id, None)
        pod = self._user(claim)
        if pod is None:
            return
        volume = self._listers.volume(claim.volume_name)
        if volume is None:
            return
        size: str = (volume.spec.get("capacity") or EMPTY).get("storage", "0")
        status = {"capacity": {"storage": size}, "conditions": None}
        if self._write_claim(claim.key, status, KUBELET, "ClaimExpanded", f"has {size}"):
            message = (
                f'MountVolume.NodeExpandVolume succeeded for volume "{volume.name}" {pod.node_name}'
            )
            self._kubelet_events.event(pod, NORMAL, "FileSystemResizeSuccessful", message)

    def _write_claim(self, key: str, status: Manifest, by: str, kind: str, message: str) -> bool:
        patch = {"status": status}
        try:
            self._store.patch(
                "PersistentVolumeClaim", key, patch, by=by, event=kind, message=message
            )
        except ApiError:
            self._queue.add_rate_limited(key)
            return False
        self._queue.forget(key)
        return True

    def _condition(self, name: str) -> dict[str, Any]:
        now = timestamp(self._loop.clock)
        return {"type": name, "status": "True", "lastTransitionTime": now}


def _driver_of(claim: PersistentVolumeClaim, volume: PersistentVolume) -> str:
    """The CSI driver that expands the volume, or "". Upstream: csiResizer.CanSupport()."""
    plugin = in_tree_plugin_of(volume)
    if plugin is None:
        return (volume.spec.get("csi") or EMPTY).get("driver") or ""
    # The driver of a migrated volume waits until the expand controller has named it.
    named = claim.annotations.get(STORAGE_RESIZER, "")
    return named if named == IN_TREE[plugin].driver else ""


def _conditions(claim: PersistentVolumeClaim) -> list[str]:
    conditions: list[Manifest] = claim.status.get("conditions") or []
    return [condition.get("type", "") for condition in conditions]
