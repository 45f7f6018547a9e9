"""The columns of storage and of devices.

Upstream: printPersistentVolume(), printStorageClass(), printResourceClaim() and their like.
"""

from collections.abc import Callable, Iterable

from kube.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Column,
    Columns,
    Object,
    at_top,
    flag,
    in_spec,
    in_status,
    is_deleted,
    metadata_of,
    number,
    spec_of,
    status_of,
    text,
)

_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
    "volumeattributesclass.alpha.kubernetes.io/is-default-class",
)


def _modes(modes: Iterable[str] | None) -> str:
    """Upstream: GetAccessModesAsString(), which has an order of its own."""
    given = set(modes or ())
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in given)


def _phase(one: Object) -> str:
    return "Terminating" if is_deleted(one) else str(status_of(one).get("phase") or "Pending")


def _class(one: Object) -> str:
    beta = (metadata_of(one).get("annotations") or {}).get(_BETA_CLASS)
    return str(beta if beta is not None else spec_of(one).get("storageClassName") or "")


def _claim_of(one: Object) -> str:
    claim = spec_of(one).get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _capacity(part: Object) -> str:
    return str((part.get("capacity") or {}).get("storage", "0"))


def _when_bound(get: Callable[[Object], str]) -> Callable[[Object], str]:
    """What a claim shows of its volume, once it has one."""
    return lambda one: get(status_of(one)) if spec_of(one).get("volumeName") else ""


def _class_name(one: Object, now: int) -> str:
    annotations = metadata_of(one).get("annotations") or {}
    is_default = any(annotations.get(name) == "true" for name in _DEFAULT_CLASS)
    return f"{NAME.get(one, now)}{' (default)' if is_default else ''}"


def _token_requests(one: Object) -> str:
    requests = spec_of(one).get("tokenRequests")
    if requests is None:
        return UNSET
    return ",".join(each.get("audience") or "" for each in requests)


def _claim_state(one: Object) -> str:
    """Upstream: resourceClaimState()."""
    states = ["deleted"] if is_deleted(one) else []
    status = status_of(one)
    if status.get("allocation"):
        states.append("allocated")
        states += ["reserved"] if status.get("reservedFor") else []
    elif not is_deleted(one):
        states.append("pending")
    return ",".join(states)


STORAGE: dict[str, Columns] = {
    "CSIDriver": (
        NAME,
        flag("AttachRequired", in_spec("attachRequired", True)),
        flag("PodInfoOnMount", in_spec("podInfoOnMount")),
        flag("StorageCapacity", in_spec("storageCapacity")),
        text("TokenRequests", _token_requests),
        flag("RequiresRepublish", in_spec("requiresRepublish")),
        text("Modes", lambda one: ",".join(spec_of(one).get("volumeLifecycleModes") or []) or NONE),
        AGE,
    ),
    "CSINode": (NAME, number("Drivers", lambda one: len(spec_of(one).get("drivers") or [])), AGE),
    "CSIStorageCapacity": (
        NAME,
        text("StorageClassName", at_top("storageClassName")),
        text("Capacity", at_top("capacity", UNSET)),
    ),
    "DeviceClass": (NAME, AGE),
    "DeviceTaintRule": (NAME, AGE),
    "PersistentVolume": (
        NAME,
        text("Capacity", lambda one: _capacity(spec_of(one))),
        text("Access Modes", lambda one: _modes(spec_of(one).get("accessModes"))),
        text("Reclaim Policy", in_spec("persistentVolumeReclaimPolicy")),
        text("Status", _phase),
        text("Claim", _claim_of),
        text("StorageClass", _class),
        text("VolumeAttributesClass", in_spec("volumeAttributesClassName", UNSET)),
        text("Reason", in_status("reason")),
        AGE,
        text("VolumeMode", in_spec("volumeMode", UNSET), wide=True),
    ),
    "PersistentVolumeClaim": (
        NAME,
        text("Status", _phase),
        text("Volume", in_spec("volumeName")),
        text("Capacity", _when_bound(_capacity)),
        text("Access Modes", _when_bound(lambda status: _modes(status.get("accessModes")))),
        text("StorageClass", _class),
        text("VolumeAttributesClass", in_spec("volumeAttributesClassName", UNSET)),
        AGE,
        text("VolumeMode", in_spec("volumeMode", UNSET), wide=True),
    ),
    "ResourceClaim": (NAME, text("State", _claim_state), AGE),
    "ResourceClaimTemplate": (NAME, AGE),
    "ResourceSlice": (
        NAME,
        text("Node", in_spec("nodeName")),
        text("Driver", in_spec("driver")),
        text("Pool", lambda one: (spec_of(one).get("pool") or {}).get("name", "")),
        AGE,
    ),
    "StorageClass": (
        Column("Name", format="name", get=_class_name),
        text("Provisioner", at_top("provisioner")),
        text("ReclaimPolicy", at_top("reclaimPolicy", "Delete")),
        text("VolumeBindingMode", at_top("volumeBindingMode", "Immediate")),
        flag("AllowVolumeExpansion", at_top("allowVolumeExpansion")),
        AGE,
    ),
    "VolumeAttachment": (
        NAME,
        Column("Attacher", format="name", get=lambda one, now: in_spec("attacher")(one)),
        text("PV", lambda one: (spec_of(one).get("source") or {}).get("persistentVolumeName", "")),
        text("Node", in_spec("nodeName")),
        flag("Attached", in_status("attached")),
        AGE,
    ),
    "VolumeAttributesClass": (
        Column("Name", format="name", get=_class_name),
        text("DriverName", at_top("driverName")),
        AGE,
    ),
}
