"""The zone and region labels of volumes."""

from __future__ import annotations

from engine.objects.objects import PersistentVolume

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
TOPOLOGY_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)


# (label key, allowed values, volume)
Topology = tuple[str, frozenset[str], str]


def volume_topologies(
    volume: PersistentVolume, keys: tuple[str, ...] = TOPOLOGY_LABELS
) -> list[Topology]:
    """The zone and region labels of a volume; "a__b" stands for several zones.

    A label with an empty part is ignored.
    """
    found = [(key, label_zones(volume.labels.get(key, "")), volume.name) for key in keys]
    return [topology for topology in found if topology[1]]


def label_zones(label: str) -> frozenset[str]:
    """The zones of a label; none where a part is empty. Upstream: LabelZonesToSet()."""
    zones = frozenset(zone.strip() for zone in label.split("__"))
    return frozenset() if "" in zones else zones
