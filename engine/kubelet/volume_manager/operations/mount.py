"""Attach, mount, map and expand: the operations that give a pod its volume.

Upstream: pkg/volume/util/operationexecutor/operation_generator.go.
"""

from engine.kubelet.volume_manager.actual_state import DeviceMountState
from engine.kubelet.volume_manager.desired_state import VolumeToMount
from engine.kubelet.volume_manager.operations import messages
from engine.kubelet.volume_manager.operations.base import Executor
from engine.kubelet.volume_manager.operations.pod_volume import PodVolumeOperation
from engine.storage.operations.messages import ATTACHED, FAILED_ATTACH, error_suffix, simple
from engine.storage.operations.pending import OperationKey
from engine.storage.plugins.spec import NO_PLUGIN_MATCHED, Answer, VolumePlugin


class VerifyControllerAttachedVolume(PodVolumeOperation):
    """Looks in the node's status whether the controller has attached the volume."""

    name = "verify_controller_attached_volume"

    def _run(self) -> None:
        volume = self.volume
        if not volume.is_attachable:
            # What needs no attaching counts as attached.
            self._finish(
                "VerifyControllerAttachedVolume.MarkVolumeAsAttachedByUniqueVolumeName failed",
                self._actual.mark_volume_as_attached(volume.volume_name, volume.spec),
            )
            return
        if not volume.reported_in_use:
            # The next node status will say so; the caller tries again.
            self._end(
                messages.to_mount(
                    volume,
                    "Volume has not been added to the list of VolumesInUse in the node's volume "
                    "status",
                    "",
                )
            )
            return
        attached = self._executor.api.volumes_attached()
        if attached is None:
            prefix = "VerifyControllerAttachedVolume failed fetching node from API server"
            self._end(messages.to_mount(volume, prefix, ""))
            return
        for found in attached:
            if found["name"] == volume.volume_name:
                self._finish(
                    "VerifyControllerAttachedVolume.MarkVolumeAsAttached failed",
                    self._actual.mark_volume_as_attached(
                        "", volume.spec, found.get("devicePath", "")
                    ),
                )
                return
        self._end(messages.to_mount(volume, "Volume not attached according to node status", ""))


class AttachVolume(PodVolumeOperation):
    """Attaches the volume, where kubelets do that themselves."""

    name = "volume_attach"

    def _run(self) -> None:
        plugin = self._executor.plugins.find_by_spec(self.volume.spec)
        if plugin is None:
            self._fail("AttachVolume.FindAttachablePluginBySpec failed", NO_PLUGIN_MATCHED)
            return
        self._then(plugin.call("Attach", self.volume.spec, self.volume.pod), self._attached)

    def _attached(self, answer: Answer) -> None:
        if answer.error is not None:
            self._fail("AttachVolume.Attach failed", answer.error.text)
            return
        self._emit("Normal", ATTACHED, "AttachVolume.Attach succeeded", "")
        self._finish(
            "AttachVolume.MarkVolumeAsAttached failed",
            self._actual.mark_volume_as_attached("", self.volume.spec, answer.value),
        )

    def _fail(self, prefix: str, problem: str) -> None:
        suffix = error_suffix(problem)
        event = simple(prefix, self.volume.spec.name, suffix)
        self._executor.observer.warn(self.volume.pod, "Warning", FAILED_ATTACH, event)
        name = self.volume.volume_name
        node = self._actual.node_name
        self._end(
            f'{prefix} for volume "{self.volume.spec.name}" (UniqueName: "{name}") '
            f'from node "{node}" {suffix}'
        )


class MountVolume(PodVolumeOperation):
    """Mounts a file system: the device once per node, then for the pod. GenerateMountVolumeFunc."""

    name = "volume_mount"

    def __init__(self, executor: Executor, key: OperationKey, volume: VolumeToMount) -> None:
        super().__init__(executor, key, volume)
        self._device_path = volume.device_path
        self._device_mount_path = ""
        self._resize_done = False

    def _run(self) -> None:
        spec = self.volume.spec
        plugin = self._executor.plugins.find_by_spec(spec)
        if plugin is None:
            self._fail("MountVolume.FindPluginBySpec failed", NO_PLUGIN_MATCHED)
            return
        self._plugin = plugin
        affinity = plugin.call("CheckNodeAffinity", spec, self.volume.pod)
        if affinity.error is not None:
            self._fail("MountVolume.NodeAffinity check failed", affinity.error.text)
        elif plugin.is_attachable(spec):
            self._then(plugin.call("WaitForAttach", spec, self.volume.pod), self._waited)
        else:
            self._mount_device()

    def _waited(self, answer: Answer) -> None:
        if answer.error is not None:
            self._fail("MountVolume.WaitForAttach failed", answer.error.text)
            return
        self._device_path = answer.value
        self._mount_device()

    def _mount_device(self) -> None:
        spec = self.volume.spec
        mounted = self._device_state is DeviceMountState.GLOBALLY_MOUNTED
        if mounted or not self._plugin.is_device_mountable(spec):
            self._set_up()
            return
        path = self._plugin.call("GetDeviceMountPath", spec, self.volume.pod)
        if path.error is not None:
            self._fail("MountVolume.GetDeviceMountPath failed", path.error.text)
            return
        self._device_mount_path = path.value
        self._then(self._plugin.call("MountDevice", spec, self.volume.pod), self._device_mounted)

    def _device_mounted(self, answer: Answer) -> None:
        if answer.error is not None:
            self._mark_device_error_state(answer.error, self._device_path, self._device_mount_path)
            self._fail("MountVolume.MountDevice failed", answer.error.text)
            return
        problem = self._actual.mark_device_as_mounted(
            self.volume.volume_name, self._device_path, self._device_mount_path
        )
        if problem is not None:
            self._fail("MountVolume.MarkDeviceAsMounted failed", problem)
            return
        self._expand(self._plugin, self._device_expanded)

    def _device_expanded(self, answer: Answer) -> None:
        if answer.error is not None:
            self._actual.mark_device_as_uncertain(
                self.volume.volume_name, self._device_path, self._device_mount_path
            )
            self._fail("MountVolume.MountDevice failed while expanding volume", answer.error.text)
            return
        self._resize_done = answer.done
        self._set_up()

    def _set_up(self) -> None:
        self._then(self._plugin.call("SetUp", self.volume.spec, self.volume.pod), self._set_up_done)

    def _set_up_done(self, answer: Answer) -> None:
        if answer.error is not None:
            self._mark_volume_error_state(answer.error)
            self._fail("MountVolume.SetUp failed", answer.error.text)
        elif self._resize_done:
            self._mounted(Answer())
        else:
            # Not done yet: the device was mounted before, or the driver wants it published first.
            self._expand(self._plugin, self._mounted)

    def _mounted(self, answer: Answer) -> None:
        if answer.error is not None:
            self._actual.mark_volume_mount_as_uncertain(self._opts())
            self._fail("MountVolume.Setup failed while expanding volume", answer.error.text)
            return
        self._finish(
            "MountVolume.MarkVolumeAsMounted failed",
            self._actual.mark_volume_as_mounted(self._opts()),
        )


