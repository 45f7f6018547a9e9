"""The operation executor: attach, mount, unmount, expand and detach, in steps on the loop.

Every operation makes its calls into the driver in upstream's order, waits for each answer, and marks
the actual state as soon as something is known.
Upstream: pkg/volume/util/operationexecutor/operation_generator.go.
"""

from collections.abc import Callable
from typing import Final, Protocol

from kscope.sim.kernel.loop import EventLoop
from kscope.sim.objects.objects import ApiObject, Manifest
from volumes.engine.kubelet.actual_state import (
    ActualStateOfWorld,
    AttachedVolume,
    DeviceMountState,
    MarkVolumeOpts,
    MountedVolume,
    VolumeMountState,
)
from volumes.engine.kubelet.desired_state import VolumeToMount
from volumes.engine.kubelet.operations import messages
from volumes.engine.kubelet.operations.pending import (
    NestedPendingOperations,
    OperationKey,
    Start,
)
from volumes.engine.kubelet.populator import requires_fs_resize
from volumes.engine.kubelet.spec import (
    NO_PLUGIN_MATCHED,
    Answer,
    ErrorKind,
    VolumeError,
    VolumePlugin,
    VolumePlugins,
)

FAILED_MOUNT: Final = "FailedMount"
FAILED_ATTACH: Final = "FailedAttachVolume"
ATTACHED: Final = "SuccessfulAttachVolume"
RESIZED: Final = "FileSystemResizeSuccessful"
RESIZE_FAILED: Final = "FileSystemResizeFailed"
NO_BLOCK_PLUGIN: Final = "failed to find BlockVolumeMapper plugin. Volume plugin is nil."


class NodeApi(Protocol):
    """What operations read from, and write to, the API server."""

    def volumes_attached(self) -> list[Manifest] | None:
        """status.volumesAttached of the node as the API server has it; None without the node."""
        ...

    def claim_of(self, volume: Manifest) -> Manifest | None:
        """The claim that the PersistentVolume is bound to."""
        ...

    def mark_fs_resize_finished(self, claim: Manifest, capacity: str) -> str | None:
        """Write the new capacity to the claim's status; the error's text if that fails."""
        ...


class Observer(Protocol):
    """Who wants to know how operations go."""

    def operation_started(self, operation: "VolumeOperation") -> None:
        """An operation took its first step."""
        ...

    def operation_waits(self, operation: "VolumeOperation") -> None:
        """An operation has done a part of its work, and waits for its driver now."""
        ...

    def operation_finished(self, operation: "VolumeOperation", error: str | None) -> None:
        """An operation ended; after an error it backs off."""
        ...

    def warn(self, pod: ApiObject | None, type: str, reason: str, message: str) -> None:
        """An operation has an Event to emit on a pod."""
        ...


class VolumeOperation:
    """One run of an operation. Subclasses begin in `begin` and end in `_end`."""

    name = ""

    def __init__(self, executor: "OperationExecutor", key: OperationKey) -> None:
        self._executor = executor
        self.key = key

    @property
    def pod_name(self) -> str:
        """The pod it is for, or ""."""
        return self.key.pod_name

    def begin(self) -> None:
        """Take the first step."""
        if self._executor.abandoned:
            return
        self._executor.observer.operation_started(self)
        self._run()

    def _run(self) -> None:
        raise NotImplementedError

    def _then(self, answer: Answer, step: Callable[[Answer], None]) -> None:
        """Go on with *step* when the driver has answered."""
        if answer.latency:
            self._executor.observer.operation_waits(self)
            self._executor.loop.call_after(answer.latency, self._resume, step, answer)
        else:
            step(answer)

    def _resume(self, step: Callable[[Answer], None], answer: Answer) -> None:
        if not self._executor.abandoned:
            step(answer)

    def _end(self, error: str | None = None) -> None:
        self._executor.complete(self, error)

    def _finish(self, prefix: str, problem: str | None) -> None:
        """End well if there is no *problem*."""
        if problem is None:
            self._end()
        else:
            self._fail(prefix, problem)

    def _fail(self, prefix: str, problem: str) -> None:
        raise NotImplementedError

    @property
    def _actual(self) -> ActualStateOfWorld:
        return self._executor.actual


