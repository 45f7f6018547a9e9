"""What an in-tree disk is called by the CSI driver that has taken its plugin over.

Upstream: staging/src/k8s.io/csi-translation-lib/plugins, TranslateInTreePVToCSI() and
TranslateInTreeInlineVolumeToCSI().
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from engine.objects.objects import Pod
from engine.storage.migration import IN_TREE

_UNSPECIFIED: Final = "UNSPECIFIED"
# In the order in which those of a GCE disk are checked.
_ZONE_LABELS: Final = (
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/zone",
)
_ZONE_DELIMITER: Final = "__"
# In each plugin's source, the field that identifies the disk.
_HANDLE_FIELDS: Final = {
    "kubernetes.io/cinder": "volumeID",
    "kubernetes.io/azure-disk": "diskURI",
    "kubernetes.io/portworx-volume": "volumeID",
    "kubernetes.io/vsphere-volume": "volumePath",
    "kubernetes.io/azure-file": "shareName",
}


def in_tree_plugin(spec: Mapping[str, Any]) -> str | None:
    """The migratable plugin behind the spec of a volume, or behind a pod's own volume; or None."""
    if _SOURCES.isdisjoint(spec):
        return None
    return next((name for name, known in IN_TREE.items() if spec.get(known.source)), None)


_SOURCES: Final = frozenset(known.source for known in IN_TREE.values())


def may_be_at_fault(pod: Pod) -> bool:
    """Whether pods that are tried beside it may fail on a volume of *pod*.

    That is a claim made for it, which may turn out to be another's, or a disk in its spec that
    cannot be translated.
    """
    if len(pod.claim_names) > len(pod.named_claims):
        return True
    for volume in pod.volumes:
        # Asked of every pod of a cluster; hardly any has such a disk.
        if not _SOURCES.isdisjoint(volume):
            plugin = in_tree_plugin(volume)
            if plugin and translation_fault(plugin, volume):
                return True
    return False


def csi_handle(plugin: str, spec: Mapping[str, Any], labels: Mapping[str, str] | None) -> str:
    """The volume handle of the disk in *spec*; "" for one that cannot be translated.

    *labels* are those of the volume; a pod's own volume has none.
    """
    source: Mapping[str, Any] = spec[IN_TREE[plugin].source]
    if translation_fault(plugin, spec, labels):
        return ""
    if plugin == "kubernetes.io/aws-ebs":
        return _ebs_volume_id(str(source.get("volumeID") or ""))
    if plugin == "kubernetes.io/gce-pd":
        return _gce_handle(str(source.get("pdName") or ""), labels or {})
    return str(source.get(_HANDLE_FIELDS[plugin]) or "")


def translation_fault(
    plugin: str, spec: Mapping[str, Any], labels: Mapping[str, str] | None = None
) -> str:
    """Why the disk in *spec* cannot be translated, or ""; *labels* are those of the volume.

    An Azure disk that does not say its kind is a Shared one. Upstream: azure_disk.go, aws_ebs.go,
    gce_pd.go.
    """
    source: Mapping[str, Any] = spec[IN_TREE[plugin].source]
    if plugin == "kubernetes.io/azure-disk":
        kind = str(source.get("kind") or "Shared")
        if kind.lower() != "managed":
            return f"kind({kind}) is not supported in csi migration"
    if plugin == "kubernetes.io/aws-ebs":
        name = str(source.get("volumeID") or "")
        if name and not _ebs_volume_id(name):
            return (
                "failed to translate Kubernetes ID to EBS Volume ID "
                f"Invalid format for AWS volume ({name})"
            )
    if plugin == "kubernetes.io/gce-pd":
        zones = _gce_zones(labels or {})
        fault = _region_fault(zones) if len(zones) > 1 else ""
        return fault and f"failed to get region from zones: {fault}"
    return ""


def _ebs_volume_id(name: str) -> str:
    """Upstream: aws_ebs.go KubernetesVolumeIDToEBSVolumeID(): aws://zone/vol-1 or vol-1."""
    if not name.startswith("aws://"):
        return name
    found = urlsplit(name).path.strip("/")
    return found if found.startswith("vol-") and "/" not in found else ""


def _gce_handle(disk: str, labels: Mapping[str, str]) -> str:
    """Upstream: gce_pd.go. A disk in several zones goes by their region."""
    zones = _gce_zones(labels)
    if len(zones) <= 1:
        zone = zones[0] if zones else _UNSPECIFIED
        return f"projects/{_UNSPECIFIED}/zones/{zone}/disks/{disk}"
    return f"projects/{_UNSPECIFIED}/regions/{_region(zones[0])}/disks/{disk}"


def _gce_zones(labels: Mapping[str, str]) -> list[str]:
    label = next((labels[key] for key in _ZONE_LABELS if labels.get(key)), "")
    return label.split(_ZONE_DELIMITER) if label else []


def _region(zone: str) -> str:
    return zone.rpartition("-")[0]


def _region_fault(zones: list[str]) -> str:
    """Why the zones are not of one region, or "". Upstream: gceGetRegionFromZones()."""
    for zone in zones:
        if zone.count("-") != 2:
            expected = "{locale}-{region}-{zone}"
            return f"zone in unexpected format, expected: {expected}, got: {zone}"
    regions = sorted(set(map(_region, zones)))
    if len(regions) == 1:
        return ""
    listed = " ".join(f"{region}:{{}}" for region in regions)
    return f"multiple or no regions gotten from zones, got: map[{listed}]"
