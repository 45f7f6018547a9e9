"""Why a volume is not bound, not freed, or not gone."""

from __future__ import annotations

from collections.abc import Iterator

from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.claims import BINDER, refused_writes
from engine.diagnosis.subjects.scene import Scene, cause, deletion_facts
from engine.framework.explaining.case import FEW, listed
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import say
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
    why = say(
        "It goes when its finalizers are removed: {list}.", list=listed(list(volume.finalizers))
    )
    if volume.claim_ref is not None:
        text = say(
            "Volume {volume} is bound to claim {claim_key}.",
            volume=volume.name,
            claim_key=volume.claim_key,
        )
        because.append(fact(volume, ("spec", "claimRef"), text))
        why = say(
            "It stays as long as claim {claim_key} is bound to it.", claim_key=volume.claim_key
        )
    for attachment in scene.attachments(volume.name)[:FEW]:
        node = attachment.spec.get("nodeName")
        because.append(
            fact(
                attachment,
                ("spec", "nodeName"),
                say("Volume {volume} is attached to {node}.", volume=volume.name, node=node),
            )
        )
    sentence = say(
        "Volume {volume} is terminating and stays until nothing holds it.", volume=volume.name
    )
    return cause("pv-protection-controller", sentence, because, why=why)


def _released(scene: Scene, volume: PersistentVolume) -> Cause:
    ref = volume.claim_ref or {}
    uid = ref.get("uid")
    because = [
        fact(volume, ("status", "phase"), say("Volume {volume} is Released.", volume=volume.name)),
        fact(
            volume,
            ("spec", "claimRef", "uid"),
            say(
                "Its claimRef names claim {claim_key} with uid {uid}, which is gone.",
                claim_key=volume.claim_key,
                uid=uid,
            ),
        ),
        fact(
            volume,
            ("spec", "persistentVolumeReclaimPolicy"),
            say("Its reclaim policy is {reclaim_policy}.", reclaim_policy=volume.reclaim_policy),
        ),
    ]
    anew = scene.claim(volume.claim_key)
    why = say(
        "With policy Retain it keeps its data and its claimRef until an administrator clears it."
    )
    if anew is not None:
        text = say(
            "Claim {anew} of that name has uid {uid}: it is another claim.",
            anew=anew.key,
            uid=anew.uid,
        )
        because.append(fact(anew, ("metadata", "uid"), text, compared_with=uid))
        why = say(
            "A claim made again under the same name has another uid, so the volume is not its own."
        )
    if volume.reclaim_policy == "Delete":
        why = say("Its provisioner has still to delete it.")
    sentence = say(
        "Volume {volume} is Released: claim {claim_key} was deleted.",
        volume=volume.name,
        claim_key=volume.claim_key,
    )
    event = scene.event(volume, "VolumeDelete", "VolumeFailedRecycle", "VolumeFailedDelete")
    refused = event.partition("VolumeFailedDelete: ")[2].rstrip(".")
    if refused:
        sentence = say(
            "Volume {volume} is Released, and deleting it was refused: {refused}.",
            volume=volume.name,
            refused=refused,
        )
        why = say("Its provisioner tries again, each time after twice as long, up to five minutes.")
    return cause(BINDER, sentence, because, why=why, event=event)


def _failed(scene: Scene, volume: PersistentVolume) -> Cause:
    message = str(volume.status.get("message") or volume.status.get("reason") or "no message")
    policy = volume.reclaim_policy
    because = [
        fact(
            volume,
            ("status", "message"),
            say("Its status says: {message}.", message=message.rstrip(".!")),
        ),
        fact(
            volume,
            ("spec", "persistentVolumeReclaimPolicy"),
            say("Its reclaim policy is {policy}.", policy=policy),
        ),
    ]
    provisioner = volume.annotations.get(PROVISIONED_BY)
    text = say(
        "Volume {volume} was provisioned by {provisioner}.",
        volume=volume.name,
        provisioner=provisioner,
    )
    if provisioner is None:
        text = say(
            "Volume {volume} has no annotation {provisioned_by}: it was made by hand.",
            volume=volume.name,
            provisioned_by=PROVISIONED_BY,
        )
    because.append(fact(volume, ("metadata", "annotations", PROVISIONED_BY), text))
    if volume.claim_ref is not None:
        text = say("It belonged to claim {claim_key}.", claim_key=volume.claim_key)
        because.append(fact(volume, ("spec", "claimRef"), text))
    why = say("The status says: {message}.", message=message.rstrip(".!"))
    event = scene.event(volume, "VolumeFailedDelete", "VolumeFailedRecycle")
    sentence = say(
        "Reclaiming volume {volume} by policy {policy} has failed.",
        volume=volume.name,
        policy=policy,
    )
    return cause(BINDER, sentence, because, why=why, event=event)


def _available(scene: Scene, volume: PersistentVolume) -> Cause:
    """No claim has taken it."""
    because: list[Fact] = [
        fact(volume, ("status", "phase"), say("Volume {volume} is Available.", volume=volume.name))
    ]
    for claim in scene.claims():
        if claim.volume_name:
            continue
        (verdict,) = explain_candidates(claim, [volume])
        if verdict.faults:
            text = say(
                "Claim {claim} does not take it: {text}.",
                claim=claim.key,
                text=verdict.faults[0].text,
            )
            because.append(fact(claim, ("spec",), text))
        else:
            text = say("It fits claim {claim}, which is bound at its own time.", claim=claim.key)
            because.append(fact(claim, ("metadata", "name"), text))
    sentence = say("Volume {volume} is free: no claim is bound to it.", volume=volume.name)
    return cause(BINDER, sentence, because[: 2 * FEW], severity="notes")
