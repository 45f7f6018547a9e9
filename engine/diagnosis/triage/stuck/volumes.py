"""Released volumes that should have been deleted or scrubbed: who refuses it, or does not do it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from engine.csi_sidecars.external_provisioner import FINALIZER
from engine.diagnosis.observed.evidence import Evidence, SeenEvent, entity, told_by
from engine.diagnosis.triage.carrying_out import bodies, without_finalizer
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.report import Change, Group
from engine.diagnosis.triage.stuck.controllers import IS_DRIVER, Behind, behind
from engine.diagnosis.triage.stuck.explained import facts_of
from engine.diagnosis.triage.stuck.placed.attaching import detached
from engine.diagnosis.triage.stuck.refusals import started
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, count_phrase, say, together
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest
from engine.objects.phases import (
    MIGRATED_TO,
    PROVISIONED_BY,
    RECLAIM_DELETE,
    RECLAIM_RETAIN,
    VOLUME_FAILED,
    VOLUME_RELEASED,
)

# A driver deletes within seconds, and tries again after at most this long.
_PATIENCE_SECONDS: Final = 300
# By whether the volume is to be deleted, and whether a message says why it was not.
_KEPT: Final = {
    (True, True): count_phrase(
        "Volume {volumes} is released and not deleted: {message}.",
        "The {count} volumes {volumes} are released and not deleted: {message}.",
    ),
    (True, False): count_phrase(
        "Volume {volumes} is released and not deleted, and no Event says why.",
        "The {count} volumes {volumes} are released and not deleted, and no Event says why.",
    ),
    (False, True): count_phrase(
        "Volume {volumes} is released and not recycled: {message}.",
        "The {count} volumes {volumes} are released and not recycled: {message}.",
    ),
    (False, False): count_phrase(
        "Volume {volumes} is released and not recycled, and no Event says why.",
        "The {count} volumes {volumes} are released and not recycled, and no Event says why.",
    ),
}
_REFUSALS: Final = ("VolumeFailedDelete", "VolumeFailedRecycle")


@dataclass(slots=True)
class _Kept:
    """Volumes that stay for the same reason, "" where nothing says one."""

    driver: str
    message: str
    since: str
    owner: Behind | None
    attachment: Manifest | None
    volumes: list[Manifest] = field(default_factory=list[Manifest])
    events: list[SeenEvent] = field(default_factory=list[SeenEvent])


def volume_groups(evidence: Evidence) -> Iterator[Group]:
    """Volumes without a claim whose reclaim policy is not carried out."""
    found: dict[tuple[str, ...], _Kept] = {}
    for volume in evidence.all("PersistentVolume"):
        kept = _kept(evidence, volume)
        if kept is None:
            continue
        attachment = entity(kept.attachment) if kept.attachment else ""
        key = kept.driver, _alike(kept.message, volume), attachment
        group = found.setdefault(key, kept)
        group.volumes.append(volume)
        group.events += evidence.events(volume, *_REFUSALS)
    for group in found.values():
        yield _group(evidence, group)


def _kept(evidence: Evidence, volume: Manifest) -> _Kept | None:
    """Why a volume stays that nobody wants to keep; None for any other."""
    status, policy = section(volume, "status"), _policy(volume)
    phase = status.get("phase")
    if phase not in (VOLUME_RELEASED, VOLUME_FAILED) or policy == RECLAIM_RETAIN:
        return None
    events = evidence.events(volume, *_REFUSALS)
    message = events[-1].text if events else ""
    if not message and phase == VOLUME_FAILED:
        message = str(status.get("message") or "")
    since = str(status.get("lastPhaseTransitionTime") or "")
    driver = _driver_of(volume)
    owner = behind(evidence, driver, "controller", "provisioner") if driver else None
    is_late = evidence.age_seconds(since) > _PATIENCE_SECONDS
    is_left_alone = policy == RECLAIM_DELETE and owner is not None and not owner.is_running
    if not (message or phase == VOLUME_FAILED or is_late or is_left_alone):
        return None
    since = min((each.first for each in events), default=since)
    return _Kept(driver, message, since, owner, _attachment(evidence, volume))


def _policy(volume: Manifest) -> str:
    return str(section(volume, "spec").get("persistentVolumeReclaimPolicy") or RECLAIM_RETAIN)


def _driver_of(volume: Manifest) -> str:
    """The driver whose provisioner deletes the volume; "" where the PV controller does."""
    annotations = section(volume, "metadata", "annotations")
    by = str(annotations.get(MIGRATED_TO) or annotations.get(PROVISIONED_BY) or "")
    return "" if by.startswith("kubernetes.io/") else by


def _attachment(evidence: Evidence, volume: Manifest) -> Manifest | None:
    """What ties the volume to a node: no provisioner deletes it before that is gone."""
    name = volume["metadata"]["name"]
    for each in evidence.all("VolumeAttachment"):
        if section(each, "spec", "source").get("persistentVolumeName") == name:
            return each
    return None


def _alike(message: str, volume: Manifest) -> str:
    """The message without what is the volume's own."""
    handle = str(section(volume, "spec", "csi").get("volumeHandle") or "")
    for own in (handle, str(volume["metadata"]["name"])):
        message = (
            re.sub(rf"(?<![\w.-]){re.escape(own)}(?![\w.-])", "#", message) if own else message
        )
    return message


