"""Volume plugins: who makes, destroys and scrubs the storage behind a volume.

A plugin of the PV controller's own ("in-tree") is asked directly; between the question and the
answer its operation waits for the plugin's delay. Anything else is an external provisioner, which
watches claims and answers by writing volumes. Upstream: pkg/volume/plugins.go.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kscope.sim.api_server.informer import Informer
from kscope.sim.api_server.store import WatchEvent
from kscope.sim.errors import SimError
from kscope.sim.objects.objects import (
    EMPTY,
    ApiObject,
    Manifest,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
)

IN_TREE_PREFIX: Final = "kubernetes.io/"


class PluginError(SimError):
    """A volume plugin, or the search for one, failed; the text is upstream's."""


class VolumeInUse(PluginError):
    """The storage cannot be deleted yet; not a failure. Upstream: NewDeletedVolumeInUseError."""


@dataclass(frozen=True, slots=True)
class ProvisionOptions:
    """What a plugin has to know about the volume to make. Upstream: volume.VolumeOptions."""

    volume_name: str
    claim: PersistentVolumeClaim
    reclaim_policy: str
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    mount_options: tuple[str, ...] = ()


class VolumePlugin(Protocol):
    """A volume plugin. The `check_*` methods are upstream's constructors, which may fail early."""

    @property
    def name(self) -> str:
        """As in a class's provisioner: "kubernetes.io/host-path"."""
        ...

    @property
    def supports_mount_options(self) -> bool:
        """Whether a class with mountOptions is acceptable."""
        ...

    @property
    def can(self) -> frozenset[str]:
        """Of "provision", "delete", "recycle"."""
        ...

    def supports(self, volume: PersistentVolume) -> bool:
        """Whether the volume's source is of this plugin's kind. Upstream: CanSupport()."""
        ...

    def check_provision(self, options: ProvisionOptions) -> None:
        """Upstream: NewProvisioner(). Raises PluginError."""
        ...

    def provision_delay(self, options: ProvisionOptions) -> int:
        """How long `provision` takes, in ns; asked once before it is called."""
        ...

    def provision(
        self, options: ProvisionOptions, node: Node | None, topologies: list[Manifest]
    ) -> Manifest:
        """Make the storage; returns the manifest of its volume. Raises PluginError."""
        ...

    def check_delete(self, volume: PersistentVolume) -> None:
        """Upstream: NewDeleter(). Raises PluginError."""
        ...

    def delete_delay(self, volume: PersistentVolume) -> int:
        """How long `delete` takes, in ns."""
        ...

    def delete(self, volume: PersistentVolume) -> None:
        """Destroy the storage. Raises PluginError."""
        ...

    def recycler(self, volume: PersistentVolume) -> "Recycler":
        """Begin to scrub the storage. Raises PluginError."""
        ...


class Recycler(Protocol):
    """Scrubs one volume, in steps."""

    def step(self) -> tuple[int | None, list[tuple[str, str]]]:
        """The delay until the next step (None: done) and (type, message) news of the recycler pod.

        Raises PluginError.
        """
        ...


class Delays(Protocol):
    """How long storage takes. `kscope.sim.kernel.latency.Latencies` is one."""

    def draw(self, name: str) -> int:
        """Nanoseconds; *name* is "provision", "delete_volume" or "recycle"."""
        ...


class Recyclers(Protocol):
    """Makes recyclers that run a pod."""

    def recycler(self, volume: PersistentVolume, scrubbing: int) -> Recycler:
        """A recycler for *volume* that takes *scrubbing* ns once its pod runs."""
        ...


class InstantRecycler:
    """Scrubs at once."""

    def step(self) -> tuple[int | None, list[tuple[str, str]]]:
        """See Recycler."""
        return None, []


