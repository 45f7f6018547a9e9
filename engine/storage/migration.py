"""CSI migration: which in-tree plugins a CSI driver has taken over, and under which names.

Upstream: staging/src/k8s.io/csi-translation-lib, pkg/volume/csimigration.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from engine.objects.objects import ApiObject, PersistentVolume
from engine.objects.selectors import IN, NodeSelector, NodeSelectorTerm, Requirement

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"

_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"
_BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_ZONE_DELIMITER: Final = "__"


class InTree(NamedTuple):
    """An in-tree plugin: the CSI driver's name, its zone key, its spec field, its feature gate.

    The zone key is "" where the translation leaves a volume's affinity as it is.
    """

    driver: str
    topology_key: str
    source: str
    gate: str


IN_TREE: Final[Mapping[str, InTree]] = {
    "kubernetes.io/aws-ebs": InTree(
        "ebs.csi.aws.com",
        "topology.ebs.csi.aws.com/zone",
        "awsElasticBlockStore",
        "CSIMigrationAWS",
    ),
    "kubernetes.io/gce-pd": InTree(
        "pd.csi.storage.gke.io", "topology.gke.io/zone", "gcePersistentDisk", "CSIMigrationGCE"
    ),
    "kubernetes.io/cinder": InTree(
        "cinder.csi.openstack.org",
        "topology.cinder.csi.openstack.org/zone",
        "cinder",
        "CSIMigrationOpenStack",
    ),
    "kubernetes.io/azure-disk": InTree(
        "disk.csi.azure.com", "", "azureDisk", "CSIMigrationAzureDisk"
    ),
    "kubernetes.io/azure-file": InTree(
        "file.csi.azure.com", "", "azureFile", "CSIMigrationAzureFile"
    ),
    "kubernetes.io/vsphere-volume": InTree(
        "csi.vsphere.vmware.com", "", "vsphereVolume", "CSIMigrationvSphere"
    ),
    "kubernetes.io/portworx-volume": InTree(
        "pxd.portworx.com", "", "portworxVolume", "CSIMigrationPortworx"
    ),
}


class Migration(Protocol):
    """Which provisioners have moved to CSI."""

    def is_enabled(self, plugin: str) -> bool:
        """Whether the in-tree *plugin* is served by a CSI driver."""
        ...

    def driver_of(self, plugin: str) -> str | None:
        """The CSI driver that takes the in-tree *plugin*'s place, or None."""
        ...


@dataclass(frozen=True, slots=True)
class MigrationGates:
    """Migration by feature gate, one per plugin. Upstream: csimigration.PluginManager."""

    gates: frozenset[str] = frozenset()

    def is_enabled(self, plugin: str) -> bool:
        """Whether *plugin*'s own gate is on; the general gate always is."""
        known = IN_TREE.get(plugin)
        return known is not None and known.gate in self.gates

    def driver_of(self, plugin: str) -> str | None:
        """The CSI driver that takes *plugin*'s place, or None. Upstream: GetCSINameFromInTreeName."""
        known = IN_TREE.get(plugin)
        return None if known is None else known.driver


_SOURCES: Final = frozenset(known.source for known in IN_TREE.values())

NO_MIGRATION: Final = MigrationGates()
ALL_MIGRATED: Final = MigrationGates(frozenset(known.gate for known in IN_TREE.values()))


def in_tree_plugin_of(volume: PersistentVolume) -> str | None:
    """The migratable in-tree plugin of a volume, by the field its source stands in, or None."""
    spec = volume.spec
    if _SOURCES.isdisjoint(spec):
        return None
    return next(name for name, known in IN_TREE.items() if known.source in spec)


def is_migrated_on_node(plugin: str, csi_node: ApiObject | None) -> bool:
    """Whether the node says that *plugin* is served by CSI there."""
    if csi_node is None:
        return False
    return plugin in csi_node.annotations.get(MIGRATED_PLUGINS, "").split(",")


def translated_affinity(
    volume: PersistentVolume, affinity: NodeSelector | None, plugin: str
) -> NodeSelector | None:
    """The node affinity that *volume* would have as a CSI volume.

    Zone requirements are put under the driver's key; where the affinity names no zone, those of the
    volume's label are. The old zone and region keys count only where the new zone key is
    neither in the affinity nor a label. Upstream: csi-translation-lib plugins/in_tree_volume.go,
    translateTopologyFromInTreeToCSI().
    """
    key = IN_TREE[plugin].topology_key
    if not key:
        return affinity
    terms = affinity.terms if affinity is not None else ()
    zone = _zone_key(volume, terms)
    renamed: dict[str, str] = {}
    if _names_values(terms, zone):
        renamed[zone] = key
    elif zones := _zones(volume.labels.get(zone, "")):
        added = Requirement(key, IN, zones)
        terms = tuple(
            NodeSelectorTerm((*term.expressions, added), term.fields)
            for term in terms or (NodeSelectorTerm(),)
        )
    if zone == _BETA_ZONE and _names_values(terms, _BETA_REGION):
        renamed[_BETA_REGION] = _REGION
    if renamed:
        terms = tuple(_renamed(term, renamed) for term in terms)
    return affinity if affinity is None and not terms else NodeSelector(terms)


def _zone_key(volume: PersistentVolume, terms: tuple[NodeSelectorTerm, ...]) -> str:
    """The zone key that counts for *volume*. Upstream: getTopologyLabel()."""
    keys = {requirement.key for term in terms for requirement in term.expressions}
    for known in (keys, volume.labels):
        for zone in (_ZONE, _BETA_ZONE):
            if zone in known:
                return zone
    return _ZONE


def _names_values(terms: tuple[NodeSelectorTerm, ...], key: str) -> bool:
    """Whether some requirement on *key* names a value. Upstream: getTopologyValues()."""
    return any(r.key == key and r.values for term in terms for r in term.expressions)


def _zones(label: str) -> tuple[str, ...]:
    """The zones of a label, each once and sorted. Upstream: addTopology()."""
    zones = (zone.strip() for zone in label.split(_ZONE_DELIMITER))
    return tuple(sorted({zone for zone in zones if zone}))


def _renamed(term: NodeSelectorTerm, names: Mapping[str, str]) -> NodeSelectorTerm:
    """*term* with other keys. Upstream: replaceTopology()."""
    return NodeSelectorTerm(
        tuple(Requirement(names.get(r.key, r.key), r.operator, r.values) for r in term.expressions),
        term.fields,
    )