# Towards a mount


class _PodVolumeOperation(VolumeOperation):
    """An operation for a (volume, pod) pair that should be mounted."""

    def __init__(
        self, executor: "OperationExecutor", key: OperationKey, volume: VolumeToMount
    ) -> None:
        super().__init__(executor, key)
        self.volume = volume

    @property
    def pod_name(self) -> str:
        return self.volume.pod_name

    def _fail(self, prefix: str, problem: str) -> None:
        suffix = messages.error_suffix(problem)
        event = messages.simple(prefix, self.volume.spec.name, suffix)
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
            # What was found on disk stays there, even if it cannot be mounted again.
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
        text = messages.simple(prefix, self.volume.spec.name, suffix)
        self._executor.observer.warn(self.volume.pod, type, reason, text)


class _Expanded:
    """The rest of an expansion, as a picklable callable."""

    __slots__ = ("_answer", "_claim", "_operation", "_then")

    def __init__(
        self,
        operation: _PodVolumeOperation,
        answer: Answer,
        claim: Manifest,
        then: Callable[[Answer], None],
    ) -> None:
        self._operation, self._answer, self._claim, self._then = operation, answer, claim, then

    def __call__(self, _: Answer) -> None:
        self._operation.expanded(self._answer, self._claim, self._then)


class VerifyControllerAttachedVolume(_PodVolumeOperation):
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


class AttachVolume(_PodVolumeOperation):
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
        suffix = messages.error_suffix(problem)
        event = messages.simple(prefix, self.volume.spec.name, suffix)
        self._executor.observer.warn(self.volume.pod, "Warning", FAILED_ATTACH, event)
        name = self.volume.volume_name
        node = self._actual.node_name
        self._end(
            f'{prefix} for volume "{self.volume.spec.name}" (UniqueName: "{name}") '
            f'from node "{node}" {suffix}'
        )


class MountVolume(_PodVolumeOperation):
    """Mounts a file system: the device once per node, then for the pod. GenerateMountVolumeFunc."""

    name = "volume_mount"

    def __init__(
        self, executor: "OperationExecutor", key: OperationKey, volume: VolumeToMount
    ) -> None:
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
        if plugin.is_attachable(spec):
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
        self._then(self._plugin.call("SetUp", self.volume.spec, self.volume.pod), self._is_set_up)

    def _is_set_up(self, answer: Answer) -> None:
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


class MapVolume(_PodVolumeOperation):
    """Maps a block device: on the node, then into the pod. GenerateMapVolumeFunc."""

    name = "map_volume"

    def __init__(
        self,
        executor: "OperationExecutor",
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


class ExpandInUseVolume(_PodVolumeOperation):
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


# Away from a mount


class UnmountVolume(VolumeOperation):
    """Unmounts a volume from a pod. GenerateUnmountVolumeFunc, GenerateUnmapVolumeFunc."""

    name = "volume_unmount"

    def __init__(
        self,
        executor: "OperationExecutor",
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
        self._end(messages.mounted(self.volume, prefix, messages.error_suffix(problem)))


class UnmountDevice(VolumeOperation):
    """Unmounts a device from the node. GenerateUnmountDeviceFunc, GenerateUnmapDeviceFunc."""

    name = "unmount_device"

    def __init__(
        self,
        executor: "OperationExecutor",
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
        suffix = messages.error_suffix(problem)
        self._end(messages.attached(self.volume, node, prefix, suffix))


class DetachVolume(VolumeOperation):
    """Detaches a volume, where kubelets do that themselves. GenerateDetachVolumeFunc."""

    name = "volume_detach"

    def __init__(
        self, executor: "OperationExecutor", key: OperationKey, volume: AttachedVolume
    ) -> None:
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
        suffix = messages.error_suffix(problem)
        self._end(messages.attached(self.volume, node, prefix, suffix))


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
            return messages.to_mount(volume, prefix, messages.error_suffix(NO_PLUGIN_MATCHED))
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
                suffix = messages.error_suffix(_unknown(volume.plugin_name))
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
                suffix = messages.error_suffix(_unknown(volume.plugin_name))
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