class PluginRegistry:
    """The plugins that a controller knows. Upstream: VolumePluginMgr, with its error texts."""

    __slots__ = ("_plugins",)

    def __init__(self, plugins: list[VolumePlugin] | None = None) -> None:
        self._plugins: dict[str, VolumePlugin] = {plugin.name: plugin for plugin in plugins or ()}

    def provisionable_by_name(self, name: str) -> VolumePlugin:
        """Raises PluginError when there is none."""
        return self._by_name(name, "provision", "provisionable")

    def deletable_by_name(self, name: str) -> VolumePlugin:
        """Raises PluginError when there is none."""
        return self._by_name(name, "delete", "deletable")

    def deletable_by_spec(self, volume: PersistentVolume) -> VolumePlugin:
        """Raises PluginError when there is none."""
        return self._by_spec(volume, "delete", "deletable")

    def recyclable_by_spec(self, volume: PersistentVolume) -> VolumePlugin:
        """Raises PluginError when there is none."""
        return self._by_spec(volume, "recycle", "recyclable")

    def _by_name(self, name: str, ability: str, adjective: str) -> VolumePlugin:
        plugin = self._plugins.get(name)
        if plugin is None:
            raise PluginError(f"no volume plugin matched name: {name}")
        if ability not in plugin.can:
            raise PluginError(f"no {adjective} volume plugin matched")
        return plugin

    def _by_spec(self, volume: PersistentVolume, ability: str, adjective: str) -> VolumePlugin:
        matches = [plugin for plugin in self._plugins.values() if plugin.supports(volume)]
        if not matches:
            raise PluginError("no volume plugin matched")
        if len(matches) > 1:
            names = ",".join(sorted(plugin.name for plugin in matches))
            raise PluginError(f"multiple volume plugins matched: {names}")
        if ability not in matches[0].can:
            raise PluginError(f"no {adjective} volume plugin matched")
        return matches[0]


class HostPathPlugin:
    """kubernetes.io/host-path with provisioning on, as kube-controller-manager has it for tests.

    Upstream: pkg/volume/hostpath. It deletes only below /tmp.
    """

    name: str = "kubernetes.io/host-path"
    supports_mount_options: bool = False
    can: frozenset[str] = frozenset({"provision", "delete", "recycle"})

    def __init__(
        self,
        delays: Delays,
        recyclers: "Recyclers | None" = None,
        failures: "Failures | None" = None,
    ) -> None:
        self._delays = delays
        self._recyclers = recyclers
        self._failures = failures

    def supports(self, volume: PersistentVolume) -> bool:
        """See VolumePlugin."""
        return "hostPath" in volume.spec

    def check_provision(self, options: ProvisionOptions) -> None:
        """See VolumePlugin."""

    def provision_delay(self, options: ProvisionOptions) -> int:
        """See VolumePlugin."""
        return self._delays.draw("provision")

    def provision(
        self, options: ProvisionOptions, node: Node | None, topologies: list[Manifest]
    ) -> Manifest:
        """See VolumePlugin."""
        _fail(self._failures, options, node)
        if (options.claim.spec.get("volumeMode") or "Filesystem") != "Filesystem":
            raise PluginError(f"{self.name} does not support block volume provisioning")
        # Upstream draws a random directory; the claim's uid is as unique.
        path = f"/tmp/hostpath_pv/{options.claim.uid}"
        annotations = {"kubernetes.io/createdby": "hostpath-dynamic-provisioner"}
        return provisioned_manifest(
            options, {"hostPath": {"path": path, "type": ""}}, annotations=annotations
        )

    def check_delete(self, volume: PersistentVolume) -> None:
        """See VolumePlugin."""

    def delete_delay(self, volume: PersistentVolume) -> int:
        """See VolumePlugin."""
        return self._delays.draw("delete_volume")

    def delete(self, volume: PersistentVolume) -> None:
        """See VolumePlugin."""
        path = (volume.spec.get("hostPath") or EMPTY).get("path", "")
        if not path.startswith("/tmp/") or len(path) <= len("/tmp/"):
            raise PluginError(
                f"host_path deleter only supports /tmp/.+ but received provided {path}"
            )

    def recycler(self, volume: PersistentVolume) -> Recycler:
        """See VolumePlugin."""
        scrubbing = self._delays.draw("recycle")
        if self._recyclers is None:
            return PodlessRecycler(scrubbing)
        return self._recyclers.recycler(volume, scrubbing)


