"""How many volumes a node can hold, and what a kubelet does when its CSINode says something else.

A driver learns the limit of its machine with NodeGetInfo. Here that is what the CSINode says, unless
the annotation kscope.dev/attach-limit of the CSINode tells it otherwise: "disk.example.com=3".
Upstream: pkg/volume/csi/csi_plugin.go, updateCSIDriver() and VerifyExhaustedResource().
"""

from typing import Final

from engine.api_server.store.store import ObjectStore
from engine.kernel.units import nanoseconds
from engine.objects.objects import ApiObject, Manifest

LIMIT_ANNOTATION: Final = "kscope.dev/attach-limit"
# Upstream: google.golang.org/grpc/codes; VolumeError.errorCode is such a number.
CODES: Final = {
    name: number
    for number, name in enumerate(
        [
            "OK",
            "Canceled",
            "Unknown",
            "InvalidArgument",
            "DeadlineExceeded",
            "NotFound",
            "AlreadyExists",
            "PermissionDenied",
            "ResourceExhausted",
            "FailedPrecondition",
            "Aborted",
            "OutOfRange",
            "Unimplemented",
            "Internal",
            "Unavailable",
            "DataLoss",
            "Unauthenticated",
        ]
    )
}
_RPC_ERROR: Final = "rpc error: code = "


def error_code(text: str) -> int | None:
    """The code in the text of a driver's error, or None where there is none."""
    if not text.startswith(_RPC_ERROR):
        return None
    return CODES.get(text.removeprefix(_RPC_ERROR).partition(" ")[0])


def limit_of(csi_node: ApiObject | None, driver: str) -> int | None:
    """How many volumes the *driver* can really attach to the node; None for no limit."""
    told = None if csi_node is None else _told(csi_node, driver)
    return said_limit(csi_node, driver) if told is None else told


def said_limit(csi_node: ApiObject | None, driver: str) -> int | None:
    """How many volumes the CSINode says that the *driver* can attach; None for no limit."""
    found = None if csi_node is None else driver_of(csi_node, driver)
    allocatable: Manifest = (found or {}).get("allocatable") or {}
    return allocatable.get("count")


def driver_of(csi_node: ApiObject, driver: str) -> Manifest | None:
    """What the CSINode says of the *driver*; None where it is not registered."""
    drivers: list[Manifest] = csi_node.spec.get("drivers") or []
    return next((one for one in drivers if one.get("name") == driver), None)


def _told(csi_node: ApiObject, driver: str) -> int | None:
    for one in csi_node.annotations.get(LIMIT_ANNOTATION, "").split(","):
        name, _, count = one.strip().partition("=")
        if name == driver and count.isdecimal():
            return int(count)
    return None


def update_period(store: ObjectStore, driver: str) -> int:
    """How often kubelets ask the *driver* for its limit, ns; 0 for never.

    Upstream: csi_node_updater.go, getNodeAllocatableUpdatePeriod().
    """
    found = store.find("CSIDriver", driver)
    seconds = None if found is None else found.spec.get("nodeAllocatableUpdatePeriodSeconds")
    return nanoseconds(seconds or 0)


def updated_drivers(csi_node: ApiObject, driver: str) -> list[Manifest] | None:
    """The drivers of the CSINode with the real limit of one; None if nothing changes.

    Upstream: nodeinfomanager.go, updateCSINode(): a driver without a limit has no allocatable.
    """
    limit = limit_of(csi_node, driver) or None
    known = driver_of(csi_node, driver)
    if known is None or limit == said_limit(csi_node, driver):
        return None
    changed = {name: part for name, part in known.items() if name != "allocatable"}
    if limit is not None:
        changed["allocatable"] = {"count": limit}
    drivers: list[Manifest] = csi_node.spec.get("drivers") or []
    return [changed if one is known else one for one in drivers]


def is_exhausted(store: ObjectStore, volume: str, node: str) -> bool:
    """Whether the attachment of the PersistentVolume *volume* failed for want of room on *node*."""
    for attachment in store.grouped("VolumeAttachment").at(node):
        named: Manifest = attachment.spec.get("source") or {}
        if named.get("persistentVolumeName") == volume:
            error: Manifest = attachment.status.get("attachError") or {}
            return error.get("errorCode") == CODES["ResourceExhausted"]
    return False
