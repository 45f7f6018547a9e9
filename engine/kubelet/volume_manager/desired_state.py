"""The desired state of world: which volumes should be mounted on a node, and for which pods.

Upstream: pkg/kubelet/volumemanager/cache/desired_state_of_world.go.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from engine.objects.objects import Manifest, Pod
from engine.objects.values import quantity
from engine.storage.plugins.spec import (
    VolumePlugins,
    VolumeSpec,
    text_at,
    unique_volume_name,
    unique_volume_name_of_pod,
)

# The number of different errors that are kept for a pod.
MAX_POD_ERRORS: Final = 10


class PodToMount(NamedTuple):
    """A pod that needs a volume. `outer_name` is the volume's name in the pod's spec.

    `mount_request_time` is when it was first needed.
    """

    pod_name: str
    pod: Pod
    spec: VolumeSpec
    outer_name: str
    mount_request_time: int = 0


@dataclass(slots=True)
class DesiredVolume:
    """A volume that should be attached and mounted."""

    name: str
    is_attachable: bool
    is_device_mountable: bool
    gid: str
    size_limit: int | None
    reported_in_use: bool = False
    pods: dict[str, PodToMount] = field(default_factory=dict[str, PodToMount])


class VolumeToMount(NamedTuple):
    """One (volume, pod) pair to mount. Upstream: operationexecutor.VolumeToMount."""

    volume_name: str
    pod_name: str
    pod: Pod
    spec: VolumeSpec
    outer_name: str
    is_attachable: bool = False
    is_device_mountable: bool = False
    gid: str = ""
    reported_in_use: bool = False
    size_limit: int | None = None
    device_path: str = ""


class Added(NamedTuple):
    """The result of adding a pod to a volume: the volume's unique name, or the error."""

    volume_name: str = ""
    error: str | None = None


class DesiredStateOfWorld:
    """Volumes and the pods that need them. Lists are in the order of insertion.

    `changed` collects the names of changed volumes until the view reads and clears them.
    """

    __slots__ = ("_plugins", "_pod_errors", "_volumes", "changed")

    def __init__(self, plugins: VolumePlugins) -> None:
        self._plugins = plugins
        self._volumes: dict[str, DesiredVolume] = {}
        self._pod_errors: dict[str, dict[str, None]] = {}
        self.changed: dict[str, None] = {}

    def add_pod_to_volume(
        self,
        pod_name: str,
        pod: Pod,
        spec: VolumeSpec,
        outer_name: str,
        gid: str = "",
        *,
        now: int = 0,
    ) -> Added:
        """Note that the pod needs the volume *spec*. A second call replaces the pod's older version."""
        plugin = self._plugins.find_by_spec(spec)
        if plugin is None:
            return Added(
                error=f"failed to get Plugin from volumeSpec for volume {_quoted(spec.name)} "
                "err=no volume plugin matched"
            )
        attachable, device_mountable = plugin.is_attachable(spec), plugin.is_device_mountable(spec)
        if attachable or device_mountable:
            # One volume, shared by the pods that mount it.
            name = unique_volume_name(plugin, spec)
        else:
            name = unique_volume_name_of_pod(pod_name, plugin, spec)
        volume = self._volumes.get(name)
        if volume is None:
            volume = self._volumes[name] = DesiredVolume(
                name, attachable, device_mountable, gid, _size_limit(pod, spec)
            )
        before = volume.pods.get(pod_name)
        since = now if before is None else before.mount_request_time
        volume.pods[pod_name] = PodToMount(pod_name, pod, spec, outer_name, since)
        self.changed[name] = None
        return Added(name)

    def mark_volumes_reported_in_use(self, names: list[str]) -> None:
        """Set the flag on exactly these volumes and reset it on all others."""
        reported = dict.fromkeys(names)
        for volume in self._volumes.values():
            is_reported = volume.name in reported
            if volume.reported_in_use is not is_reported:
                volume.reported_in_use = is_reported
                self.changed[volume.name] = None

    def mark_volume_attachability(self, name: str, attachable: bool) -> None:
        """Note whether the volume's driver now requires attaching."""
        if name in self._volumes:
            self._volumes[name].is_attachable = attachable
            self.changed[name] = None

    def delete_pod_from_volume(self, pod_name: str, name: str) -> None:
        """Note that the pod no longer needs the volume; without any pod the volume is removed."""
        volume = self._volumes.get(name)
        if volume is None:
            return
        volume.pods.pop(pod_name, None)
        self.changed[name] = None
        if not volume.pods:
            del self._volumes[name]

    def volume_exists(self, name: str) -> bool:
        """Whether any pod needs the volume."""
        return name in self._volumes

    def pod_exists_in_volume(self, pod_name: str, name: str) -> bool:
        """Whether the pod needs the volume."""
        volume = self._volumes.get(name)
        return volume is not None and pod_name in volume.pods

    def volumes(self) -> list[DesiredVolume]:
        """Every desired volume."""
        return [*self._volumes.values()]

    def volume(self, name: str) -> DesiredVolume | None:
        """The desired volume, or None."""
        return self._volumes.get(name)

    def get_volumes_to_mount(self) -> list[VolumeToMount]:
        """Every (volume, pod) pair that should be mounted."""
        return [
            _to_mount(volume, wanted)
            for volume in self._volumes.values()
            for wanted in volume.pods.values()
        ]

    def volumes_left_to_mount(self, is_done: Callable[[str, str], bool]) -> list[VolumeToMount]:
        """The (volume, pod) pairs for which *is_done* (pod, volume) is False."""
        return [
            _to_mount(volume, wanted)
            for volume in self._volumes.values()
            for wanted in volume.pods.values()
            if not is_done(wanted.pod_name, volume.name)
        ]

    def volumes_of_pod(self, pod_name: str) -> list[VolumeToMount]:
        """The volumes that the pod needs and that could be added."""
        return [
            _to_mount(volume, volume.pods[pod_name])
            for volume in self._volumes.values()
            if pod_name in volume.pods
        ]

    # Errors of pods whose volumes could not be added

    def add_error_to_pod(self, pod_name: str, error: str) -> None:
        """Keep an error for the pod, up to ten different ones."""
        errors = self._pod_errors.setdefault(pod_name, {})
        if len(errors) < MAX_POD_ERRORS:
            errors[error] = None

    def pop_pod_errors(self, pod_name: str) -> list[str]:
        """The errors kept for the pod, sorted; they are forgotten."""
        return sorted(self._pod_errors.pop(pod_name, {}))

    def pod_errors(self, pod_name: str) -> list[str]:
        """The errors kept for the pod, sorted."""
        return sorted(self._pod_errors.get(pod_name, {}))

    def get_pods_with_errors(self) -> list[str]:
        """Names of the pods that have errors."""
        return [*self._pod_errors]