class CloudDiskPlugin:
    """A disk of a cloud: made in one zone, reachable from there.

    One class for the in-tree plugins that the clouds had until CSI drivers took over; *source* is
    the field of a volume's spec that holds the disk. Upstream: pkg/volume/{awsebs,gcepd,cinder,…}.
    """

    supports_mount_options: bool = True
    can: frozenset[str] = frozenset({"provision", "delete"})

    def __init__(
        self,
        name: str,
        source: str,
        zones: "Zones",
        delays: Delays,
        failures: "Failures | None" = None,
    ) -> None:
        self._failures = failures
        self.name = name
        self._source = source
        self._zones = zones
        self._delays = delays

    def supports(self, volume: PersistentVolume) -> bool:
        """See VolumePlugin."""
        return self._source in volume.spec

    def check_provision(self, options: ProvisionOptions) -> None:
        """See VolumePlugin."""

    def provision_delay(self, options: ProvisionOptions) -> int:
        """See VolumePlugin."""
        return self._delays.draw("provision")

    def provision(
        self, options: ProvisionOptions, node: Node | None, topologies: list[Manifest]
    ) -> Manifest:
        """See VolumePlugin. A delayed claim's disk goes to the zone of its node."""
        _fail(self._failures, options, node)
        if node is not None:
            key, zone = self._zones.of_node(node)
        else:
            key, zone = self._zones.pick(options.claim.name, topologies)
        disk = {_DISK_ID.get(self._source, "volumeID"): f"disk-{options.claim.uid}"}
        if not zone:
            return provisioned_manifest(options, {self._source: disk})
        requirement = {"key": key, "operator": "In", "values": [zone]}
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}
        return provisioned_manifest(
            options, {self._source: disk}, node_affinity=affinity, labels={key: zone}
        )

    def check_delete(self, volume: PersistentVolume) -> None:
        """See VolumePlugin."""

    def delete_delay(self, volume: PersistentVolume) -> int:
        """See VolumePlugin."""
        return self._delays.draw("delete_volume")

    def delete(self, volume: PersistentVolume) -> None:
        """See VolumePlugin."""

    def recycler(self, volume: PersistentVolume) -> Recycler:
        """See VolumePlugin."""
        raise PluginError(f"{self.name} does not recycle volumes")


_DISK_ID: Final = {"gcePersistentDisk": "pdName", "azureDisk": "diskName"}
_ZONE_KEYS: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


class Failures(Protocol):
    """What provisioning gets wrong."""

    def of(self, claim: PersistentVolumeClaim, node: str) -> str | None:
        """Why provisioning for *claim* on *node* ("" for none in particular) fails, or None."""
        ...


def _fail(failures: Failures | None, options: ProvisionOptions, node: Node | None) -> None:
    """Raises PluginError when provisioning is to fail this time."""
    fault = failures.of(options.claim, node.name if node else "") if failures else None
    if fault is not None:
        raise PluginError(fault)


class Zones(Protocol):
    """The zones that the cluster's nodes lie in."""

    def of_node(self, node: Node) -> tuple[str, str]:
        """The label key and the zone of *node*; the zone is "" when it has none."""
        ...

    def pick(self, claim: str, topologies: list[Manifest]) -> tuple[str, str]:
        """A zone for a claim of that name, out of those that *topologies* allow."""
        ...


