"""What CSI drivers are known to refuse: access modes and volume modes that they cannot provide.

A driver that is not in the table is taken to provide everything.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from engine.kernel.errors import SimError
from engine.objects.objects import PersistentVolumeClaim

# How the CSI specification calls access modes of several nodes.
_CSI_MODES: Final[Mapping[str, str]] = {
    "ReadOnlyMany": "MULTI_NODE_READER_ONLY",
    "ReadWriteMany": "MULTI_NODE_MULTI_WRITER",
}


class KnownDriver(NamedTuple):
    """The access modes of several nodes that a driver provides, and how it refuses the others.

    *refusal* may hold `{}` for the mode. *source* is where the driver's own code says so.
    """

    file_systems: tuple[str, ...]
    blocks: tuple[str, ...]
    refusal: str
    source: str


KNOWN_DRIVERS: Final[Mapping[str, KnownDriver]] = {
    "ebs.csi.aws.com": KnownDriver(
        (),
        # Disks of type io1 and io2 can be attached to several nodes.
        ("ReadWriteMany",),
        "Volume capabilities {} not supported. Only AccessModes[ReadWriteOnce] supported.",
        "github.com/kubernetes-sigs/aws-ebs-csi-driver pkg/driver/controller.go",
    ),
    "pd.csi.storage.gke.io": KnownDriver(
        ("ReadOnlyMany",),
        ("ReadOnlyMany", "ReadWriteMany"),
        "VolumeCapabilities is invalid: specified multi writer with mount access type",
        "github.com/kubernetes-sigs/gcp-compute-persistent-disk-csi-driver pkg/gce-pd-csi-driver/utils.go",
    ),
    "disk.csi.azure.com": KnownDriver(
        (),
        ("ReadOnlyMany", "ReadWriteMany"),
        "mountVolume is not supported for access mode: {}",
        "github.com/kubernetes-sigs/azuredisk-csi-driver pkg/azureutils/azure_disk_utils.go",
    ),
    "rbd.csi.ceph.com": KnownDriver(
        ("ReadOnlyMany",),
        ("ReadOnlyMany", "ReadWriteMany"),
        "multi node access modes are only supported on rbd `block` type volumes",
        "github.com/ceph/ceph-csi internal/rbd/controllerserver.go",
    ),
}


def check_capabilities(claim: PersistentVolumeClaim, driver: str) -> None:
    """Raises SimError when *driver* is known to refuse a mode that the claim asks for."""
    known = _known(driver)
    if known is None:
        return
    is_block = claim.spec.get("volumeMode") == "Block"
    provided = known.blocks if is_block else known.file_systems
    for mode in claim.spec.get("accessModes") or ():
        if mode in _CSI_MODES and mode not in provided:
            refusal = known.refusal.format(_CSI_MODES[mode])
            raise SimError(f"rpc error: code = InvalidArgument desc = {refusal}")


def _known(driver: str) -> KnownDriver | None:
    """The driver, also one that an operator has installed under a prefix ("rook-ceph.rbd…")."""
    found = KNOWN_DRIVERS.get(driver)
    return found or KNOWN_DRIVERS.get(driver.partition(".")[2])
