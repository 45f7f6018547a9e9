"""The actual state of world: which volumes are attached to a node, and mounted for which pods.

    device:  DeviceNotMounted ──▶ DeviceMountUncertain ──▶ DeviceGloballyMounted ──▶ DeviceNotMounted
    pod:     (absent) ──▶ VolumeMountUncertain ──▶ VolumeMounted ──▶ (absent)

A mount is uncertain if its driver gave no final answer. Uncertain mounts are tried again while a pod
needs them, and unmounted otherwise.
Upstream: pkg/kubelet/volumemanager/cache/actual_state_of_world.go.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from engine.storage.plugins.spec import VolumePlugins, VolumeSpec, unique_volume_name


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


_CERTAIN: Final = (VolumeMountState.MOUNTED,)
_POSSIBLE: Final = (VolumeMountState.MOUNTED, VolumeMountState.UNCERTAIN)


@dataclass(slots=True)
class MountedPod:
    """A pod for which a volume is, or may be, mounted."""

    pod_name: str
    pod_uid: str
    spec: VolumeSpec
    outer_name: str
    gid: str
    state: VolumeMountState
    # Found on disk after a restart, and neither mounted nor unmounted since.
    reconstructed: bool = False
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
    # Volumes come in the order in which they were attached.
    place: int = 0
    device_mount_path: str = ""
    device_mount_state: DeviceMountState = DeviceMountState.NOT_MOUNTED
    device_reconstructed: bool = False
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
    """The arguments of a mark of a pod's mount. Upstream: operationexecutor.MarkVolumeOpts."""

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
    """The volumes that are attached and mounted on a node. A mark returns None, or an error's text.

    `changed` collects the names of the marked volumes until the view reads and clears them.
    """

    __slots__ = (
        "_added",
        "_expand_in_use",
        "_plugins",
        "_pods",
        "_volumes",
        "changed",
        "node_name",
    )

    def __init__(
        self, node_name: str, plugins: VolumePlugins, *, expand_in_use: bool = True
    ) -> None:
        self.node_name = node_name
        self._plugins = plugins
        self._expand_in_use = expand_in_use
        self._volumes: dict[str, AttachedVolume] = {}
        self._pods: dict[str, dict[str, AttachedVolume]] = {}
        self._added = 0
        self.changed: dict[str, None] = {}

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
        self.changed[name] = None
        if known is None:
            self._added += 1
            self._volumes[name] = AttachedVolume(
                name, spec, plugin.name, plugin.is_attachable(spec), device_path, self._added
            )
        else:
            # If the volume is known, only its path may be new.
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
        self.changed[name] = None
        return None

    def mark_volume_as_mounted(self, opts: MarkVolumeOpts) -> str | None:
        """Note the state of the pod's mount. A required remount is done now."""
        volume = self._volumes.get(opts.volume_name)
        if volume is None:
            return _not_in_list(opts.volume_name)
        self.changed[volume.name] = None
        pod = volume.pods.get(opts.pod_name)
        if pod is None:
            volume.pods[opts.pod_name] = MountedPod(
                opts.pod_name, opts.pod_uid, opts.spec, opts.outer_name, opts.gid, opts.state
            )
            self._pods.setdefault(opts.pod_name, {})[volume.name] = volume
        else:
            pod.remount_required = False
            pod.state = opts.state
            if opts.state is VolumeMountState.MOUNTED and pod.reconstructed:
                pod.reconstructed = False
                pod.outer_name = opts.outer_name
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
        self.changed[name] = None
        if volume.pods.pop(pod_name, None) is not None:
            held = self._pods[pod_name]
            del held[name]
            if not held:
                del self._pods[pod_name]
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
        """Require a remount of those volumes of the pod whose plugin requires it."""
        for volume in self._pods.get(pod_name, {}).values():
            pod = volume.pods[pod_name]
            plugin = self._plugins.find_by_spec(pod.spec)
            if plugin is not None and plugin.requires_remount:
                pod.remount_required = True

    def mark_fs_resize_required(self, name: str, pod_name: str) -> None:
        """Require a resize of the volume's file system, if its plugin supports it."""
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

    def is_volume_reconstructed(self, name: str, pod_name: str) -> bool:
        """Whether the pod's mount was found on disk, and neither mounted nor unmounted since."""
        volume = self._volumes.get(name)
        pod = volume.pods.get(pod_name) if volume else None
        return pod is not None and pod.reconstructed

    def is_volume_device_reconstructed(self, name: str) -> bool:
        """Whether the device's mount was found on disk, and not confirmed since."""
        volume = self._volumes.get(name)
        return volume is not None and volume.device_reconstructed

    def pod_exists_in_volume(self, pod_name: str, name: str) -> PodInVolume:
        """Whether the volume is mounted for the pod, and what is left to do."""
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

    def is_done(self, pod_name: str, name: str) -> bool:
        """Whether the volume is mounted for the pod and nothing is left to do."""
        volume = self._volumes.get(name)
        pod = volume.pods.get(pod_name) if volume is not None else None
        return (
            pod is not None
            and pod.state is not VolumeMountState.UNCERTAIN
            and not (pod.remount_required or pod.fs_resize_required)
        )

    def volume_exists(self, name: str) -> bool:
        """Whether the volume is attached."""
        return name in self._volumes

    def volume(self, name: str) -> AttachedVolume | None:
        """The attached volume, or None."""
        return self._volumes.get(name)

    def get_device_mount_state(self, name: str) -> DeviceMountState:
        """The state of the volume's device; not mounted when the volume is unknown."""
        volume = self._volumes.get(name)
        return volume.device_mount_state if volume else DeviceMountState.NOT_MOUNTED

    def get_volume_mount_state(self, name: str, pod_name: str) -> VolumeMountState:
        """The state of the pod's mount."""
        volume = self._volumes.get(name)
        pod = volume.pods.get(pod_name) if volume else None
        return pod.state if pod else VolumeMountState.NOT_MOUNTED

    def get_mounted_volumes_for_pod(self, pod_name: str) -> list[MountedVolume]:
        """The pod's volumes that are mounted for certain."""
        return self._mounted_for_pod(pod_name, _CERTAIN)

    def get_possibly_mounted_volumes_for_pod(self, pod_name: str) -> list[MountedVolume]:
        """The pod's volumes that are mounted, or may be."""
        return self._mounted_for_pod(pod_name, _POSSIBLE)

    def volumes_of_pod(self, pod_name: str) -> list[str]:
        """Names of the volumes that are mounted for the pod, or may be; in no certain order."""
        return [*self._pods.get(pod_name, ())]

    def is_mounted_for_pod(self, pod_name: str, outer_names: list[str]) -> bool:
        """Whether the pod's volumes of these names in its spec are all mounted for certain."""
        volumes = self._pods.get(pod_name, {})
        if len(volumes) < len(outer_names):
            return False
        certain = VolumeMountState.MOUNTED
        pods = [volume.pods[pod_name] for volume in volumes.values()]
        mounted = {pod.outer_name: None for pod in pods if pod.state is certain}
        return all(name in mounted for name in outer_names)

    def unwanted_mounts(self, is_wanted: Callable[[str, str], bool]) -> list[MountedVolume]:
        """Pairs that are mounted, or may be, and for which *is_wanted* (pod, volume) is False."""
        return [
            mounted_volume(volume, pod)
            for volume in self._volumes.values()
            for pod in volume.pods.values()
            if pod.state in _POSSIBLE and not is_wanted(pod.pod_name, volume.name)
        ]

    def get_attached_volumes(self) -> list[AttachedVolume]:
        """Every attached volume."""
        return [*self._volumes.values()]

    def get_unmounted_volumes(self) -> list[AttachedVolume]:
        """Attached volumes that are not mounted for any pod, not even uncertainly."""
        return [volume for volume in self._volumes.values() if not volume.pods]

    # Helpers

    def _mounted_for_pod(
        self, pod_name: str, states: tuple[VolumeMountState, ...]
    ) -> list[MountedVolume]:
        volumes = sorted(self._pods.get(pod_name, {}).values(), key=_place_of)
        return [
            mounted_volume(volume, pod)
            for volume in volumes
            if (pod := volume.pods[pod_name]).state in states
        ]

    def _set_device_mount_state(
        self, name: str, state: DeviceMountState, device_path: str, device_mount_path: str
    ) -> str | None:
        volume = self._volumes.get(name)
        if volume is None:
            return _not_in_list(name)
        self.changed[name] = None
        volume.device_mount_state = state
        if state is not DeviceMountState.UNCERTAIN:
            volume.device_reconstructed = False
        volume.device_mount_path = device_mount_path
        if device_path:
            volume.device_path = device_path
        return None


def _place_of(volume: AttachedVolume) -> int:
    return volume.place


def mounted_volume(volume: AttachedVolume, pod: MountedPod) -> MountedVolume:
    """The pair as operations receive it."""
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
