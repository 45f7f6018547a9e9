"""The volume plugins of the simulated nodes, and the faults that may be injected into them.

Upstream: pkg/volume/*, the plugins that a kubelet probes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from engine.api_server.store.faults import chance
from engine.api_server.store.store import ObjectStore
from engine.kernel.rng import Stream
from engine.objects.objects import Pod
from engine.objects.outside import Outside
from engine.storage.plugins.latencies import Latencies
from engine.storage.plugins.obstacles import Obstacles
from engine.storage.plugins.spec import Answer, ErrorKind, VolumeError, VolumePlugin, VolumeSpec

CSI: Final = "kubernetes.io/csi"

# Which latency a call into a driver takes; the others answer at once.
_LATENCY_OF: Final[Mapping[str, str]] = {
    "Attach": "attach",
    "Detach": "detach",
    "MountDevice": "mount_device",
    "SetUpDevice": "mount_device",
    "SetUp": "mount",
    "MapPodDevice": "mount",
    "TearDown": "unmount",
    "UnmapPodDevice": "unmount",
    "UnmountDevice": "unmount_device",
    "TearDownDevice": "unmount_device",
    "NodeExpand": "expand",
}


class Traits(NamedTuple):
    """What a plugin can do, and the field of its source that names the volume."""

    name: str
    id_field: str = ""
    attachable: bool = False
    device_mountable: bool = False
    block: bool = False
    expandable: bool = False
    requires_remount: bool = False
    is_local: bool = False


def _disk(name: str, id_field: str) -> Traits:
    return Traits(f"kubernetes.io/{name}", id_field, True, True, True, True)


def _local(name: str, *, remount: bool = False) -> Traits:
    return Traits(f"kubernetes.io/{name}", requires_remount=remount, is_local=True)


# By the field of the volume source, in the order in which they are looked for.
TRAITS: Final[Mapping[str, Traits]] = {
    "csi": Traits(CSI, "", True, True, True, True),
    "awsElasticBlockStore": _disk("aws-ebs", "volumeID"),
    "gcePersistentDisk": _disk("gce-pd", "pdName"),
    "azureDisk": _disk("azure-disk", "diskURI"),
    "cinder": _disk("cinder", "volumeID"),
    "vsphereVolume": _disk("vsphere-volume", "volumePath"),
    "rbd": _disk("rbd", "image"),
    "iscsi": _disk("iscsi", "iqn"),
    "fc": Traits("kubernetes.io/fc", "", True, True, True),
    "local": Traits("kubernetes.io/local-volume", "path", False, True, True),
    "nfs": Traits("kubernetes.io/nfs"),
    "azureFile": Traits("kubernetes.io/azure-file"),
    "cephfs": Traits("kubernetes.io/cephfs"),
    "glusterfs": Traits("kubernetes.io/glusterfs"),
    "hostPath": Traits("kubernetes.io/host-path", is_local=True),
    "emptyDir": _local("empty-dir"),
    "configMap": _local("configmap", remount=True),
    "secret": _local("secret", remount=True),
    "downwardAPI": _local("downward-api", remount=True),
    "projected": _local("projected", remount=True),
    "gitRepo": _local("git-repo"),
    "flexVolume": Traits("kubernetes.io/flexvolume"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Makes the next *count* calls of a kind fail; "" stands for any volume or node.

    With a *probability* each call fails only that often, drawn from *stream*.
    """

    call: str
    volume: str = ""
    node: str = ""
    count: int = 1
    text: str = "injected fault"
    kind: ErrorKind = ErrorKind.FINAL
    probability: float = 0
    stream: Stream | None = None