def _to_mount(volume: DesiredVolume, wanted: PodToMount) -> VolumeToMount:
    return VolumeToMount(
        volume_name=volume.name,
        pod_name=wanted.pod_name,
        pod=wanted.pod,
        spec=wanted.spec,
        outer_name=wanted.outer_name,
        is_attachable=volume.is_attachable,
        is_device_mountable=volume.is_device_mountable,
        gid=volume.gid,
        reported_in_use=volume.reported_in_use,
        size_limit=volume.size_limit,
    )


def _quoted(text: str) -> str:
    return f'"{text}"'


def _size_limit(pod: Pod, spec: VolumeSpec) -> int | None:
    """Bytes that a volume on the node's own disk may take, 0 for no bound; None for other volumes.

    Upstream: AddPodToVolume takes the pod's ephemeral-storage limit, and the emptyDir's own one if
    that is smaller or the pod has none.
    """
    if spec.volume is None or not _is_local_ephemeral(spec.volume):
        return None
    limit = _ephemeral_storage_limit(pod)
    own = text_at(spec.volume, "emptyDir", "sizeLimit")
    if own is not None:
        bound = quantity.value(own)
        if bound > 0 and (limit == 0 or bound < limit):
            return bound
    return limit


def _is_local_ephemeral(volume: Manifest) -> bool:
    # Upstream: util.IsLocalEphemeralVolume.
    empty_dir = volume.get("emptyDir")
    if empty_dir is not None:
        return not empty_dir.get("medium")
    return "configMap" in volume or "gitRepo" in volume


def _ephemeral_storage_limit(pod: Pod) -> int:
    # Upstream: PodRequestsAndLimits; overhead counts where the pod has a limit.
    total = sum(_limit(container) for container in pod.containers)
    init: list[Manifest] = pod.spec.get("initContainers") or []
    total = max([total, *(_limit(container) for container in init)])
    overhead = text_at(pod.spec, "overhead", "ephemeral-storage")
    if total and overhead is not None:
        total += quantity.value(overhead)
    return total


def _limit(container: dict[str, Any]) -> int:
    return quantity.value(text_at(container, "resources", "limits", "ephemeral-storage") or 0)