class NodeZones:
    """Zones read from the labels of the nodes that *nodes* holds."""

    def __init__(self, nodes: Informer[Node]) -> None:
        self._nodes = nodes
        # Topologies, written out → the zones of the nodes that they allow; until some node changes.
        self._known: dict[str, list[tuple[str, str]]] = {}
        nodes.on_event(self._on_node)

    def _on_node(self, event: WatchEvent) -> None:
        if event.type != "MODIFIED" or event.old is None or event.old.labels != event.new.labels:
            self._known.clear()

    def of_node(self, node: Node) -> tuple[str, str]:
        """See Zones."""
        for key in _ZONE_KEYS:
            if node.labels.get(key):
                return key, node.labels[key]
        return _ZONE_KEYS[0], ""

    def pick(self, claim: str, topologies: list[Manifest]) -> tuple[str, str]:
        """See Zones."""
        zones = self._allowed(topologies)
        return zones[spread(claim) % len(zones)] if zones else (_ZONE_KEYS[0], "")

    def _allowed(self, topologies: list[Manifest]) -> list[tuple[str, str]]:
        written = repr(topologies)
        zones = self._known.get(written)
        if zones is None:
            allowed = [node for node in self._nodes if matches_topologies(topologies, node.labels)]
            found = {self.of_node(node) for node in allowed} - {(_ZONE_KEYS[0], "")}
            zones = self._known[written] = sorted(found)
        return zones


def spread(name: str) -> int:
    """A number by which claims spread over zones, those of one StatefulSet in turn.

    Upstream: pkg/volume/util, getPVCNameHashAndIndexOffset(), with another hash.
    """
    stem, dash, index = name.rpartition("-")
    if dash and index.isdigit():
        return zlib.crc32(stem.encode()) + int(index)
    return zlib.crc32(name.encode())


class PodlessRecycler:
    """Scrubs in a given time. Upstream runs a pod for it, whose events it copies to the volume."""

    def __init__(self, duration: int) -> None:
        self._left: int | None = duration

    def step(self) -> tuple[int | None, list[tuple[str, str]]]:
        """See Recycler."""
        left, self._left = self._left, None
        return left, []


def provisioned_manifest(
    options: ProvisionOptions,
    source: Manifest,
    *,
    annotations: Mapping[str, str] | None = None,
    node_affinity: Manifest | None = None,
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """The manifest of a volume made for a claim: its size, modes and volume mode are the claim's."""
    claim = options.claim
    metadata: Manifest = {"name": options.volume_name}
    if annotations:
        metadata["annotations"] = dict(annotations)
    if labels:
        metadata["labels"] = dict(labels)
    requests = (claim.spec.get("resources") or EMPTY).get("requests") or EMPTY
    spec: dict[str, Any] = {
        "capacity": {"storage": requests.get("storage", "0")},
        "accessModes": list(claim.access_modes),
        "persistentVolumeReclaimPolicy": options.reclaim_policy,
        "volumeMode": claim.spec.get("volumeMode") or "Filesystem",
        **source,
    }
    if options.mount_options:
        spec["mountOptions"] = list(options.mount_options)
    if node_affinity:
        spec["nodeAffinity"] = node_affinity
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": spec,
    }


def matches_topologies(terms: list[Manifest] | None, node_labels: Mapping[str, str]) -> bool:
    """Whether a node's labels meet a class's allowedTopologies.

    Absent or empty terms allow every node; terms are alternatives; a term's expressions must all
    hold. Upstream: v1helper.MatchTopologySelectorTerms().
    """
    if not terms:
        return True
    return any(_matches_topology(term, node_labels) for term in terms)


def _matches_topology(term: Manifest, node_labels: Mapping[str, str]) -> bool:
    expressions = term.get("matchLabelExpressions") or ()
    # An empty term selects nothing.
    return bool(expressions) and all(
        node_labels.get(expression["key"]) in (expression.get("values") or ())
        for expression in expressions
    )


def is_in_tree(name: str) -> bool:
    """Whether a provisioner's name is reserved for in-tree plugins."""
    return name.startswith(IN_TREE_PREFIX)


def owner_is(obj: ApiObject, uid: str) -> bool:
    """Whether *obj* is controlled by the object of that uid."""
    return any(ref.get("controller") and ref.get("uid") == uid for ref in obj.owner_references)


def ownership_fault(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Why a claim made for a volume of *pod*, by its name, is not its own; "" if it is.

    Upstream: component-helpers storage/ephemeral, VolumeIsForPod().
    """
    if owner_is(claim, pod.uid):
        return ""
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
