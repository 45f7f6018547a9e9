"""Claims that are not bound, or that do not grow, for a reason of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from engine.cluster.told_troubles import has_grown
from engine.diagnosis.candidates import made_again
from engine.diagnosis.observed.evidence import Evidence, SeenEvent, condition, key_of, told_by
from engine.diagnosis.triage.carrying_out import bodies, patch_of
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.report import Change, Group
from engine.diagnosis.triage.stuck.controllers import IS_DRIVER, IS_THAT_ONE, behind
from engine.diagnosis.triage.stuck.explained import facts_of
from engine.diagnosis.triage.stuck.inferred import claim_refusal
from engine.diagnosis.triage.stuck.refusals import started
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, say, say_count, together, verbatim
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest, from_manifest
from engine.objects.phases import ATTRIBUTES_CLASS, SELECTED_NODE
from engine.objects.values.quantity import value

_REFUSED: Final = ("ProvisioningFailed", "FailedBinding", "ClaimLost", "ClaimMisbound")
# What the PV controller itself finds, which is played.
_OF_CONTROLLER: Final = ("FailedBinding", "ClaimLost", "ClaimMisbound")
_LOST: Final = ("ClaimLost", "ClaimMisbound")
_RESIZE: Final = ("VolumeResizeFailed", "FileSystemResizeFailed", "ExternalExpanding")
_EXPANDS: Final = "ExternalExpanding"
_WAITS_FOR_POD: Final = "FileSystemResizePending"
_RESIZING: Final = (
    "Resizing",
    "FileSystemResizePending",
    "ControllerResizeError",
    "NodeResizeError",
)
# Upstream: external-resizer, pkg/modifycontroller; k8s.io/api core/v1, ModifyVolumeStatus.
_MODIFY: Final = ("VolumeModifyFailed", "ModifyVolumeError")
_REFUSED_MODIFY: Final = ("Infeasible", "Pending")
_WAITS: Final = "ExternalProvisioning"
_PATIENCE_SECONDS: Final = 300
_NO_CLASS: Final = re.compile(r'storageclass\S* "([^"]+)" not found')
_GONE: Final = re.compile(r'failed to get target node: node "([^"]+)" not found')
_OWN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{12,64}\b")


@dataclass(slots=True)
class _Stuck:
    """Claims that one thing holds."""

    reason: str
    message: str
    claims: list[Manifest] = field(default_factory=list[Manifest])
    events: list[SeenEvent] = field(default_factory=list[SeenEvent])


def claim_groups(evidence: Evidence) -> Iterator[Group]:
    """Claims that a driver or a controller refuses, with the pods that wait for nothing else."""
    found: dict[tuple[str, ...], _Stuck] = {}
    counted: set[str] = set()
    for claim in evidence.all("PersistentVolumeClaim"):
        if claim["metadata"].get("deletionTimestamp"):
            continue
        said = _trouble(evidence, claim)
        if said is None:
            continue
        reason, message, events = said
        group = found.setdefault(_key(claim, reason, message), _Stuck(reason, message))
        group.claims.append(claim)
        group.events += events
    for key, group in found.items():
        # A pod that waits for several claims is counted once.
        pods = [pod for pod in _waiting_pods(evidence, group.claims) if pod not in counted]
        counted.update(pods)
        yield _group(evidence, key, group, pods)


def _trouble(evidence: Evidence, claim: Manifest) -> tuple[str, str, list[SeenEvent]] | None:
    phase = section(claim, "status").get("phase")
    if phase == "Lost":
        return _lost(evidence, claim)
    if phase == "Bound":
        return _resizing(evidence, claim) or _modifying(evidence, claim)
    events = evidence.events(claim, *_REFUSED)
    if events:
        return events[-1].reason, events[-1].message, events
    refusal = claim_refusal(evidence, claim)
    if refusal is not None:
        return *refusal, []
    waits = evidence.events(claim, _WAITS)
    if waits and evidence.age_seconds(waits[0].first) > _PATIENCE_SECONDS:
        return _WAITS, waits[-1].message, waits
    return None


def _lost(evidence: Evidence, claim: Manifest) -> tuple[str, str, list[SeenEvent]]:
    """Upstream: pkg/controller/volume/persistentvolume/pv_controller.go, syncBoundClaim()."""
    events = evidence.events(claim, *_LOST)
    if events:
        return events[-1].reason, events[-1].message, events
    name = str(section(claim, "spec").get("volumeName") or "")
    volume = evidence.find("PersistentVolume", name)
    if not name:
        text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        return _LOST[0], text, []
    if volume is None:
        return (
            _LOST[0],
            "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
            [],
        )
    if section(volume, "spec", "claimRef").get("uid") != claim["metadata"].get("uid"):
        text = "Two claims are bound to the same volume, this one is bound incorrectly"
        return _LOST[1], text, []
    return _LOST[0], "", []


def _resizing(evidence: Evidence, claim: Manifest) -> tuple[str, str, list[SeenEvent]] | None:
    """A claim that asks for more than it has, and does not get it."""
    found = next((each for kind in _RESIZING if (each := condition(claim, kind)) is not None), None)
    events = evidence.events(claim, *_RESIZE)
    failed = [each for each in events if each.reason != "ExternalExpanding"]
    if failed and not has_grown(claim):
        return failed[-1].reason, failed[-1].message, failed
    is_old = bool(events) and evidence.age_seconds(events[0].first) > _PATIENCE_SECONDS
    if found is None and is_old and _grows(claim):
        return events[-1].reason, events[-1].message, events
    if found is None or found.get("status") != "True":
        return None
    since = str(found.get("lastTransitionTime") or "")
    if evidence.age_seconds(since) <= _PATIENCE_SECONDS:
        return None
    return str(found.get("type")), str(found.get("message") or ""), events


def _modifying(evidence: Evidence, claim: Manifest) -> tuple[str, str, list[SeenEvent]] | None:
    """A claim that names another VolumeAttributesClass than it has, and does not get it."""
    under_way = section(claim, "status", "modifyVolumeStatus")
    seen = condition(claim, _MODIFY[1]) or {}
    has_failed = seen.get("status") == "True"
    if not under_way or not (has_failed or under_way.get("status") in _REFUSED_MODIFY):
        return None
    events = evidence.events(claim, _MODIFY[0])
    if events:
        return events[-1].reason, events[-1].message, events
    return _MODIFY[1], str(seen.get("message") or under_way.get("status")), []


def _grows(claim: Manifest) -> bool:
    """Whether it asks for more than it has."""
    has = section(claim, "status", "capacity").get("storage")
    wanted = section(claim, "spec", "resources", "requests").get("storage")
    return bool(has and wanted) and value(str(wanted)) > value(str(has))


def _key(claim: Manifest, reason: str, message: str) -> tuple[str, ...]:
    spec = section(claim, "spec")
    storage_class = str(spec.get("storageClassName") or "")
    if reason in _MODIFY:
        return ("attributes", _attributes_wanted(claim))
    missing = _NO_CLASS.search(message)
    if missing is not None:
        return ("class", missing[1])
    source = section(spec, "dataSource") or section(spec, "dataSourceRef")
    if source:
        namespace = str(claim["metadata"].get("namespace"))
        return ("source", f"{source.get('kind')} {namespace}/{source.get('name')}")
    text = message.replace(str(claim["metadata"]["name"]), "CLAIM")
    volume = str(spec.get("volumeName") or "VOLUME")
    return (reason, storage_class, _OWN.sub("#", text.replace(volume, "VOLUME")))


def _group(evidence: Evidence, key: tuple[str, ...], found: _Stuck, pods: list[str]) -> Group:
    keys = sorted(key_of(each) for each in found.claims)
    first = found.claims[0]
    spec = section(first, "spec")
    class_name = str(spec.get("storageClassName") or "")
    storage_class = evidence.find("StorageClass", class_name)
    driver = str(storage_class.get("provisioner") or "") if storage_class is not None else ""
    said = verbatim(found.reason)
    if found.message:
        message = found.message.rstrip(".")
        said = say("{reason}: {message}", reason=found.reason, message=message)
    text = say_count(
        "Claim {claims}: {said}.",
        "The {count} claims {claims}: {said}.",
        len(keys),
        claims=listed(keys, 3),
        said=said,
    )
    by = f"the {len(keys)} claims {listed(keys, 3)}" if len(keys) > 1 else f"claim {keys[0]}"
    if class_name:
        by = known_as("storageclass", class_name)
    changes: list[Change] = []
    facts: tuple[str, ...] = ()
    if key[0] == "class":
        known = listed(
            sorted(str(each["metadata"]["name"]) for each in evidence.all("StorageClass")), 4
        )
        text = together(
            text, say("The cluster has {classes}.", classes=known) if known else NOTHING
        )
        by = known_as("storageclass", key[1])
        changes.append(
            Change(
                text=say(
                    "Create StorageClass {key}, or make the claims again with another", key=key[1]
                ),
                kind="class",
            )
        )
    elif key[0] == "source":
        text, by, changes = _source(evidence, first, text, key[1], driver)
    elif found.reason in _LOST:
        text, changes = _loss(evidence, found.claims, text)
    elif (gone := _GONE.search(found.message)) is not None:
        text = together(
            text,
            say(
                "Annotation {annotation} still names {node}; the provisioner takes it off, so that "
                "a scheduler chooses anew, where it runs and may change claims.",
                annotation=SELECTED_NODE,
                node=gone[1],
            ),
        )
        changes = [_chosen_anew(found.claims, gone[1])]
    elif found.reason in (*_RESIZE, *_RESIZING):
        text, changes = _growth(evidence, found.claims, text)
        if found.reason == _EXPANDS:
            text, changes = _resizer(evidence, driver, text)
    elif found.reason in _MODIFY:
        text, by, changes = _modification(evidence, found.claims, text)
    elif driver and (owner := behind(evidence, driver, "controller", "provisioner")) is not None:
        text = together(text, owner.said(evidence, IS_DRIVER, driver=driver))
        facts = facts_of(owner)
        if not owner.is_running:
            by = f"{owner.name} ({known_as('storageclass', class_name)})"
            changes = [started(owner.workload)]
    if driver and by.startswith("storageclass"):
        by = f"{by} ({known_as('driver', driver)})"
    since = min((each.first for each in found.events), default="")
    seen = condition(first, found.reason)
    since = since or str((seen or {}).get("lastTransitionTime") or "")
    created = str(first["metadata"].get("creationTimestamp") or "")
    return Group(
        kind="claim",
        cause=text,
        by=by,
        observed=_observed(found),
        predicted=_predicted(found),
        contradicts=bool(found.events) and found.reason not in _OF_CONTROLLER,
        since=since or created,
        pods=tuple(pods),
        claims=tuple(keys),
        workloads=tuple(
            evidence.workloads(filter(None, (evidence.find("Pod", key) for key in pods)))
        ),
        facts=(*([f"class/{class_name}"] if class_name else []), *facts),
        changes=tuple(changes),
        conclusion=NOTHING
        if changes
        else say("No change was tried: what this driver accepts is outside the model."),
    )


def _observed(found: _Stuck) -> Sentence:
    """What the files say; a refusal that was inferred from the objects stands in no Event."""
    first = found.claims[0]
    if found.events:
        return told_by(found.events, found.reason, found.message)
    if (seen := condition(first, found.reason)) is not None:
        return say(
            "Condition {reason} since {since}",
            reason=found.reason,
            since=seen.get("lastTransitionTime"),
        )
    return say("Phase {phase}; no Event.", phase=section(first, "status").get("phase"))


def _predicted(found: _Stuck) -> Sentence:
    if found.reason in _OF_CONTROLLER:
        return say("The persistentvolume-controller of the model refuses it as well.")
    if found.events or condition(found.claims[0], found.reason) is not None:
        return say("The model's drivers accept such requests: here the files know more.")
    return say("{reason}: {message}.", reason=found.reason, message=found.message)


def _waiting_pods(evidence: Evidence, claims: list[Manifest]) -> list[str]:
    """The pods without a node that use one of the claims, and that are not being deleted."""
    users = (pod for claim in claims for pod in evidence.users(key_of(claim)))
    return sorted(
        {
            key_of(pod)
            for pod in users
            if not section(pod, "spec").get("nodeName")
            and not pod["metadata"].get("deletionTimestamp")
        }
    )


def users_of(evidence: Evidence, keys: set[str]) -> list[str]:
    """The pods for which claims have to stay: those with a node, also when they have ended.

    Upstream: pkg/controller/volume/pvcprotection/pvc_protection_controller.go, podUsesPVC().
    """
    users = (pod for key in keys for pod in evidence.users(key))
    return sorted({key_of(pod) for pod in users if section(pod, "spec").get("nodeName")})


def uses_it(users: list[str], most: int = 4) -> Sentence:
    """Who uses a claim."""
    return say_count(
        "Pod {pods} uses it.", "Pods {pods} use it.", len(users), pods=listed(users, most)
    )


def uses_them(users: list[str], most: int = 4) -> Sentence:
    """Who uses several claims."""
    return say_count(
        "Pod {pods} uses them.", "Pods {pods} use them.", len(users), pods=listed(users, most)
    )


def _source(
    evidence: Evidence, claim: Manifest, text: Sentence, name: str, driver: str
) -> tuple[Sentence, str, list[Change]]:
    """What the claim is a copy of: its class, its driver, its size."""
    kind, _, key = name.partition(" ")
    found = evidence.find(kind, key)
    wanted = section(claim, "spec", "resources", "requests").get("storage")
    if found is None:
        return (
            together(text, say("Its source, {name}, is not in the files.", name=name)),
            f"{kind.lower()} {key}",
            [],
        )
    changes: list[Change] = []
    if kind == "VolumeSnapshot":
        status = section(found, "status")
        size, error = status.get("restoreSize"), section(status, "error").get("message")
        if not status:
            text = together(
                text,
                say(
                    "Snapshot {key} has no status: no snapshot-controller has looked at it.",
                    key=key,
                ),
            )
            owner = behind(evidence, "snapshot-controller")
            if owner is not None:
                text = together(text, owner.said(evidence, IS_THAT_ONE))
            if owner is not None and not owner.is_running:
                changes.append(started(owner.workload))
            return text, f"{kind.lower()} {key}", changes
        text = together(
            text, _snapshot(key, is_ready=bool(status.get("readyToUse")), size=size, wanted=wanted)
        )
        if error:
            text = together(text, say("It says: {message}.", message=str(error).rstrip(".")))
        if not status.get("readyToUse"):
            changes.append(
                Change(
                    text=say(
                        "Let VolumeSnapshot {key} become ready, or take the snapshot again and "
                        "restore that",
                        key=key,
                    ),
                    kind="snapshot",
                )
            )
        elif size:
            changes.append(_asking_for(claim, str(size)))
    elif kind == "PersistentVolumeClaim":
        volume = evidence.find(
            "PersistentVolume", str(section(found, "spec").get("volumeName") or "")
        )
        if volume is not None:
            spec = section(volume, "spec")
            known = (each for each in ("hostPath", "local", "nfs") if each in spec)
            what = section(spec, "csi").get("driver") or next(known, say("another type"))
            text = together(
                text,
                say(
                    "Its source {key} is bound to {name}, a volume of {what}.",
                    key=key,
                    name=volume["metadata"]["name"],
                    what=what,
                ),
            )
            if what != driver:
                text = together(
                    text,
                    say(
                        "Driver {driver} cannot copy that: it copies volumes of its own only.",
                        driver=driver,
                    ),
                )
    return text, f"{kind.lower()} {key}", changes


def _snapshot(key: str, *, is_ready: bool, size: Any, wanted: Any) -> Sentence:
    if not size:
        if is_ready:
            return say("Snapshot {snapshot} is ready.", snapshot=key)
        return say("Snapshot {snapshot} is not ready.", snapshot=key)
    if is_ready:
        return say(
            "Snapshot {snapshot} is ready and has restoreSize {size}; the claim asks for {wanted}.",
            snapshot=key,
            size=size,
            wanted=wanted,
        )
    return say(
        "Snapshot {snapshot} is not ready and has restoreSize {size}; the claim asks for {wanted}.",
        snapshot=key,
        size=size,
        wanted=wanted,
    )


def _loss(
    evidence: Evidence, claims: list[Manifest], text: Sentence
) -> tuple[Sentence, list[Change]]:
    """What became of the volumes; a claim never leaves the phase Lost."""
    names = sorted({str(section(each, "spec").get("volumeName") or "") for each in claims} - {""})
    gone = [name for name in names if evidence.find("PersistentVolume", name) is None]
    if gone:
        lost = say_count(
            "Volume {volumes} does not exist any more.",
            "Volumes {volumes} do not exist any more.",
            len(gone),
            volumes=listed(gone, 4),
        )
        text = together(text, lost)
    for name in names:
        reference = section(evidence.find("PersistentVolume", name) or {}, "spec", "claimRef")
        if reference:
            whose = f"{reference.get('namespace')}/{reference.get('name')}"
            text = together(
                text,
                say(
                    "Volume {name} is there, and its claimRef names {whose}.",
                    name=name,
                    whose=whose,
                ),
            )
    change = Change(
        text=say_count(
            "Delete claim {claims}, and make it again",
            "Delete claims {claims}, and make them again",
            len(claims),
            claims=listed([key_of(one) for one in claims], 3),
        ),
        kind="again",
        note=say("A claim never leaves the phase Lost. A new one gets a new, empty volume."),
    )
    return text, [change]


def _chosen_anew(claims: list[Manifest], node: str) -> Change:
    """The choice of a node that is gone is taken back."""
    off = {"metadata": {"annotations": {SELECTED_NODE: None}}}
    return Change(
        text=say(
            "Take the annotation {selected_node}={node} off {value}",
            selected_node=SELECTED_NODE,
            node=node,
            value=listed([key_of(each) for each in claims], 3),
        ),
        kind="claim",
        commands=bodies(patch_of(each, off) for each in claims),
    )


def _asking_for(claim: Manifest, size: str) -> Change:
    """The claim made again with a larger request: that of an unbound claim cannot be changed."""
    again = made_again(from_manifest(claim), {"resources": {"requests": {"storage": size}}})
    return Change(
        text=say(
            "Make claim {key_of} again and ask for at least {size}", key_of=key_of(claim), size=size
        ),
        kind="claim",
        commands=bodies([again]),
    )


def _resizer(evidence: Evidence, driver: str, text: Sentence) -> tuple[Sentence, list[Change]]:
    """Nobody expands the volume. Upstream: pkg/controller/volume/expand/expand_controller.go."""
    text = together(
        text, say("No external-resizer of driver {driver} has answered.", driver=driver)
    )
    owner = behind(evidence, driver, "controller", "resizer") if driver else None
    if owner is None:
        run = say("Run the external-resizer of the driver, beside its controller")
        if driver:
            run = say("Run the external-resizer of {driver}, beside its controller", driver=driver)
        return text, [Change(text=run, kind="driver")]
    text = together(text, owner.said(evidence, IS_DRIVER, driver=driver))
    if not owner.is_running:
        return text, [started(owner.workload)]
    change = say(
        "Let {owner} have an external-resizer: see its containers, their logs and roles",
        owner=owner.name,
    )
    return text, [Change(text=change, kind="driver")]


def _growth(
    evidence: Evidence, claims: list[Manifest], text: Sentence
) -> tuple[Sentence, list[Change]]:
    """How much each asks for and has, and who uses it."""
    changes: list[Change] = []
    for claim in claims[:3]:
        wanted = section(claim, "spec", "resources", "requests").get("storage")
        has = section(claim, "status", "capacity").get("storage")
        users = users_of(evidence, {key_of(claim)})
        text = together(
            text,
            say(
                "Claim {claim} asks for {wanted} and has {has}.",
                claim=key_of(claim),
                wanted=wanted,
                has=has,
            ),
            uses_it(users, 3) if users else NOTHING,
        )
        if users and not evidence.events(claim, *_RESIZE):
            text = together(
                text,
                say(
                    "No Event says why: a driver that expands detached volumes only "
                    "waits for that.",
                ),
            )
        if not users and section(claim, "status") and condition(claim, _WAITS_FOR_POD):
            changes.append(
                Change(
                    text=say(
                        "Start a pod that uses claim {key_of}: the kubelet grows the file system "
                        "when it mounts the volume",
                        key_of=key_of(claim),
                    ),
                    kind="resize",
                )
            )
        if users:
            changes.append(
                Change(
                    text=say(
                        "Scale the workload of {users} to 0, wait for the expansion, scale up again",
                        users=listed(users, 3),
                    ),
                    kind="resize",
                    note=say("For a driver that expands detached volumes only."),
                )
            )
    return text, changes[:1]


def _modification(
    evidence: Evidence, claims: list[Manifest], text: Sentence
) -> tuple[Sentence, str, list[Change]]:
    """Which VolumeAttributesClass the claims name and have, and the one that they may go back to."""
    wanted = _attributes_wanted(claims[0])
    has = str(section(claims[0], "status").get("currentVolumeAttributesClassName") or "")
    by, changes = known_as("volumeattributesclass", wanted), list[Change]()
    names = listed([key_of(each) for each in claims], 3)
    if evidence.has(ATTRIBUTES_CLASS) and evidence.find(ATTRIBUTES_CLASS, wanted) is None:
        text = together(text, say("There is no VolumeAttributesClass {wanted}.", wanted=wanted))
        create = say("Create VolumeAttributesClass {wanted}", wanted=wanted)
        changes.append(Change(text=create, kind="class"))
    if has:
        named = say(
            "VolumeAttributesClass {wanted} is wanted, and {has} is what it has.",
            wanted=wanted,
            has=has,
        )
        text = together(text, named)
        back = {"spec": {"volumeAttributesClassName": has}}
        mine = [each for each in claims if _has_class(each, has)]
        changes.append(
            Change(
                text=say(
                    "Let {claims} name VolumeAttributesClass {has} again, or one whose parameters "
                    "the driver takes",
                    claims=names,
                    has=has,
                ),
                kind="class",
                note=say("The volume stays in use, as it is."),
                commands=bodies(patch_of(each, back) for each in mine),
            )
        )
    return text, by, changes


def _attributes_wanted(claim: Manifest) -> str:
    found = section(claim, "status", "modifyVolumeStatus")
    return str(found.get("targetVolumeAttributesClassName") or "")


def _has_class(claim: Manifest, name: str) -> bool:
    return section(claim, "status").get("currentVolumeAttributesClassName") == name
