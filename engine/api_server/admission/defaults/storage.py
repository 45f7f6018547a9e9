"""The defaults of storage and of devices.

Upstream: SetDefaults_PersistentVolume() and its like, pkg/apis/storage/v1/defaults.go,
pkg/apis/resource/v1/defaults.go.
"""

from engine.api_server.admission.defaults.pods import fill_volume_source
from engine.api_server.admission.defaults.sections import (
    Fill,
    Manifest,
    amount,
    each,
    present_section,
    section,
    write_amounts,
)


def fill_claim(found: Manifest) -> None:
    """Fill in a PersistentVolumeClaim, or a template of one."""
    spec = section(found, "spec", volumeMode="Filesystem")
    write_amounts(section(spec, "resources"), "limits", "requests")
    write_amounts(section(found, "status", phase="Pending"), "capacity", "allocatedResources")


def _volume(found: Manifest) -> None:
    spec = section(found, "spec", volumeMode="Filesystem", persistentVolumeReclaimPolicy="Retain")
    write_amounts(spec, "capacity")
    fill_volume_source(spec)
    section(found, "status", phase="Pending")


def _storage_class(found: Manifest) -> None:
    found.setdefault("reclaimPolicy", "Delete")
    found.setdefault("volumeBindingMode", "Immediate")


def _csi_driver(found: Manifest) -> None:
    section(
        found,
        "spec",
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        volumeLifecycleModes=["Persistent"],
        requiresRepublish=False,
        seLinuxMount=False,
    )


def _storage_capacity(found: Manifest) -> None:
    for name in ("capacity", "maximumVolumeSize"):
        if found.get(name) is not None:
            found[name] = amount(found[name])


def _volume_attachment(found: Manifest) -> None:
    section(found, "status", attached=False)


def _resource_claim(found: Manifest) -> None:
    _device_requests(section(found, "spec"))
    section(found, "status")


def _resource_claim_template(found: Manifest) -> None:
    _device_requests(section(section(found, "spec"), "spec"))


def _device_requests(spec: Manifest) -> None:
    devices = present_section(spec, "devices")
    for request in each(devices, "requests") if devices else ():
        exactly = present_section(request, "exactly")
        for one in (*((exactly,) if exactly else ()), *each(request, "firstAvailable")):
            one.setdefault("allocationMode", "ExactCount")
            if one["allocationMode"] == "ExactCount":
                one.setdefault("count", 1)


STORAGE: dict[str, Fill] = {
    "CSIDriver": _csi_driver,
    "CSIStorageCapacity": _storage_capacity,
    "PersistentVolume": _volume,
    "PersistentVolumeClaim": fill_claim,
    "ResourceClaim": _resource_claim,
    "ResourceClaimTemplate": _resource_claim_template,
    "StorageClass": _storage_class,
    "VolumeAttachment": _volume_attachment,
}
