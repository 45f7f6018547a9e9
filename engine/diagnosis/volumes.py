"""The one object that would put the pod's claims right: a claim, a class, a volume, capacity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, Situation, patched
from engine.diagnosis.world import World
from engine.framework.explaining.manifests import HOSTNAME
from engine.kernel.sentences import Sentence, say
from engine.objects.manifest_parts import items, section
from engine.objects.objects import (
    Manifest,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    quantity,
)
from engine.objects.phases import NO_PROVISIONER, claim_class

_DELAYED: Final = "WaitForFirstConsumer"
_NEW_SIZE: Final = "1Gi"
_CAPACITY: Final = "CSIStorageCapacity"
_ZONES: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
# How many nodes or zones a new volume is tried for.
_PLACES = 4


# -- what would put it right ---------------------------------------------------------------------


def missing_claims(situation: Situation) -> Iterator[Candidate]:
    """Create the claim that the pod names, as some class or some free volume could serve it."""
    world, pod = situation.world, situation.pod
    created = {
        f"{pod.name}-{volume.get('name')}" for volume in pod.volumes if "ephemeral" in volume
    }
    for name in pod.claim_names:
        key = f"{pod.namespace}/{name}"
        if world.listers.claim(key) is not None or name in created:
            continue
        for storage_class in world.storage_classes():
            if storage_class.provisioner not in ("", NO_PROVISIONER):
                spec = _claim_spec(storage_class.name, _NEW_SIZE, ["ReadWriteOnce"], {})
                yield _claim(pod.namespace, name, spec)
        free = [volume for volume in world.volumes() if _is_free(volume)]
        for volume in sorted(free, key=_size)[:_PLACES]:
            size = str(section(volume.spec, "capacity").get("storage", _NEW_SIZE))
            spec = _claim_spec(
                volume.storage_class_name, size, list(volume.access_modes), volume.spec
            )
            yield _claim(pod.namespace, name, spec)


def _claim_spec(name: str, size: str, modes: list[str], volume: Any) -> Manifest:
    spec: Manifest = {
        "accessModes": modes,
        "resources": {"requests": {"storage": size}},
        "storageClassName": name,
    }
    if volume.get("volumeMode"):
        spec["volumeMode"] = volume["volumeMode"]
    return spec


def _claim(namespace: str, name: str, spec: Manifest) -> Candidate:
    manifest = {
        "apiVersion": "v1",
        "kind": PersistentVolumeClaim.KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
    size, storage_class = spec["resources"]["requests"]["storage"], spec["storageClassName"]
    key = f"{namespace}/{name}"
    text = say("Create the claim {claim}, {size} without a class", claim=key, size=size)
    if storage_class:
        text = say(
            "Create the claim {claim}, {size} of class {storage_class}",
            claim=key,
            size=size,
            storage_class=storage_class,
        )
    return Candidate(
        kind="claim",
        text=text,
        command=Command(verb="create", manifest=manifest),
        decidable=False,
        note=say("The claim starts empty and takes storage of its own."),
    )


def _is_free(volume: PersistentVolume) -> bool:
    return volume.claim_ref is None and not volume.deletion_timestamp


def _size(volume: PersistentVolume) -> tuple[int, str]:
    return volume.capacity_bytes, volume.name


def missing_classes(situation: Situation) -> Iterator[Candidate]:
    """Create the class that a claim asks for, or give a claim without one a class."""
    for claim in _waiting_claims(situation.world):
        name = claim_class(claim)
        known = situation.world.storage_classes()
        if name and situation.world.listers.storage_class(name) is None:
            for storage_class in known:
                yield _class_like(storage_class, name)
        if claim.storage_class_name is None:
            for storage_class in known:
                patch = {"spec": {"storageClassName": storage_class.name}}
                yield Candidate(
                    kind="class",
                    text=say(
                        "Give the claim {claim} the class {storage_class}",
                        claim=claim.key,
                        storage_class=storage_class.name,
                    ),
                    command=patched(claim.id, patch),
                    decidable=False,
                    note=say("The class of a claim cannot be changed afterwards."),
                )


def _class_like(storage_class: StorageClass, name: str) -> Candidate:
    kept = ("apiVersion", "kind", "provisioner", "parameters", "volumeBindingMode")
    raw = storage_class.raw
    manifest = {key: raw[key] for key in (*kept, "reclaimPolicy") if key in raw}
    command = Command(verb="create", manifest={**manifest, "metadata": {"name": name}})
    return Candidate(
        kind="class",
        text=say(
            "Create the class {name}, like {storage_class}",
            name=name,
            storage_class=storage_class.name,
        ),
        command=command,
        decidable=False,
        note=say("Other claims that name the class are then provisioned, too."),
    )


def more_volumes(situation: Situation) -> Iterator[Candidate]:
    """One more volume for a claim that waits: where the others of its class are, or anywhere."""
    yield from lost_volumes(situation)
    for claim in _waiting_claims(situation.world):
        storage_class = situation.world.listers.storage_class(claim_class(claim))
        delayed = storage_class is not None and storage_class.binding_mode == _DELAYED
        for affinity, add in _places(situation, claim, storage_class):
            manifest = _volume(situation.world, claim, affinity)
            yield Candidate(
                kind="volume",
                text=add,
                command=Command(verb="create", manifest=manifest),
                decidable=delayed,
                note=say("The storage behind it has to exist; another claim may take it first."),
            )


def lost_volumes(situation: Situation) -> Iterator[Candidate]:
    """The volume that a claim is bound to and that is gone, made again."""
    world, pod = situation.world, situation.pod
    for name in pod.claim_names:
        claim = world.listers.claim(f"{pod.namespace}/{name}")
        if claim is None or not claim.volume_name:
            continue
        if world.listers.volume(claim.volume_name) is None:
            manifest = _volume(world, claim, None, claim.volume_name)
            size = quantity.format_bytes(claim.request_bytes)
            yield Candidate(
                kind="volume",
                text=say(
                    "Create the volume {volume_name} again, {size}",
                    volume_name=claim.volume_name,
                    size=size,
                ),
                command=Command(verb="create", manifest=manifest),
                decidable=False,
                note=say("It has to point at the old storage: a new one does not hold its data."),
            )


def _waiting_claims(world: World) -> list[PersistentVolumeClaim]:
    claims = [
        world.listers.claim(f"{world.pod.namespace}/{name}") for name in world.pod.claim_names
    ]
    return [claim for claim in claims if claim is not None and not claim.volume_name]


def _places(
    situation: Situation, claim: PersistentVolumeClaim, storage_class: StorageClass | None
) -> Sequence[tuple[tuple[str, str] | None, Sentence]]:
    """Node labels that the new volume may need, with the change in words; None for no need."""
    siblings = [
        volume
        for volume in situation.world.volumes()
        if volume.storage_class_name == claim_class(claim)
    ]
    keys = [key for volume in siblings for key in _affinity_keys(volume)]
    near = [node for _, node in situation.near(len(situation.refused))]
    near = near or [node for _, node in situation.world.nodes()]
    places: list[tuple[tuple[str, str] | None, Sentence]] = []
    volume = _volume_text(claim)
    if HOSTNAME in keys or (not siblings and _is_local(storage_class)):
        places.extend(
            (
                (HOSTNAME, node.labels[HOSTNAME]),
                say("Add {volume} on {node}", volume=volume, node=node.name),
            )
            for node in near
            if HOSTNAME in node.labels
        )
    elif any(key in _ZONES for key in keys):
        zones = dict.fromkeys(found for node in near if (found := _zone(node)) is not None)
        places.extend(
            (zone, say("Add {volume} in zone {zone}", volume=volume, zone=zone[1]))
            for zone in zones
        )
    return places[:_PLACES] or [(None, say("Add {volume}", volume=volume))]


def _volume_text(claim: PersistentVolumeClaim) -> Sentence:
    size, name = quantity.format_bytes(claim.request_bytes), claim_class(claim)
    if not name:
        return say("a volume of {size} without a class", size=size)
    return say("a volume of {size} of class {storage_class}", size=size, storage_class=name)


def _is_local(storage_class: StorageClass | None) -> bool:
    """Whether volumes of the class are made by hand for a pod that is placed first."""
    return (
        storage_class is not None
        and storage_class.provisioner == NO_PROVISIONER
        and storage_class.binding_mode == _DELAYED
    )


def _affinity_keys(volume: PersistentVolume) -> list[str]:
    terms = items(section(volume.spec, "nodeAffinity", "required"), "nodeSelectorTerms")
    return [str(each.get("key")) for term in terms for each in items(term, "matchExpressions")]


def _zone(node: Node) -> tuple[str, str] | None:
    return next(((key, node.labels[key]) for key in _ZONES if key in node.labels), None)


def _volume(
    world: World,
    claim: PersistentVolumeClaim,
    affinity: tuple[str, str] | None,
    name: str = "",
) -> Manifest:
    """A volume just as the claim wants it."""
    name = name or _free_name(world, claim)
    spec: Manifest = {
        "accessModes": list(claim.access_modes),
        "capacity": {"storage": str(claim.request_bytes)},
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": claim_class(claim),
        "volumeMode": claim.spec.get("volumeMode") or "Filesystem",
    }
    if affinity is not None and affinity[0] == HOSTNAME:
        spec["local"] = {"path": f"/mnt/{name}"}
    else:
        spec["hostPath"] = {"path": f"/mnt/{name}"}
    if affinity is not None:
        requirement = {"key": affinity[0], "operator": "In", "values": [affinity[1]]}
        terms = [{"matchExpressions": [requirement]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    labels = section(claim.spec, "selector", "matchLabels")
    return {
        "apiVersion": "v1",
        "kind": PersistentVolume.KIND,
        "metadata": {"name": name, "labels": dict(labels)} if labels else {"name": name},
        "spec": spec,
    }


def _free_name(world: World, claim: PersistentVolumeClaim) -> str:
    name, number = f"for-{claim.name}", 2
    while world.listers.volume(name) is not None:
        name, number = f"for-{claim.name}-{number}", number + 1
    return name


def more_capacity(situation: Situation) -> Iterator[Candidate]:
    """Room on a driver's storage, where it says that it has too little."""
    world = situation.world
    for claim in _waiting_claims(world):
        for capacity in world.listers.all("CSIStorageCapacity"):
            if capacity.raw.get("storageClassName") != claim_class(claim):
                continue
            limit = capacity.raw.get("maximumVolumeSize") or capacity.raw.get("capacity") or 0
            if quantity.value(limit) >= claim.request_bytes:
                continue
            size = quantity.format_bytes(claim.request_bytes)
            patch: Manifest = {"capacity": str(claim.request_bytes)}
            if capacity.raw.get("maximumVolumeSize"):
                patch["maximumVolumeSize"] = str(claim.request_bytes)
            yield Candidate(
                kind="capacity",
                text=say(
                    "Let storage {capacity} of class {claim_class} have room for {size}",
                    capacity=capacity.name,
                    claim_class=claim_class(claim),
                    size=size,
                ),
                command=patched(capacity.id, patch),
                note=say("The driver publishes what its storage has: add storage there."),
            )


