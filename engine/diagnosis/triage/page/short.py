"""A cause in two to five words, for an overview and a time line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.diagnosis.explaining import short_of_plugin
from engine.diagnosis.triage.pending_pods.held import Held
from engine.diagnosis.triage.report import Group
from engine.framework import names
from engine.framework.explaining.case import listed

_OF_FAMILY: Final[Mapping[str, str]] = {
    "gate": "held by scheduling gates",
    "fits": "refused before, fit now",
    "selector": "held by node affinity",
    "affinity": "kept apart from other pods",
    "port": "host port is taken",
    "devices": "short of devices",
    names.EXTENDER: "refused by an extender",
}
_OF_REASON: Final[Mapping[str, str]] = {
    "ImagePullBackOff": "image cannot be pulled",
    "ErrImagePull": "image cannot be pulled",
    "CrashLoopBackOff": "container crashes",
    "FailedAttachVolume": "volume cannot be attached",
    "FailedMount": "volume cannot be mounted",
    "FailedMapVolume": "volume cannot be mapped",
    "FailedPrepareDynamicResources": "devices are not prepared",
    "FailedCreatePodSandBox": "sandbox cannot be made",
    "ContainerCreating": "containers are not created",
    "Unhealthy": "probe fails",
    "BackOff": "container starts again and again",
    "CreateContainerConfigError": "container cannot be configured",
    "ProvisioningFailed": "provisioning fails",
    "ExternalProvisioning": "no provisioner acts",
    "FailedBinding": "claim cannot be bound",
    "ClaimLost": "volume is gone",
    "VolumeResizeFailed": "volume cannot grow",
    "FileSystemResizeFailed": "volume cannot grow",
    "Resizing": "volume does not grow",
    "FileSystemResizePending": "volume does not grow",
}
# By the object that causes it.
_OF_OBJECT: Final[Mapping[str, str]] = {
    "secret": "Secret is missing",
    "configmap": "ConfigMap is missing",
    "serviceaccount": "ServiceAccount is missing",
    "storageclass": "refused by StorageClass",
    "priorityclass": "PriorityClass is missing",
    "volumesnapshot": "snapshot cannot be restored",
    "persistentvolumeclaim": "claim cannot be copied",
    "resourcequota": "refused by quota",
    "webhook": "refused by a webhook",
    "validatingwebhookconfiguration": "refused by a webhook",
    "mutatingwebhookconfiguration": "refused by a webhook",
    "volumeattachment": "volume is attached elsewhere",
}
# By who keeps pods from being made.
_OF_RULE: Final[Mapping[str, str]] = {
    "limitrange": "refused by a LimitRange",
    "runtimeclass": "RuntimeClass is missing",
    "deployment": "rollout does not go on",
    "job": "job makes no pods",
}
_OF_KIND: Final[Mapping[str, str]] = {
    "pending": "no node takes them",
    "placed-but-stuck": "placed, but not running",
    "claim": "claim does not go on",
    "workload-refused": "refused by the API server",
    "node": "node is not ready",
    "terminating": "cannot end",
}


def short_of_pending(held: Held) -> str:
    """Of pods without a node: the rule that refuses them."""
    family, *rest = held.signature
    if family == "resources":
        return f"short of {_one_of(rest[:-1], 'resources')}"
    if family == "taint":
        return f"kept off by {_taint(rest)}"
    if family == "selector" and "=" in rest[0]:
        return f"select nodes with {rest[0] if len(rest) == 1 else f'{len(rest)} labels'}"
    if family == "scheduler":
        return f"left to scheduler {rest[0]}"
    if family == "volume":
        return _volume(held)
    plugin = held.main.plugin if held.main is not None else ""
    world = held.classes[0].world
    said = short_of_plugin(world, plugin) if world is not None else ""
    refused = f"refused by {plugin}" if plugin else _OF_KIND["pending"]
    return _OF_FAMILY.get(family) or said or refused


def short_of(group: Group) -> str:
    """What was observed of any other group, or else the object behind it."""
    if group.kind == "terminating" and group.by.startswith("finalizer "):
        return "held by a finalizer"
    kind = group.by.partition(" ")[0]
    if group.kind in ("placed-but-stuck", "claim"):
        # "FailedMount ×7, last …: message"
        reason = group.observed.partition(":")[0].partition(" ")[0]
        if "(driver " in group.by and group.kind == "placed-but-stuck" or kind == "driver":
            return "CSI driver is not registered"
        said = _OF_OBJECT.get(kind, "") if kind != "storageclass" else ""
        return said or _OF_REASON.get(reason, "") or _OF_KIND[group.kind]
    if group.kind == "workload-refused":
        return _OF_RULE.get(kind) or _OF_OBJECT.get(kind) or _OF_KIND[group.kind]
    return _OF_KIND[group.kind]


def _taint(texts: list[str]) -> str:
    """ "taint nvidia.com/gpu" of "untolerated taint nvidia.com/gpu=present:NoSchedule"."""
    keys = {
        text.removeprefix("untolerated taint ").partition(":")[0].partition("=")[0]: None
        for text in texts
        if text.startswith("untolerated taint ")
    }
    return _one_of([f"taint {key}" for key in keys], "taints")


def _one_of(names: list[str], what: str) -> str:
    """The only one by its name, two of few words by theirs, more by their number."""
    if len(names) == 1 or sum(len(each.split()) for each in names) == 2 == len(names):
        return listed(names)
    return f"{len(names)} {what}" if names else f"some {what}"


def _volume(held: Held) -> str:
    """Where the volumes can be used, or what is the matter with them."""
    main, world = held.main, held.classes[0].world
    assert main is not None
    assert world is not None
    left = held.signature[1:]
    is_few = 0 < len(left) < len(world.table) and all(name in world.table.rows for name in left)
    if is_few and len(main.nodes) < len(world.table):
        where = left[0] if len(left) == 1 else f"{len(left)} nodes"
        return f"volumes only usable on {where}"
    return "no volume for a claim"
