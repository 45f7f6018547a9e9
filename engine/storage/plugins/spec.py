"""Volume specs and volume plugins: what a volume is, and what its driver can do.

Upstream: pkg/volume/plugins.go, pkg/volume/util/util.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol, cast

from engine.objects.objects import Manifest, Pod

NO_PLUGIN_MATCHED: Final = "no volume plugin matched"


def text_at(manifest: Mapping[str, Any], *path: str) -> str | None:
    """The text at *path*, or None where anything on the way is absent."""
    found: Any = manifest
    for name in path:
        found = cast("Mapping[str, Any]", found or {}).get(name)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeSpec:
    """An inline volume of a pod, or a PersistentVolume; the manifests are taken as they are."""

    volume: Manifest | None = None
    persistent_volume: Manifest | None = None
    read_only: bool = False

    @property
    def name(self) -> str:
        """The name of the inline volume or of the PersistentVolume."""
        if self.volume is not None:
            return self.volume["name"]
        assert self.persistent_volume is not None
        return self.persistent_volume["metadata"]["name"]

    @property
    def source(self) -> Mapping[str, Any]:
        """The map that holds the volume source: the inline volume, or the spec of the PV."""
        if self.volume is not None:
            return self.volume
        assert self.persistent_volume is not None
        return self.persistent_volume.get("spec") or {}

    @property
    def volume_mode(self) -> str:
        """Filesystem or Block; an inline volume, or a PV that says nothing, is Filesystem."""
        if self.persistent_volume is None:
            return "Filesystem"
        return self.source.get("volumeMode") or "Filesystem"

    @property
    def is_block(self) -> bool:
        """Whether it is used as a raw block device."""
        return self.volume_mode == "Block"

    @property
    def capacity(self) -> str | None:
        """spec.capacity.storage of the PersistentVolume."""
        return text_at(self.source, "capacity", "storage")


class ErrorKind(Enum):
    """What a failed call into a driver means. Upstream: pkg/volume/util/types/types.go."""

    FINAL = "final"  # the operation is over, and nothing was done
    UNCERTAIN = "uncertain"  # it may still be going on, or have been done
    TRANSIENT = "transient"  # it did not begin; nothing is known to have changed
    FAILED_PRECONDITION = "failed precondition"  # the driver will not do it to a volume in use


class VolumeError(NamedTuple):
    """The error of a call into a driver."""

    text: str
    kind: ErrorKind = ErrorKind.FINAL


class Answer(NamedTuple):
    """What a driver answers, *latency* ns after the call: a path or "", or an error.

    `done` is False when an expansion has to wait until the volume is published.
    """

    latency: int = 0
    value: str = ""
    error: VolumeError | None = None
    done: bool = True


class VolumePlugin(Protocol):
    """A volume plugin: what it can do, and the calls that do it."""

    @property
    def name(self) -> str:
        """Its name, such as kubernetes.io/csi."""
        ...

    def volume_name(self, spec: VolumeSpec) -> str:
        """What identifies the volume to the driver."""
        ...

    def is_attachable(self, spec: VolumeSpec) -> bool:
        """Whether a controller or the kubelet must attach it first."""
        ...

    def is_device_mountable(self, spec: VolumeSpec) -> bool:
        """Whether its device is mounted once per node, beneath the mounts of its pods."""
        ...

    def is_block_capable(self, spec: VolumeSpec | None) -> bool:
        """Whether it can map raw block devices."""
        ...

    def is_expandable(self, spec: VolumeSpec) -> bool:
        """Whether the node has a part in growing its file system."""
        ...

    @property
    def requires_remount(self) -> bool:
        """Whether its contents follow the pod's or the API's, so that set-up is repeated."""
        ...

    def call(self, call: str, spec: VolumeSpec | None, pod: Pod | None, node: str = "") -> Answer:
        """Call into the driver: Attach, MountDevice, SetUp, … by upstream's names.

        *node* is the node, for calls without a pod.
        """
        ...


class VolumePlugins(Protocol):
    """The plugins that a kubelet or controller knows."""

    def find_by_spec(self, spec: VolumeSpec) -> VolumePlugin | None:
        """The plugin that supports *spec*, or None."""
        ...

    def find_by_name(self, name: str) -> VolumePlugin | None:
        """The plugin called *name*, or None."""
        ...


def unique_volume_name(plugin: VolumePlugin, spec: VolumeSpec) -> str:
    """The name of a volume, the same on every node. Upstream: util.GetUniqueVolumeName."""
    return f"{plugin.name}/{plugin.volume_name(spec)}"


def unique_volume_name_of_pod(pod_name: str, plugin: VolumePlugin, spec: VolumeSpec) -> str:
    """The name of a volume of one pod. Upstream: util.GetUniqueVolumeNameFromSpecWithPod."""
    return f"{plugin.name}/{pod_name}-{spec.name}"


class PodVolumeNames(NamedTuple):
    """Names of a pod's volumes that its containers mount, and that they use as block devices."""

    mounts: dict[str, None]
    devices: dict[str, None]


def pod_volume_names(pod: Pod) -> PodVolumeNames:
    """What the pod's spec names, read once. Upstream: util.GetPodVolumeNames."""
    names: PodVolumeNames | None = pod.template.get("volume_names")
    if names is None:
        names = pod.template["volume_names"] = _volume_names(pod)
    return names


def _volume_names(pod: Pod) -> PodVolumeNames:
    names = PodVolumeNames({}, {})
    for group in ("initContainers", "containers", "ephemeralContainers"):
        containers: list[Manifest] = pod.spec.get(group) or []
        for container in containers:
            for mount in container.get("volumeMounts") or ():
                names.mounts[mount["name"]] = None
            for device in container.get("volumeDevices") or ():
                names.devices[device["name"]] = None
    return names