class MapVolume(PodVolumeOperation):
    """Maps a block device: on the node, then into the pod. GenerateMapVolumeFunc."""

    name = "map_volume"

    def __init__(
        self,
        executor: Executor,
        key: OperationKey,
        volume: VolumeToMount,
        plugin: VolumePlugin,
    ) -> None:
        super().__init__(executor, key, volume)
        self._plugin = plugin
        self._device_path = ""
        self._global_map_path = ""

    def _call(self, call: str) -> Answer:
        return self._plugin.call(call, self.volume.spec, self.volume.pod)

    def _run(self) -> None:
        affinity = self._call("CheckNodeAffinity")
        if affinity.error is not None:
            self._fail("MapVolume.NodeAffinity check failed", affinity.error.text)
            return
        path = self._call("GlobalMapPath")
        if path.error is not None:
            self._fail("MapVolume.GetGlobalMapPath failed", path.error.text)
            return
        self._global_map_path = path.value
        if self._plugin.is_attachable(self.volume.spec):
            self._then(self._call("WaitForAttach"), self._waited)
        else:
            self._set_up_device()

    def _waited(self, answer: Answer) -> None:
        if answer.error is not None:
            self._fail("MapVolume.WaitForAttach failed", answer.error.text)
            return
        self._device_path = answer.value
        self._set_up_device()

    def _set_up_device(self) -> None:
        # Unlike a file system's device, a block device is set up again for every pod and remount.
        self._then(self._call("SetUpDevice"), self._device_set_up)

    def _device_set_up(self, answer: Answer) -> None:
        if answer.error is not None:
            self._mark_device_error_state(answer.error, self._device_path, self._global_map_path)
            self._fail("MapVolume.SetUpDevice failed", answer.error.text)
        elif self._mark_device():
            self._then(self._call("MapPodDevice"), self._pod_mapped)

    def _mark_device(self) -> bool:
        problem = self._actual.mark_device_as_mounted(
            self.volume.volume_name, self._device_path, self._global_map_path
        )
        if problem is not None:
            self._fail("MapVolume.MarkDeviceAsMounted failed", problem)
        return problem is None

    def _pod_mapped(self, answer: Answer) -> None:
        if answer.error is not None:
            self._mark_volume_error_state(answer.error)
            self._fail("MapVolume.MapPodDevice failed", answer.error.text)
            return
        if answer.value and answer.value != self._device_path:
            # The driver knows better than the attacher where the device is.
            self._device_path = answer.value
            if not self._mark_device():
                return
        if not self._device_path:
            self._actual.mark_volume_mount_as_uncertain(self._opts())
            self._fail("MapVolume failed", "Device path of the volume is empty")
            return
        path = self._call("PodDeviceMapPath")
        if path.error is not None:
            self._actual.mark_volume_mount_as_uncertain(self._opts())
            self._fail("MapVolume.MapBlockVolume failed", path.error.text)
            return
        self._expand(self._plugin, self._mapped)

    def _mapped(self, answer: Answer) -> None:
        if answer.error is not None:
            self._actual.mark_volume_mount_as_uncertain(self._opts())
            prefix = "MapVolume.MarkVolumeAsMounted failed while expanding volume"
            self._fail(prefix, answer.error.text)
            return
        self._finish(
            "MapVolume.MarkVolumeAsMounted failed",
            self._actual.mark_volume_as_mounted(self._opts()),
        )


class ExpandInUseVolume(PodVolumeOperation):
    """Grows the file system of a mounted volume. GenerateExpandInUseVolumeFunc."""

    name = "volume_fs_resize"

    def _run(self) -> None:
        spec = self.volume.spec
        plugin = self._executor.plugins.find_by_spec(spec)
        if plugin is None:
            self._fail("NodeExpandVolume.FindPluginBySpec failed", NO_PLUGIN_MATCHED)
            return
        if not spec.is_block and plugin.is_device_mountable(spec):
            plugin.call("GetDeviceMountPath", spec, self.volume.pod)
        self._expand(plugin, self._grown)

    def _grown(self, answer: Answer) -> None:
        if answer.error is not None:
            self._fail("NodeExpandVolume.NodeExpandVolume failed", answer.error.text)
            return
        self._finish(
            "NodeExpandVolume.MarkVolumeAsResized failed",
            self._actual.mark_volume_as_resized(self.volume.pod_name, self.volume.volume_name),
        )
