"""The actual state of world: which volumes are attached to a node, and mounted for which pods.

    device:  DeviceNotMounted ──▶ DeviceMountUncertain ──▶ DeviceGloballyMounted ──▶ DeviceNotMounted
    pod:     (absent) ──▶ VolumeMountUncertain ──▶ VolumeMounted ──▶ (absent)

A mount is uncertain when its driver gave no final answer. Uncertain mounts are tried again while they
are wanted, and undone when they are not.
Upstream: pkg/kubelet/volumemanager/cache/actual_state_of_world.go.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from volumes.engine.kubelet.spec import VolumePlugins, VolumeSpec, unique_volume_name


class DeviceMountState(Enum):
    """Upstream: operationexecutor.DeviceMountState."""

    NOT_MOUNTED = "DeviceNotMounted"
    UNCERTAIN = "DeviceMountUncertain"
    GLOBALLY_MOUNTED = "DeviceGloballyMounted"


class VolumeMountState(Enum):
    """Upstream: operationexecutor.VolumeMountState."""

    UNSET = ""
    MOUNTED = "VolumeMounted"
    UNCERTAIN = "VolumeMountUncertain"
    NOT_MOUNTED = "VolumeNotMounted"


@dataclass(slots=True)
class MountedPod:
    """A pod for which a volume is, or may be, mounted."""

    pod_name: str
    pod_uid: str
    spec: VolumeSpec
    outer_name: str
    gid: str
    state: VolumeMountState
    remount_required: bool = False
    fs_resize_required: bool = False


@dataclass(slots=True)
class AttachedVolume:
    """A volume that is attached, or needs no attaching."""

    name: str
    spec: VolumeSpec
    plugin_name: str
    is_attachable: bool
    device_path: str
    device_mount_path: str = ""
    device_mount_state: DeviceMountState = DeviceMountState.NOT_MOUNTED
    in_use_error_for_expansion: bool = False
    pods: dict[str, MountedPod] = field(default_factory=dict[str, MountedPod])

    @property
    def device_may_be_mounted(self) -> bool:
        """Whether its device must be unmounted before it can be detached."""
        return self.device_mount_state is not DeviceMountState.NOT_MOUNTED


@dataclass(frozen=True, slots=True)
class MountedVolume:
    """A (volume, pod) pair that is, or may be, mounted. Upstream: operationexecutor.MountedVolume."""

    volume_name: str
    pod_name: str
    pod_uid: str
    inner_name: str
    outer_name: str
    plugin_name: str
    gid: str
    device_mount_path: str
    spec: VolumeSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkVolumeOpts:
    """What there is to say of a pod's mount. Upstream: operationexecutor.MarkVolumeOpts."""

    pod_name: str
    pod_uid: str
    volume_name: str
    spec: VolumeSpec
    outer_name: str
    gid: str = ""
    state: VolumeMountState = VolumeMountState.MOUNTED


class Problem(Enum):
    """Why a volume is not simply mounted for a pod."""

    NOT_ATTACHED = "not attached"
    REMOUNT_REQUIRED = "remount required"
    FS_RESIZE_REQUIRED = "file system resize required"


class PodInVolume(NamedTuple):
    """Whether a pod has a volume mounted, by which device, and what is still to be done."""

    mounted: bool
    device_path: str
    problem: Problem | None = None
    error: str = ""


