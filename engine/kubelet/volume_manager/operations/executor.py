"""The operation executor of a kubelet: starts operations on volumes that are free for one.

Upstream: pkg/volume/util/operationexecutor/operation_executor.go.
"""

from typing import Final

from engine.kernel.loop import EventLoop
from engine.kubelet.volume_manager.actual_state import (
    ActualStateOfWorld,
    AttachedVolume,
    MountedVolume,
)
from engine.kubelet.volume_manager.desired_state import VolumeToMount
from engine.kubelet.volume_manager.operations import messages
from engine.kubelet.volume_manager.operations.base import NodeApi, Observer, VolumeOperation
from engine.kubelet.volume_manager.operations.mount import (
    AttachVolume,
    ExpandInUseVolume,
    MapVolume,
    MountVolume,
    VerifyControllerAttachedVolume,
)
from engine.kubelet.volume_manager.operations.unmount import (
    DetachVolume,
    UnmountDevice,
    UnmountVolume,
)
from engine.storage.operations.backoff import Start
from engine.storage.operations.messages import error_suffix
from engine.storage.operations.pending import NestedPendingOperations, OperationKey
from engine.storage.plugins.spec import NO_PLUGIN_MATCHED, VolumePlugins

NO_BLOCK_PLUGIN: Final = "failed to find BlockVolumeMapper plugin. Volume plugin is nil."


class OperationExecutor:
    """Starts operations; the requests return how that went, or an error before any start.

    `abandoned` is set when the kubelet dies: what it began takes no further step.
    """

    def __init__(
        self,
        loop: EventLoop,
        plugins: VolumePlugins,
        api: NodeApi,
        actual: ActualStateOfWorld,
        observer: Observer,
    ) -> None:
        self.loop = loop
        self.plugins = plugins
        self.api = api
        self.actual = actual
        self.observer = observer
        self.pending = NestedPendingOperations(loop)
        self.abandoned = False

    def attach_volume(self, volume: VolumeToMount) -> Start | str:
        """Upstream: AttachVolume."""
        return self.pending.run(AttachVolume(self, OperationKey(volume.volume_name), volume))

    def verify_controller_attached_volume(self, volume: VolumeToMount) -> Start | str:
        """Upstream: VerifyControllerAttachedVolume."""
        key = OperationKey(volume.volume_name)
        return self.pending.run(VerifyControllerAttachedVolume(self, key, volume))

    def mount_volume(self, volume: VolumeToMount) -> Start | str:
        """Upstream: MountVolume. Pods mount in parallel what has no device in common."""
        shared = volume.is_attachable or volume.is_device_mountable
        key = OperationKey(volume.volume_name, "" if shared else volume.pod_name)
        if not volume.spec.is_block:
            return self.pending.run(MountVolume(self, key, volume))
        plugin = self.plugins.find_by_spec(volume.spec)
        prefix = "MapVolume.FindMapperPluginBySpec failed"
        if plugin is None:
            return messages.to_mount(volume, prefix, error_suffix(NO_PLUGIN_MATCHED))
        if not plugin.is_block_capable(volume.spec):
            prefix = f"MapVolume.FindMapperPluginBySpec {NO_BLOCK_PLUGIN}"
            return messages.to_mount(volume, prefix, "")
        return self.pending.run(MapVolume(self, key, volume, plugin))

    def expand_in_use_volume(self, volume: VolumeToMount) -> Start | str:
        """Upstream: ExpandInUseVolume."""
        return self.pending.run(ExpandInUseVolume(self, OperationKey(volume.volume_name), volume))

    def unmount_volume(self, volume: MountedVolume) -> Start | str:
        """Upstream: UnmountVolume."""
        plugin = self.plugins.find_by_name(volume.plugin_name)
        if volume.spec.is_block:
            prefix = "UnmapVolume.FindMapperPluginByName"
            if plugin is None:
                suffix = error_suffix(_unknown(volume.plugin_name))
                return messages.mounted(volume, f"{prefix} failed", suffix)
            if not plugin.is_block_capable(volume.spec):
                return messages.mounted(volume, f"{prefix} {NO_BLOCK_PLUGIN}", "")
        key = OperationKey(volume.volume_name, volume.pod_uid)
        return self.pending.run(UnmountVolume(self, key, volume, plugin))

    def unmount_device(self, volume: AttachedVolume) -> Start | str:
        """Upstream: UnmountDevice."""
        plugin = self.plugins.find_by_name(volume.plugin_name)
        if volume.spec.is_block:
            prefix, node = "UnmapDevice.FindMapperPluginByName", self.actual.node_name
            if plugin is None:
                suffix = error_suffix(_unknown(volume.plugin_name))
                return messages.attached(volume, node, f"{prefix} failed", suffix)
            if not plugin.is_block_capable(volume.spec):
                return messages.attached(volume, node, f"{prefix} {NO_BLOCK_PLUGIN}", "")
        return self.pending.run(UnmountDevice(self, OperationKey(volume.name), volume, plugin))

    def detach_volume(self, volume: AttachedVolume) -> Start | str:
        """Upstream: DetachVolume."""
        return self.pending.run(DetachVolume(self, OperationKey(volume.name), volume))

    def is_operation_pending(self, volume_name: str) -> bool:
        """Whether anything runs on the volume, for whichever pod."""
        return self.pending.is_operation_pending(OperationKey(volume_name))

    def complete(self, operation: VolumeOperation, error: str | None) -> None:
        """An operation of this executor has ended."""
        self.pending.complete(operation, error)
        self.observer.operation_finished(operation, error)


def _unknown(plugin: str) -> str:
    return f"{NO_PLUGIN_MATCHED} name: {plugin}"
