"""Operations towards a mount: what a (volume, pod) pair of the desired state needs.

Upstream: pkg/volume/util/operationexecutor/operation_generator.go.
"""

from collections.abc import Callable
from typing import Final

from engine.kubelet.volume_manager.actual_state import (
    DeviceMountState,
    MarkVolumeOpts,
    VolumeMountState,
)
from engine.kubelet.volume_manager.desired_state import VolumeToMount
from engine.kubelet.volume_manager.operations import messages
from engine.kubelet.volume_manager.operations.base import Executor, VolumeOperation
from engine.kubelet.volume_manager.populator import requires_fs_resize
from engine.objects.objects import Manifest
from engine.storage.operations.messages import error_suffix, simple
from engine.storage.operations.pending import OperationKey
from engine.storage.plugins.spec import Answer, ErrorKind, VolumeError, VolumePlugin

FAILED_MOUNT: Final = "FailedMount"
RESIZED: Final = "FileSystemResizeSuccessful"
RESIZE_FAILED: Final = "FileSystemResizeFailed"


class PodVolumeOperation(VolumeOperation):
    """An operation for a (volume, pod) pair that should be mounted."""

    def __init__(self, executor: Executor, key: OperationKey, volume: VolumeToMount) -> None:
        super().__init__(executor, key)
        self.volume = volume

    @property
    def pod_name(self) -> str:
        return self.volume.pod_name

    def _fail(self, prefix: str, problem: str) -> None:
        suffix = error_suffix(problem)
        event = simple(prefix, self.volume.spec.name, suffix)
        self._executor.observer.warn(self.volume.pod, "Warning", FAILED_MOUNT, event)
        self._end(messages.to_mount(self.volume, prefix, suffix))

    def _opts(self) -> MarkVolumeOpts:
        volume = self.volume
        return MarkVolumeOpts(
            pod_name=volume.pod_name,
            pod_uid=volume.pod.uid,
            volume_name=volume.volume_name,
            spec=volume.spec,
            outer_name=volume.outer_name,
            gid=volume.gid,
        )

    def _mark_device_error_state(self, error: VolumeError, device_path: str, path: str) -> None:
        # Upstream: markDeviceErrorState.
        name, state = self.volume.volume_name, self._device_state
        if error.kind is ErrorKind.UNCERTAIN:
            # A device that was mounted before stays so.
            if state is DeviceMountState.NOT_MOUNTED:
                self._actual.mark_device_as_uncertain(name, device_path, path)
        elif (
            error.kind is not ErrorKind.TRANSIENT
            and state is DeviceMountState.UNCERTAIN
            # Mounts found on disk stay there, even if they cannot be mounted again.
            and not self._actual.is_volume_device_reconstructed(name)
        ):
            self._actual.mark_device_as_unmounted(name)

    def _mark_volume_error_state(self, error: VolumeError) -> None:
        # Upstream: markVolumeErrorState.
        volume = self.volume
        state = self._actual.get_volume_mount_state(volume.volume_name, volume.pod_name)
        if error.kind is ErrorKind.UNCERTAIN:
            if state is VolumeMountState.NOT_MOUNTED:
                self._actual.mark_volume_mount_as_uncertain(self._opts())
        elif (
            error.kind is not ErrorKind.TRANSIENT
            and state is VolumeMountState.UNCERTAIN
            and not self._actual.is_volume_reconstructed(volume.volume_name, volume.pod_name)
        ):
            self._actual.mark_volume_as_unmounted(volume.pod_name, volume.volume_name)

    @property
    def _device_state(self) -> DeviceMountState:
        return self._actual.get_device_mount_state(self.volume.volume_name)

    # Node expansion, at the end of a mount or by itself

    def _expand(self, plugin: VolumePlugin, then: Callable[[Answer], None]) -> None:
        """Upstream: nodeExpandVolume. *then* gets an error, or whether it is done."""
        volume = self.volume
        spec = volume.spec
        persistent = spec.persistent_volume
        if persistent is None or not plugin.is_expandable(spec):
            then(Answer())
            return
        claim = self._executor.api.claim_of(persistent)
        if claim is None:
            text = "MountVolume.NodeExpandVolume get PVC failed : not found"
            then(Answer(error=VolumeError(text), done=False))
            return
        if not requires_fs_resize(claim, spec):
            then(Answer())
            return
        if spec.read_only:
            self._emit(
                "Warning",
                RESIZE_FAILED,
                "MountVolume.NodeExpandVolume failed",
                "requested read-only file system",
            )
            then(Answer())
            return
        answer = plugin.call("NodeExpand", spec, volume.pod)
        latency, result = answer.latency, answer._replace(latency=0)
        self._then(Answer(latency), _Expanded(self, result, claim, then))

    def expanded(self, answer: Answer, claim: Manifest, then: Callable[[Answer], None]) -> None:
        """The driver has answered to an expansion."""
        volume = self.volume
        if answer.error is not None:
            if answer.error.kind is ErrorKind.FAILED_PRECONDITION:
                # It is not tried again on this node, but must not keep the volume from its pod.
                self._actual.mark_for_in_use_expansion_error(volume.volume_name)
                then(Answer())
            else:
                then(Answer(error=answer.error, done=False))
            return
        if not answer.done:
            # The driver wants to be asked again once the volume is published.
            then(Answer(done=False))
            return
        self._emit("Normal", RESIZED, "MountVolume.NodeExpandVolume succeeded", "")
        assert volume.spec.capacity is not None
        error = self._executor.api.mark_fs_resize_finished(claim, volume.spec.capacity)
        if error is None:
            then(Answer())
        else:
            text = f"MountVolume.NodeExpandVolume update PVC status failed : {error}"
            then(Answer(error=VolumeError(text), done=False))

    def _emit(self, type: str, reason: str, prefix: str, suffix: str) -> None:
        text = simple(prefix, self.volume.spec.name, suffix)
        self._executor.observer.warn(self.volume.pod, type, reason, text)


class _Expanded:
    """The rest of an expansion, as a picklable callable."""

    __slots__ = ("_answer", "_claim", "_operation", "_then")

    def __init__(
        self,
        operation: PodVolumeOperation,
        answer: Answer,
        claim: Manifest,
        then: Callable[[Answer], None],
    ) -> None:
        self._operation, self._answer, self._claim, self._then = operation, answer, claim, then

    def __call__(self, _: Answer) -> None:
        self._operation.expanded(self._answer, self._claim, self._then)
