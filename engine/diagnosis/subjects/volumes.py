"""Why a volume is not bound, not freed, or not gone."""

from __future__ import annotations

from collections.abc import Iterator

from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.claims import BINDER, refused_writes
from engine.diagnosis.subjects.scene import Scene, cause, deletion_facts
from engine.framework.explaining.case import FEW, listed
from engine.framework.explaining.fact import Fact, fact
from engine.objects.objects import PersistentVolume
from engine.objects.phases import PROVISIONED_BY, VOLUME_AVAILABLE, VOLUME_FAILED, VOLUME_RELEASED
from engine.storage.matching.explanation import explain_candidates


def volume_causes(scene: Scene, volume: PersistentVolume) -> Iterator[Cause]:
    """What holds *volume* where it is; nothing for one that is bound and stays."""
    if volume.deletion_timestamp:
        yield _deleting(scene, volume)
    if volume.phase == VOLUME_RELEASED:
        yield _released(scene, volume)
    elif volume.phase == VOLUME_FAILED:
        yield _failed(scene, volume)
    elif volume.phase == VOLUME_AVAILABLE:
        yield _available(scene, volume)
    yield from refused_writes(scene, volume)


def _deleting(scene: Scene, volume: PersistentVolume) -> Cause:
    because = deletion_facts(volume)
    why = f"It goes when its finalizers are removed: {listed(list(volume.finalizers))}."
    if volume.claim_ref is not None:
        text = f"Volume {volume.name} is bound to claim {volume.claim_key}."
        because.append(fact(volume, ("spec", "claimRef"), text))
        why = f"It stays as long as claim {volume.claim_key} is bound to it."
    for attachment in scene.attachments(volume.name)[:FEW]:
        node = attachment.spec.get("nodeName")
        because.append(
            fact(attachment, ("spec", "nodeName"), f"Volume {volume.name} is attached to {node}.")
        )
    sentence = f"Volume {volume.name} is terminating and stays until nothing holds it."
    return cause("pv-protection-controller", sentence, because, why=why)


def _released(scene: Scene, volume: PersistentVolume) -> Cause:
    ref = volume.claim_ref or {}
    uid = ref.get("uid")
    because = [
        fact(volume, ("status", "phase"), f"Volume {volume.name} is Released."),
        fact(
            volume,
            ("spec", "claimRef", "uid"),
            f"Its claimRef names claim {volume.claim_key} with uid {uid}, which is gone.",
        ),
        fact(
            volume,
            ("spec", "persistentVolumeReclaimPolicy"),
            f"Its reclaim policy is {volume.reclaim_policy}.",
        ),
    ]
    anew = scene.claim(volume.claim_key)
    why = "With policy Retain it keeps its data and its claimRef until an administrator clears it."
    if anew is not None:
        text = f"Claim {anew.key} of that name has uid {anew.uid}: it is another claim."
        because.append(fact(anew, ("metadata", "uid"), text, compared_with=uid))
        why = (
            "A claim made again under the same name has another uid, so the volume is not its own."
        )
    if volume.reclaim_policy == "Delete":
        why = "Its provisioner has still to delete it."
    sentence = f"Volume {volume.name} is Released: claim {volume.claim_key} was deleted."
    event = scene.event(volume, "VolumeDelete", "VolumeFailedRecycle", "VolumeFailedDelete")
    refused = event.partition("VolumeFailedDelete: ")[2].rstrip(".")
    if refused:
        sentence = f"Volume {volume.name} is Released, and deleting it was refused: {refused}."
        why = "Its provisioner tries again, each time after twice as long, up to five minutes."
    return cause(BINDER, sentence, because, why=why, event=event)


def _failed(scene: Scene, volume: PersistentVolume) -> Cause:
    message = str(volume.status.get("message") or volume.status.get("reason") or "no message")
    policy = volume.reclaim_policy
    because = [
        fact(volume, ("status", "message"), f"Its status says: {message.rstrip('.!')}."),
        fact(
            volume,
            ("spec", "persistentVolumeReclaimPolicy"),
            f"Its reclaim policy is {policy}.",
        ),
    ]
    provisioner = volume.annotations.get(PROVISIONED_BY)
    text = f"Volume {volume.name} was provisioned by {provisioner}."
    if provisioner is None:
        text = f"Volume {volume.name} has no annotation {PROVISIONED_BY}: it was made by hand."
    because.append(fact(volume, ("metadata", "annotations", PROVISIONED_BY), text))
    if volume.claim_ref is not None:
        text = f"It belonged to claim {volume.claim_key}."
        because.append(fact(volume, ("spec", "claimRef"), text))
    why = f"The status says: {message.rstrip('.!')}."
    event = scene.event(volume, "VolumeFailedDelete", "VolumeFailedRecycle")
    sentence = f"Reclaiming volume {volume.name} by policy {policy} has failed."
    return cause(BINDER, sentence, because, why=why, event=event)


def _available(scene: Scene, volume: PersistentVolume) -> Cause:
    """No claim has taken it."""
    because: list[Fact] = [fact(volume, ("status", "phase"), f"Volume {volume.name} is Available.")]
    for claim in scene.claims():
        if claim.volume_name:
            continue
        (verdict,) = explain_candidates(claim, [volume])
        if verdict.faults:
            text = f"Claim {claim.key} does not take it: {verdict.faults[0].text}."
            because.append(fact(claim, ("spec",), text))
        else:
            text = f"It fits claim {claim.key}, which is bound at its own time."
            because.append(fact(claim, ("metadata", "name"), text))
    sentence = f"Volume {volume.name} is free: no claim is bound to it."
    return cause(BINDER, sentence, because[: 2 * FEW], severity="notes")
