"""The reconciler: brings the actual state of a node's volumes to the desired one.

Upstream: pkg/kubelet/volumemanager/reconciler/reconciler.go.
"""

from collections.abc import Callable

from engine.kubelet.volume_manager.actual_state import (
    ActualStateOfWorld,
    AttachedVolume,
    MountedVolume,
    Problem,
)
from engine.kubelet.volume_manager.desired_state import DesiredStateOfWorld, VolumeToMount
from engine.kubelet.volume_manager.operations.executor import OperationExecutor
from engine.kubelet.volume_manager.trace_steps.rounds import RoundNotes


class Reconciler:
    """One pass at a time: unmounts, then mounts, then what belongs to no pod any more.

    With *controller_attach_detach* the kubelet only verifies what the controller attached.
    """

    __slots__ = ("_actual", "_controller_attach_detach", "_desired", "_executor")

    def __init__(
        self,
        desired: DesiredStateOfWorld,
        actual: ActualStateOfWorld,
        executor: OperationExecutor,
        *,
        controller_attach_detach: bool = True,
    ) -> None:
        self._desired = desired
        self._actual = actual
        self._executor = executor
        self._controller_attach_detach = controller_attach_detach

    @property
    def node(self) -> str:
        """The name of the node."""
        return self._actual.node_name

    def reconcile(self, notes: RoundNotes | None = None) -> None:
        """One pass, written into *notes*.

        Unmounts come first, so that a volume that goes from one pod to another is unmounted for the
        old one before it is mounted for the new one.
        """
        self._unmount_volumes(notes)
        self._mount_attach_volumes(notes)
        self._unmount_detach_devices(notes)

    def _unmount_volumes(self, notes: RoundNotes | None) -> None:
        for mounted in self._actual.unwanted_mounts(self._desired.pod_exists_in_volume):
            self._tried(self._unmount, mounted, mounted.volume_name, mounted.pod_name, notes)

    def _tried(
        self, callback: Callable[..., None], volume: object, name: str, pod: str, notes: object
    ) -> None:
        key = f"{self.node} {name} {pod}"
        self._executor.loop.tried(callback, volume, notes, key=key)

    def _unmount(self, mounted: MountedVolume, notes: RoundNotes | None) -> None:
        answer = self._executor.unmount_volume(mounted)
        if notes is not None:
            name, pod = mounted.volume_name, mounted.pod_name
            notes.asks("unmountVolumes", "UnmountVolume", name, pod, answer)

    def _mount_attach_volumes(self, notes: RoundNotes | None) -> None:
        for volume in self._desired.volumes_left_to_mount(self._actual.is_done):
            self._tried(self._mount_or_attach, volume, volume.volume_name, volume.pod_name, notes)

    def _mount_or_attach(self, volume: VolumeToMount, notes: RoundNotes | None) -> None:
        found = self._actual.pod_exists_in_volume(volume.pod_name, volume.volume_name)
        if found.problem is Problem.NOT_ATTACHED:
            if self._controller_attach_detach or not volume.is_attachable:
                operation = "VerifyControllerAttachedVolume"
                answer = self._executor.verify_controller_attached_volume(volume)
            else:
                operation, answer = "AttachVolume", self._executor.attach_volume(volume)
        elif not found.mounted or found.problem is Problem.REMOUNT_REQUIRED:
            located = with_device_path(volume, found.device_path)
            operation, answer = "MountVolume", self._executor.mount_volume(located)
        elif found.problem is Problem.FS_RESIZE_REQUIRED:
            located = with_device_path(volume, found.device_path)
            answer = self._executor.expand_in_use_volume(located)
            operation = "ExpandInUseVolume"
        else:
            return
        if notes is not None:
            name, pod = volume.volume_name, volume.pod_name
            notes.asks("mountOrAttachVolumes", operation, name, pod, answer)

    def _unmount_detach_devices(self, notes: RoundNotes | None) -> None:
        for volume in self._actual.get_unmounted_volumes():
            self._tried(self._unmount_or_detach, volume, volume.name, "", notes)

    def _unmount_or_detach(self, volume: AttachedVolume, notes: RoundNotes | None) -> None:
        # A volume on which something runs may be about to be mounted.
        is_pending = self._executor.is_operation_pending
        if self._desired.volume_exists(volume.name) or is_pending(volume.name):
            return
        if volume.device_may_be_mounted:
            operation, answer = "UnmountDevice", self._executor.unmount_device(volume)
        elif self._controller_attach_detach or not volume.is_attachable:
            # The kubelet does not detach it; it only stops to report it.
            operation = "MarkVolumeAsDetached"
            answer = self._actual.mark_volume_as_detached(volume.name)
        else:
            operation, answer = "DetachVolume", self._executor.detach_volume(volume)
        if notes is not None:
            notes.asks("unmountDetachDevices", operation, volume.name, "", answer)


def with_device_path(volume: VolumeToMount, device_path: str) -> VolumeToMount:
    """*volume* with the path by which the node knows it."""
    return volume._replace(device_path=device_path)
