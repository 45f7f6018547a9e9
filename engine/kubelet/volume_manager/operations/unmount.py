"""Unmount and detach: the operations that take a volume from a pod or from the node.

Upstream: pkg/volume/util/operationexecutor/operation_generator.go.
"""

from engine.kubelet.volume_manager.actual_state import AttachedVolume, MountedVolume
from engine.kubelet.volume_manager.operations import messages
from engine.kubelet.volume_manager.operations.base import Executor, VolumeOperation
from engine.storage.operations.messages import error_suffix
from engine.storage.operations.pending import OperationKey
from engine.storage.plugins.spec import NO_PLUGIN_MATCHED, Answer, VolumePlugin


class UnmountVolume(VolumeOperation):
    """Unmounts a volume from a pod. GenerateUnmountVolumeFunc, GenerateUnmapVolumeFunc."""

    name = "volume_unmount"

    def __init__(
        self,
        executor: Executor,
        key: OperationKey,
        volume: MountedVolume,
        plugin: VolumePlugin | None,
    ) -> None:
        super().__init__(executor, key)
        self.volume = volume
        self._plugin = plugin

    def _run(self) -> None:
        if self._plugin is None:
            self._fail("UnmountVolume.FindPluginByName failed", NO_PLUGIN_MATCHED)
        elif self.volume.spec.is_block:
            path = self._plugin.call("PodDeviceMapPath", self.volume.spec, None)
            if path.error is not None:
                self._fail(
                    "UnmapVolume.UnmapDevice from pod device map path failed", path.error.text
                )
                return
            self._then(
                self._plugin.call("UnmapPodDevice", self.volume.spec, None, self._actual.node_name),
                self._unmapped,
            )
        else:
            self._then(
                self._plugin.call("TearDown", self.volume.spec, None, self._actual.node_name),
                self._torn_down,
            )

    def _unmapped(self, answer: Answer) -> None:
        if answer.error is not None:
            self._fail("UnmapVolume.UnmapPodDevice failed", answer.error.text)
        else:
            self._unmounted()

    def _torn_down(self, answer: Answer) -> None:
        if answer.error is not None:
            self._fail("UnmountVolume.TearDown failed", answer.error.text)
        else:
            self._unmounted()

    def _unmounted(self) -> None:
        # An error here cannot be acted upon: upstream logs it.
        self._actual.mark_volume_as_unmounted(self.volume.pod_name, self.volume.volume_name)
        self._end()

    def _fail(self, prefix: str, problem: str) -> None:
        self._end(messages.mounted(self.volume, prefix, error_suffix(problem)))


class UnmountDevice(VolumeOperation):
    """Unmounts a device from the node. GenerateUnmountDeviceFunc, GenerateUnmapDeviceFunc."""

    name = "unmount_device"

    def __init__(
        self,
        executor: Executor,
        key: OperationKey,
        volume: AttachedVolume,
        plugin: VolumePlugin | None,
    ) -> None:
        super().__init__(executor, key)
        self.volume = volume
        self._plugin = plugin

    def _run(self) -> None:
        plugin, spec = self._plugin, self.volume.spec
        if plugin is None:
            prefix = "UnmountDevice.FindDeviceMountablePluginByName failed"
            self._fail(prefix, NO_PLUGIN_MATCHED)
        elif spec.is_block:
            self._then(
                plugin.call("TearDownDevice", spec, None, self._actual.node_name), self._torn_down
            )
        else:
            path = plugin.call("GetDeviceMountPath", spec, None)
            if path.error is not None:
                self._fail("UnmountDevice.GetDeviceMountPath failed", path.error.text)
                return
            self._then(
                plugin.call("UnmountDevice", spec, None, self._actual.node_name), self._unmounted
            )

    def _torn_down(self, answer: Answer) -> None:
        if answer.error is not None:
            self._fail("UnmapDevice.TearDownDevice failed", answer.error.text)
        else:
            self._mark()

    def _unmounted(self, answer: Answer) -> None:
        if answer.error is not None:
            self._fail("UnmountDevice failed", answer.error.text)
        else:
            self._mark()

    def _mark(self) -> None:
        problem = self._actual.mark_device_as_unmounted(self.volume.name)
        self._finish("UnmountDevice.MarkDeviceAsUnmounted failed", problem)

    def _fail(self, prefix: str, problem: str) -> None:
        node = self._actual.node_name
        suffix = error_suffix(problem)
        self._end(messages.attached(self.volume, node, prefix, suffix))


class DetachVolume(VolumeOperation):
    """Detaches a volume, where kubelets do that themselves. GenerateDetachVolumeFunc."""

    name = "volume_detach"

    def __init__(self, executor: Executor, key: OperationKey, volume: AttachedVolume) -> None:
        super().__init__(executor, key)
        self.volume = volume

    def _run(self) -> None:
        plugin = self._executor.plugins.find_by_spec(self.volume.spec)
        if plugin is None:
            self._fail("DetachVolume.FindAttachablePluginBySpec failed", NO_PLUGIN_MATCHED)
            return
        self._then(
            plugin.call("Detach", self.volume.spec, None, self._actual.node_name), self._detached
        )

    def _detached(self, answer: Answer) -> None:
        if answer.error is not None:
            self._fail("DetachVolume.Detach failed", answer.error.text)
            return
        self._actual.mark_volume_as_detached(self.volume.name)
        self._end()

    def _fail(self, prefix: str, problem: str) -> None:
        node = self._actual.node_name
        suffix = error_suffix(problem)
        self._end(messages.attached(self.volume, node, prefix, suffix))