def published_capacity(situation: Situation) -> Iterator[Candidate]:
    """Capacity of a class for which none is published, or a driver that is not asked for it."""
    world = situation.world
    published = {each.raw.get("storageClassName") for each in world.listers.all(_CAPACITY)}
    for claim in _waiting_claims(world):
        storage_class = world.listers.storage_class(claim_class(claim))
        driver = storage_class and world.listers.get("CSIDriver", storage_class.provisioner)
        if storage_class is None or driver is None or not driver.spec.get("storageCapacity"):
            continue
        for _, node in situation.near(_PLACES):
            if storage_class.name in published or HOSTNAME not in node.labels:
                continue
            size = quantity.format_bytes(claim.request_bytes)
            yield Candidate(
                kind="capacity",
                text=say(
                    "Let {driver} publish {size} of class {storage_class} on {node}",
                    driver=driver.name,
                    size=size,
                    storage_class=storage_class.name,
                    node=node.name,
                ),
                command=Command(
                    verb="create", manifest=_capacity(world, storage_class, node, claim)
                ),
                note=say(
                    "Its provisioner does so by itself when it runs; look at its leader election."
                ),
            )
        yield Candidate(
            kind="driver",
            text=say(
                "Let {driver} be placed without its capacity (storageCapacity: false)",
                driver=driver.name,
            ),
            command=patched(driver.id, {"spec": {"storageCapacity": False}}),
            decidable=False,
            note=say("Pods may then go to nodes where its provisioner has no room left."),
        )


def _capacity(
    world: World, storage_class: StorageClass, node: Node, claim: PersistentVolumeClaim
) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": _CAPACITY,
        "metadata": {
            "name": f"{storage_class.name}-{node.name}",
            "namespace": world.pod.namespace,
        },
        "storageClassName": storage_class.name,
        "nodeTopology": {"matchLabels": {HOSTNAME: node.labels[HOSTNAME]}},
        "capacity": str(claim.request_bytes),
        "maximumVolumeSize": str(claim.request_bytes),
    }