class Faults:
    """The faults that wait to happen, in the order in which they were injected."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[Fault] = []

    def inject(self, fault: Fault) -> None:
        """Let *fault* happen from now on."""
        self._waiting.append(fault)

    def strike(self, call: str, volume: str, node: str) -> VolumeError | None:
        """The error of this call, if a fault is meant for it."""
        for index, fault in enumerate(self._waiting):
            if (
                fault.call != call
                or fault.volume not in ("", volume)
                or fault.node not in ("", node)
            ):
                continue
            if fault.stream is not None and not chance(fault.stream, fault.probability):
                continue
            if fault.count > 1:
                self._waiting[index] = replace(fault, count=fault.count - 1)
            else:
                del self._waiting[index]
            return VolumeError(fault.text, fault.kind)
        return None


class SimulatedPlugin:
    """A plugin whose calls take the scenario's latencies, and fail when a fault is injected."""

    __slots__ = (
        "_faults",
        "_latencies",
        "_obstacles",
        "_source",
        "_store",
        "_traits",
        "name",
        "requires_remount",
    )

    def __init__(
        self,
        source: str,
        traits: Traits,
        latencies: Latencies,
        store: ObjectStore,
        faults: Faults,
        obstacles: Obstacles,
    ) -> None:
        self.name = traits.name
        self.requires_remount = traits.requires_remount
        self._source = source
        self._traits = traits
        self._latencies = latencies
        self._store = store
        self._faults = faults
        self._obstacles = obstacles

    def volume_name(self, spec: VolumeSpec) -> str:
        """See VolumePlugin."""
        source: dict[str, Any] = spec.source[self._source] or {}
        if self.name == CSI:
            return f"{source.get('driver', '')}^{source.get('volumeHandle', '')}"
        return str(source.get(self._traits.id_field) or spec.name)

    def is_attachable(self, spec: VolumeSpec) -> bool:
        """See VolumePlugin. A CSIDriver object may say that its volumes need no attaching."""
        if self.name != CSI or not self._traits.attachable:
            return self._traits.attachable
        if spec.persistent_volume is None:
            # An ephemeral inline volume exists on its node only.
            return False
        driver = self._store.find("CSIDriver", spec.source["csi"].get("driver", ""))
        return driver is None or driver.spec.get("attachRequired", True)

    def is_device_mountable(self, spec: VolumeSpec) -> bool:
        """See VolumePlugin."""
        inline_csi = self.name == CSI and spec.persistent_volume is None
        return self._traits.device_mountable and not inline_csi

    def is_block_capable(self, spec: VolumeSpec | None) -> bool:
        """See VolumePlugin."""
        return self._traits.block

    def is_expandable(self, spec: VolumeSpec) -> bool:
        """See VolumePlugin."""
        return self._traits.expandable

    def call(self, call: str, spec: VolumeSpec | None, pod: Pod | None, node: str = "") -> Answer:
        """See VolumePlugin."""
        latency = self._latency(call)
        volume = "" if spec is None else spec.name
        where = node if pod is None else pod.node_name
        error = None if spec is None else self._obstacles.find(call, spec, pod, where)
        if error is not None:
            return Answer(error=error, done=False)
        error = self._faults.strike(call, volume, where)
        if error is not None:
            return Answer(latency, error=error, done=False)
        return Answer(latency, _path(call, volume))

    def _latency(self, call: str) -> int:
        name = _LATENCY_OF.get(call)
        return 0 if name is None or self._traits.is_local else self._latencies.draw(name)


def _path(call: str, volume: str) -> str:
    if call == "GetDeviceMountPath":
        return f"/var/lib/kubelet/plugins/mounts/{volume}"
    if call in ("GlobalMapPath", "MapPodDevice"):
        return f"/var/lib/kubelet/plugins/volumeDevices/{volume}"
    return f"/dev/disk/by-id/{volume}" if call in ("Attach", "WaitForAttach") else ""


class SimulatedPlugins:
    """Every plugin there is, by the source that a spec names."""

    __slots__ = ("_by_name", "_by_source", "faults", "obstacles")

    def __init__(
        self,
        latencies: Latencies,
        store: ObjectStore,
        outside: Outside | None = None,
        *,
        migrates: bool = False,
        out_of_reach: str = "",
    ) -> None:
        """See Obstacles for the arguments but *latencies*."""
        self.faults = Faults()
        self.obstacles = Obstacles(
            store, outside or Outside(), migrates=migrates, out_of_reach=out_of_reach
        )
        self._by_source: dict[str, VolumePlugin] = {
            source: SimulatedPlugin(source, traits, latencies, store, self.faults, self.obstacles)
            for source, traits in TRAITS.items()
        }
        self._by_name = {plugin.name: plugin for plugin in self._by_source.values()}

    def find_by_spec(self, spec: VolumeSpec) -> VolumePlugin | None:
        """See VolumePlugins."""
        written = spec.source
        found = [self._by_source[key] for key in written if key in self._by_source]
        if len(found) < 2:
            return found[0] if found else None
        # More than one source is no valid volume; the first plugin that is asked takes it.
        for source, plugin in self._by_source.items():
            if source in written:
                return plugin
        return None

    def find_by_name(self, name: str) -> VolumePlugin | None:
        """See VolumePlugins."""
        return self._by_name.get(name)