def _group(evidence: Evidence, kept: _Kept) -> Group:
    names = sorted(str(each["metadata"]["name"]) for each in kept.volumes)
    by, owner = known_as("persistentvolume", names[0]), kept.owner
    changes: list[Change] = []
    if kept.attachment is not None:
        by = entity(kept.attachment).replace("/", " ", 1)
        change = detached(evidence, names[0], kept.attachment)
        changes = [] if change is None else [change]
    elif owner is not None and not owner.is_running:
        by, changes = owner.name, [started(owner.workload)]
    elif kept.driver:
        by = known_as("csidriver", kept.driver)
    changes += _by_hand(kept.volumes)
    return Group(
        kind="terminating",
        cause=_cause(evidence, kept, names),
        by=by,
        observed=_observed(kept),
        predicted=NOTHING
        if not kept.events
        else say("The model's drivers delete such volumes: here the files know more."),
        contradicts=bool(kept.events),
        since=kept.since,
        objects=tuple(entity(each) for each in kept.volumes),
        facts=facts_of(owner),
        changes=tuple(changes),
        conclusion=NOTHING
        if changes
        else say("No change was tried: what a volume plugin accepts is outside the model."),
    )


def _cause(evidence: Evidence, kept: _Kept, names: list[str]) -> Sentence:
    is_deleted = _policy(kept.volumes[0]) == RECLAIM_DELETE
    message = {"message": kept.message.rstrip(".")} if kept.message else {}
    text = _KEPT[is_deleted, bool(kept.message)]
    parts = [text.say(len(names), volumes=listed(names, 3), **message)]
    if kept.attachment is not None:
        spec = section(kept.attachment, "spec")
        name = kept.attachment["metadata"]["name"]
        parts.append(
            say(
                "VolumeAttachment {name} still ties volume {names} to {node_name}.",
                name=name,
                names=names[0],
                node_name=spec.get("nodeName"),
            )
        )
    if kept.owner is not None:
        parts.append(kept.owner.said(evidence, IS_DRIVER, driver=kept.driver))
    elif kept.driver:
        parts.append(
            say("No workload in the files looks like the driver {driver}.", driver=kept.driver)
        )
    return together(*parts)


def _observed(kept: _Kept) -> Sentence:
    if kept.events:
        newest = kept.events[-1]
        return told_by(kept.events, newest.reason, newest.message)
    phase = section(kept.volumes[0], "status").get("phase")
    if not kept.since:
        return say("Phase {phase}; no Event.", phase=phase)
    return say("Phase {phase} since {since}; no Event.", phase=phase, since=kept.since)


def _by_hand(volumes: list[Manifest]) -> Iterator[Change]:
    """What is left where the driver never will: only where its finalizer holds the volumes."""
    held = [each for each in volumes if FINALIZER in (each["metadata"].get("finalizers") or ())]
    if held:
        names = listed([str(each["metadata"]["name"]) for each in held], 3)
        yield Change(
            text=say(
                "Delete the disk of volume {names} in the storage itself, then the volume, "
                "and take its finalizer {finalizer} off",
                names=names,
                finalizer=FINALIZER,
            ),
            kind="finalizer",
            loses=say(
                "the disk, where it is still there: nothing in the cluster knows of it any more"
            ),
            commands=bodies(without_finalizer(each, FINALIZER) for each in held),
        )
