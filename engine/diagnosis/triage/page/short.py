"""A cause in two to five words, for an overview and a time line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from engine.diagnosis.explaining import short_of_plugin
from engine.diagnosis.triage.pending_pods.groups import unplayed_claims
from engine.diagnosis.triage.pending_pods.held import Held
from engine.diagnosis.triage.report import Group
from engine.framework import names
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, CountPhrase, Sentence, count_phrase, say, say_count

_OF_FAMILY: Final[Mapping[str, Sentence]] = {
    "gate": say("held by scheduling gates"),
    "fits": say("refused before, fit now"),
    "selector": say("held by node affinity"),
    "affinity": say("kept apart from other pods"),
    "port": say("host port is taken"),
    "devices": say("short of devices"),
    names.EXTENDER: say("refused by an extender"),
}
_OF_REASON: Final[Mapping[str, Sentence]] = {
    "ImagePullBackOff": say("image cannot be pulled"),
    "ErrImagePull": say("image cannot be pulled"),
    "CrashLoopBackOff": say("container crashes"),
    "FailedAttachVolume": say("volume cannot be attached"),
    "FailedMount": say("volume cannot be mounted"),
    "FailedMapVolume": say("volume cannot be mapped"),
    "FailedPrepareDynamicResources": say("devices are not prepared"),
    "FailedCreatePodSandBox": say("sandbox cannot be made"),
    "PodInitializing": say("init containers have not ended"),
    "ContainerCreating": say("containers are not created"),
    "PodResizePending": say("pod cannot be resized"),
    "PodResizeInProgress": say("pod cannot be resized"),
    "Unhealthy": say("probe fails"),
    "BackOff": say("container starts again and again"),
    "CreateContainerConfigError": say("container cannot be configured"),
    "ProvisioningFailed": say("provisioning fails"),
    "ExternalProvisioning": say("no provisioner acts"),
    "FailedBinding": say("claim cannot be bound"),
    "ClaimLost": say("volume is gone"),
    "VolumeResizeFailed": say("volume cannot grow"),
    "FileSystemResizeFailed": say("volume cannot grow"),
    "Resizing": say("volume does not grow"),
    "FileSystemResizePending": say("volume does not grow"),
    "ModifyVolumeError": say("volume is not modified"),
    "VolumeModifyFailed": say("volume is not modified"),
}
# By the object that causes it.
_OF_OBJECT: Final[Mapping[str, Sentence]] = {
    "secret": say("Secret is missing"),
    "configmap": say("ConfigMap is missing"),
    "serviceaccount": say("ServiceAccount is missing"),
    "storageclass": say("refused by StorageClass"),
    "priorityclass": say("PriorityClass is missing"),
    "volumesnapshot": say("snapshot cannot be restored"),
    "persistentvolumeclaim": say("claim cannot be copied"),
    "resourcequota": say("refused by quota"),
    "webhook": say("refused by a webhook"),
    "validatingwebhookconfiguration": say("refused by a webhook"),
    "mutatingwebhookconfiguration": say("refused by a webhook"),
    "volumeattachment": say("volume is attached elsewhere"),
}
# By who keeps pods from being made.
_OF_RULE: Final[Mapping[str, Sentence]] = {
    "limitrange": say("refused by a LimitRange"),
    "runtimeclass": say("RuntimeClass is missing"),
    "deployment": say("rollout does not go on"),
    "job": say("job makes no pods"),
}
_OF_KIND: Final[Mapping[str, Sentence]] = {
    "pending": say("no node takes them"),
    "placed-but-stuck": say("placed, but not running"),
    "claim": say("claim does not go on"),
    "workload-refused": say("refused by the API server"),
    "node": say("node is not ready"),
    "terminating": say("cannot end"),
}


# Some of a kind, and how many.
_RESOURCES: Final = (say("some resources"), count_phrase("{count} resource", "{count} resources"))
_TAINTS: Final = (say("some taints"), count_phrase("{count} taint", "{count} taints"))


def short_of_pending(held: Held) -> Sentence:
    """Of pods without a node: the rule that refuses them."""
    family, *rest = held.signature
    if family == "resources":
        return say("short of {resources}", resources=_one_of(rest[:-1], _RESOURCES))
    if family == "taint":
        return say("kept off by {taint}", taint=_taint(rest))
    if family == "selector" and "=" in rest[0]:
        if len(rest) == 1:
            return say("select nodes with {label}", label=rest[0])
        return say_count(
            "select nodes with {count} label", "select nodes with {count} labels", len(rest)
        )
    if family == "scheduler":
        return say("left to scheduler {scheduler}", scheduler=rest[0])
    if family == "volume":
        return _volume(held)
    if family == "fits" and held.main is None and unplayed_claims(held):
        return say("asks for devices, not modelled here")
    plugin = held.main.plugin if held.main is not None else ""
    world = held.classes[0].world
    said = short_of_plugin(world, plugin) if world is not None else NOTHING
    refused = say("refused by {plugin}", plugin=plugin) if plugin else _OF_KIND["pending"]
    return _OF_FAMILY.get(family) or said or refused


def short_of(group: Group) -> Sentence:
    """What was observed of any other group, or else the object behind it."""
    if group.kind == "terminating" and group.by.startswith("finalizer "):
        return say("held by a finalizer")
    kind = group.by.partition(" ")[0]
    if group.kind in ("placed-but-stuck", "claim"):
        # "FailedMount ×7, last …: message", "Condition Resizing since …"
        words = group.observed.partition(":")[0].split(" ", 2)
        reason = words[1] if words[0] == "Condition" and len(words) > 1 else words[0]
        # "volume pv-1 (driver …)" is a volume whose driver is there and refuses.
        is_of_driver = kind == "driver" or (kind != "volume" and "(driver " in group.by)
        if is_of_driver and (kind == "driver" or group.kind == "placed-but-stuck"):
            return say("CSI driver is not registered")
        said = _OF_OBJECT.get(kind) if kind != "storageclass" else None
        return said or _OF_REASON.get(reason) or _OF_KIND[group.kind]
    if group.kind == "workload-refused":
        return _OF_RULE.get(kind) or _OF_OBJECT.get(kind) or _OF_KIND[group.kind]
    if group.kind == "node" and kind == "poddisruptionbudget":
        return say("a budget refuses the drain")
    return _OF_KIND[group.kind]


def _taint(texts: list[str]) -> Sentence:
    """ "taint nvidia.com/gpu" of "untolerated taint nvidia.com/gpu=present:NoSchedule"."""
    keys = {
        text.removeprefix("untolerated taint ").partition(":")[0].partition("=")[0]: None
        for text in texts
        if text.startswith("untolerated taint ")
    }
    return _one_of([say("taint {key}", key=key) for key in keys], _TAINTS)


def _one_of(names: Sequence[str], several: tuple[Sentence, CountPhrase]) -> Sentence:
    """The only one by its name, two of few words by theirs, more by their number."""
    if len(names) == 1 or sum(len(each.split()) for each in names) == 2 == len(names):
        return listed(names)
    some, counted = several
    return counted.say(len(names)) if names else some


def _volume(held: Held) -> Sentence:
    """Where the volumes can be used, or what is the matter with them."""
    main, world = held.main, held.classes[0].world
    assert main is not None
    assert world is not None
    left = held.signature[1:]
    is_few = 0 < len(left) < len(world.table) and all(name in world.table.rows for name in left)
    if is_few and len(main.nodes) < len(world.table):
        if len(left) == 1:
            return say("volumes only usable on {node}", node=left[0])
        return say_count(
            "volumes only usable on {count} node", "volumes only usable on {count} nodes", len(left)
        )
    return say("no volume for a claim")
