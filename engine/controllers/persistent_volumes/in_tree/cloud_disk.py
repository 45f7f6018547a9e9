"""The disks of clouds: in-tree plugins that make a disk in one zone."""

from typing import Final, Protocol

from engine.api_server.store.informer import Informer
from engine.api_server.store.watches import WatchEvent
from engine.controllers.persistent_volumes.in_tree.plugin import (
    Delays,
    Failures,
    PluginError,
    ProvisionOptions,
    Recycler,
    provisioned_manifest,
    raise_failure,
    raise_failure_of_deletion,
)
from engine.objects.objects import Manifest, Node, PersistentVolume
from engine.storage.topology import matches_topologies, spread


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
        failures: Failures | None = None,
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
        raise_failure(self._failures, options, node)
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
        raise_failure_of_deletion(self._failures, volume)

    def recycler(self, volume: PersistentVolume) -> Recycler:
        """See VolumePlugin."""
        raise PluginError(f"{self.name} does not recycle volumes")


_DISK_ID: Final = {"gcePersistentDisk": "pdName", "azureDisk": "diskName"}
_ZONE_KEYS: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


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