class ActualStateOfWorld:
    """What is attached and mounted on the node. Marks return None, or the error's text."""

    __slots__ = ("_expand_in_use", "_plugins", "_volumes", "node_name")

    def __init__(
        self, node_name: str, plugins: VolumePlugins, *, expand_in_use: bool = True
    ) -> None:
        self.node_name = node_name
        self._plugins = plugins
        self._expand_in_use = expand_in_use
        self._volumes: dict[str, AttachedVolume] = {}

    # Marks

    def mark_volume_as_attached(
        self, name: str, spec: VolumeSpec, device_path: str = ""
    ) -> str | None:
        """Note that the volume is attached; *name* "" means the name that its plugin gives it."""
        plugin = self._plugins.find_by_spec(spec)
        if plugin is None:
            return f'failed to get Plugin from volumeSpec for volume "{spec.name}" err=no volume plugin matched'
        name = name or unique_volume_name(plugin, spec)
        known = self._volumes.get(name)
        if known is None:
            self._volumes[name] = AttachedVolume(
                name, spec, plugin.name, plugin.is_attachable(spec), device_path
            )
        else:
            # If the volume object already exists, only the path is news.
            known.device_path = device_path
        return None

    def mark_volume_as_detached(self, name: str) -> str | None:
        """Forget the volume, unless it is mounted for a pod."""
        volume = self._volumes.get(name)
        if volume is None:
            return None
        if volume.pods:
            return (
                f'failed to remove volume "{name}", because it is still mounted by '
                f"{len(volume.pods)} pods"
            )
        del self._volumes[name]
        return None

    def mark_volume_as_mounted(self, opts: MarkVolumeOpts) -> str | None:
        """Note the state of the pod's mount; what asked for a remount is satisfied."""
        volume = self._volumes.get(opts.volume_name)
        if volume is None:
            return _not_in_list(opts.volume_name)
        pod = volume.pods.get(opts.pod_name)
        if pod is None:
            volume.pods[opts.pod_name] = MountedPod(
                opts.pod_name, opts.pod_uid, opts.spec, opts.outer_name, opts.gid, opts.state
            )
        else:
            pod.remount_required = False
            pod.state = opts.state
        return None

    def mark_volume_mount_as_uncertain(self, opts: MarkVolumeOpts) -> str | None:
        """Note that the pod's mount may or may not be there."""
        return self.mark_volume_as_mounted(
            MarkVolumeOpts(
                pod_name=opts.pod_name,
                pod_uid=opts.pod_uid,
                volume_name=opts.volume_name,
                spec=opts.spec,
                outer_name=opts.outer_name,
                gid=opts.gid,
                state=VolumeMountState.UNCERTAIN,
            )
        )

    def mark_volume_as_unmounted(self, pod_name: str, name: str) -> str | None:
        """Note that the pod's mount is gone."""
        volume = self._volumes.get(name)
        if volume is None:
            return _not_in_list(name)
        volume.pods.pop(pod_name, None)
        return None

    def mark_device_as_mounted(
        self, name: str, device_path: str, device_mount_path: str
    ) -> str | None:
        """Note that the device is mounted for the whole node."""
        state = DeviceMountState.GLOBALLY_MOUNTED
        return self._set_device_mount_state(name, state, device_path, device_mount_path)

    def mark_device_as_uncertain(
        self, name: str, device_path: str, device_mount_path: str
    ) -> str | None:
        """Note that the device may or may not be mounted."""
        state = DeviceMountState.UNCERTAIN
        return self._set_device_mount_state(name, state, device_path, device_mount_path)

    def mark_device_as_unmounted(self, name: str) -> str | None:
        """Note that the device is not mounted; its path stays known."""
        return self._set_device_mount_state(name, DeviceMountState.NOT_MOUNTED, "", "")

    def mark_remount_required(self, pod_name: str) -> None:
        """Have those volumes of the pod set up again whose plugin requires it."""
        for volume in self._volumes.values():
            pod = volume.pods.get(pod_name)
            if pod is not None:
                plugin = self._plugins.find_by_spec(pod.spec)
                if plugin is not None and plugin.requires_remount:
                    pod.remount_required = True

    def mark_fs_resize_required(self, name: str, pod_name: str) -> None:
        """Have the file system of the mounted volume grown, if its plugin has a part in that."""
        volume = self._volumes.get(name)
        pod = volume.pods.get(pod_name) if volume is not None else None
        if pod is None:
            return
        plugin = self._plugins.find_by_spec(pod.spec)
        if plugin is not None and plugin.is_expandable(pod.spec):
            pod.fs_resize_required = True

    def mark_volume_as_resized(self, pod_name: str, name: str) -> str | None:
        """Note that the file system has its new size."""
        volume = self._volumes.get(name)
        if volume is None:
            return _not_in_list(name)
        if pod_name in volume.pods:
            volume.pods[pod_name].fs_resize_required = False
        return None

    def mark_for_in_use_expansion_error(self, name: str) -> None:
        """Note that the driver will not expand the volume while it is in use."""
        if name in self._volumes:
            self._volumes[name].in_use_error_for_expansion = True

    # Questions

    def pod_exists_in_volume(self, pod_name: str, name: str) -> PodInVolume:
        """Whether the volume is mounted for the pod, and what remains to be done if it is not so."""
        volume = self._volumes.get(name)
        if volume is None:
            error = f'volumeName "{name}" does not exist in the list of attached volumes'
            return PodInVolume(False, "", Problem.NOT_ATTACHED, error)
        pod, path = volume.pods.get(pod_name), volume.device_path
        if pod is None or pod.state is VolumeMountState.UNCERTAIN:
            # An uncertain mount is tried again until it is certain.
            return PodInVolume(False, path)
        if pod.remount_required:
            error = f'volumeName "{name}" is mounted to "{pod_name}" but should be remounted'
            return PodInVolume(True, path, Problem.REMOUNT_REQUIRED, error)
        if pod.fs_resize_required and not volume.in_use_error_for_expansion and self._expand_in_use:
            error = f'volumeName "{name}" mounted to "{pod_name}" needs to resize file system'
            return PodInVolume(True, path, Problem.FS_RESIZE_REQUIRED, error)
        return PodInVolume(True, path)

    def volume_exists(self, name: str) -> bool:
        """Whether the volume is attached."""
        return name in self._volumes

    def volume(self, name: str) -> AttachedVolume | None:
        """The attached volume, or None."""
        return self._volumes.get(name)

    def volume_exists_with_spec_name(self, pod_name: str, spec_name: str) -> bool:
        """Whether a volume of that inner or inline name is mounted for the pod."""
        return any(
            pod_name in volume.pods and volume.pods[pod_name].spec.name == spec_name
            for volume in self._volumes.values()
        )

    def get_device_mount_state(self, name: str) -> DeviceMountState:
        """The state of the volume's device; not mounted when the volume is unknown."""
        volume = self._volumes.get(name)
        return volume.device_mount_state if volume else DeviceMountState.NOT_MOUNTED

    def get_volume_mount_state(self, name: str, pod_name: str) -> VolumeMountState:
        """The state of the pod's mount."""
        volume = self._volumes.get(name)
        pod = volume.pods.get(pod_name) if volume else None
        return pod.state if pod else VolumeMountState.NOT_MOUNTED

    def get_mounted_volumes(self) -> list[MountedVolume]:
        """Pairs that are mounted for certain."""
        return self._mounted((VolumeMountState.MOUNTED,))

    def get_all_mounted_volumes(self) -> list[MountedVolume]:
        """Pairs that are mounted, or may be."""
        return self._mounted((VolumeMountState.MOUNTED, VolumeMountState.UNCERTAIN))

    def get_mounted_volumes_for_pod(self, pod_name: str) -> list[MountedVolume]:
        """The pod's volumes that are mounted for certain."""
        return [m for m in self.get_mounted_volumes() if m.pod_name == pod_name]

    def get_possibly_mounted_volumes_for_pod(self, pod_name: str) -> list[MountedVolume]:
        """The pod's volumes that are mounted, or may be."""
        return [m for m in self.get_all_mounted_volumes() if m.pod_name == pod_name]

    def get_attached_volumes(self) -> list[AttachedVolume]:
        """Every attached volume."""
        return [*self._volumes.values()]

    def get_unmounted_volumes(self) -> list[AttachedVolume]:
        """Attached volumes that no pod has mounted, not even uncertainly."""
        return [volume for volume in self._volumes.values() if not volume.pods]

    def get_globally_mounted_volumes(self) -> list[AttachedVolume]:
        """Attached volumes whose device is mounted for certain."""
        mounted = DeviceMountState.GLOBALLY_MOUNTED
        return [v for v in self._volumes.values() if v.device_mount_state is mounted]

    # Inside

    def _mounted(self, states: tuple[VolumeMountState, ...]) -> list[MountedVolume]:
        return [
            mounted_volume(volume, pod)
            for volume in self._volumes.values()
            for pod in volume.pods.values()
            if pod.state in states
        ]

    def _set_device_mount_state(
        self, name: str, state: DeviceMountState, device_path: str, device_mount_path: str
    ) -> str | None:
        volume = self._volumes.get(name)
        if volume is None:
            return _not_in_list(name)
        volume.device_mount_state = state
        volume.device_mount_path = device_mount_path
        if device_path:
            volume.device_path = device_path
        return None


def mounted_volume(volume: AttachedVolume, pod: MountedPod) -> MountedVolume:
    """The pair as operations take it."""
    return MountedVolume(
        volume_name=volume.name,
        pod_name=pod.pod_name,
        pod_uid=pod.pod_uid,
        inner_name=pod.spec.name,
        outer_name=pod.outer_name,
        plugin_name=volume.plugin_name,
        gid=pod.gid,
        device_mount_path=volume.device_mount_path,
        spec=pod.spec,
    )


def _not_in_list(name: str) -> str:
    return f'no volume with the name "{name}" exists in the list of attached volumes'
