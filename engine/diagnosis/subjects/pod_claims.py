"""Why the scheduler cannot use the claims of a pod: one is missing, being deleted or not bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate
from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.changes import deleted_users
from engine.diagnosis.subjects.claims import BINDER, binding_causes
from engine.diagnosis.subjects.scene import Scene, cause
from engine.framework.explaining.case import FEW
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import NOTHING, Sentence, say, verbatim
from engine.objects.objects import PersistentVolumeClaim, Pod
from engine.objects.phases import SELECTED_NODE, WAIT_FOR_FIRST_CONSUMER, claim_class
from engine.storage.ephemeral import ownership_fault

_EPHEMERAL: Final = "ephemeral-volume-controller"


def pod_claim_causes(scene: Scene, pod: Pod) -> Iterator[Cause]:
    """What keeps the claims of *pod*, which has no node, from being usable.

    A claim that waits for its first consumer is usable: it is bound together with the pod.
    """
    for place, volume in enumerate(pod.volumes):
        if "ephemeral" in volume:
            yield from _ephemeral(scene, pod, place)
            continue
        source = volume.get("persistentVolumeClaim")
        if not source:
            continue
        key = f"{pod.namespace}/{source.get('claimName')}"
        claim = scene.claim(key)
        if claim is None:
            yield _missing(scene, pod, place, key)
        else:
            yield from _unusable(scene, claim)


def _unusable(scene: Scene, claim: PersistentVolumeClaim) -> Iterator[Cause]:
    storage_class = scene.storage_class(claim_class(claim))
    waits = storage_class is not None and storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER
    is_free = not claim.volume_name and not claim.deletion_timestamp
    if waits and is_free and SELECTED_NODE not in claim.annotations:
        return
    for each in binding_causes(scene, claim):
        yield replace(each, severity="blocks")


def _missing(scene: Scene, pod: Pod, place: int, key: str) -> Cause:
    """The pod names a claim that does not exist, maybe misspelt or in another namespace."""
    namespace, _, name = key.partition("/")
    path = ("spec", "volumes", place, "persistentVolumeClaim", "claimName")
    because = [fact(pod, path, say("Pod {pod} names claim {name}.", pod=pod.key, name=name))]
    why = say(
        "A claim {name} has to be created in namespace {namespace}.", name=name, namespace=namespace
    )
    others = sorted(scene.claims(), key=_key)
    for other in [each for each in others if each.name == name][:FEW]:
        text = say(
            "A claim {name} exists in namespace {namespace}, not in {namespace_2}.",
            name=name,
            namespace=other.namespace,
            namespace_2=namespace,
        )
        path = ("metadata", "namespace")
        because.append(fact(other, path, text, compared_with=namespace))
        why = say("{text} A pod can use claims of its own namespace only.", text=text)
    beside = [each for each in others if each.namespace == namespace]
    for near in get_close_matches(name, [each.name for each in beside], 1, 0.8):
        other = next(each for each in beside if each.name == near)
        text = say(
            "Namespace {namespace} has a claim {near}, whose name is almost the same.",
            namespace=namespace,
            near=near,
        )
        because.append(fact(other, ("metadata", "name"), text, compared_with=name))
        why = text
    because += _owner_facts(scene, pod)
    return cause(BINDER, say("Claim {key} does not exist.", key=key), because, why=why)


def _key(claim: PersistentVolumeClaim) -> str:
    return claim.key


def _owner_facts(scene: Scene, pod: Pod) -> list[Fact]:
    """A StatefulSet makes the claims of its templates together with the pod."""
    owner = scene.controller_of(pod)
    if owner is None or owner.kind != "StatefulSet" or not owner.spec.get("volumeClaimTemplates"):
        return []
    text = say(
        "StatefulSet {owner} creates claims from its templates when it syncs this pod.",
        owner=owner.key,
    )
    return [fact(owner, ("spec", "volumeClaimTemplates"), text)]


def _ephemeral(scene: Scene, pod: Pod, place: int) -> Iterator[Cause]:
    """The claim that is made for an ephemeral volume of the pod."""
    name = f"{pod.name}-{pod.volumes[place].get('name')}"
    claim = scene.claim(f"{pod.namespace}/{name}")
    text = say(
        "Volume {name} of the pod is ephemeral: its claim is {name_2}.",
        name=pod.volumes[place].get("name"),
        name_2=name,
    )
    made_for = fact(pod, ("spec", "volumes", place, "ephemeral"), text)
    event = scene.event(pod, "FailedBinding")
    if claim is None:
        sentence = say(
            "Claim {namespace}/{name} for an ephemeral volume has not been created yet.",
            namespace=pod.namespace,
            name=name,
        )
        yield cause(_EPHEMERAL, sentence, [made_for], why=_as_sentence(event), event=event)
        return
    fault = ownership_fault(claim, pod)
    if fault:
        text = say("Claim {claim} is not owned by pod {pod}.", claim=claim.key, pod=pod.key)
        owners = fact(claim, ("metadata", "ownerReferences"), text, compared_with=pod.uid)
        sentence = say(
            "Claim {claim} exists, but was not made for pod {pod}.", claim=claim.key, pod=pod.key
        )
        why = say(
            "The controller creates the claim only if none has that name: this one must be deleted."
        )
        yield cause(_EPHEMERAL, sentence, [made_for, owners], why=why, event=event or fault)
        return
    yield from _unusable(scene, claim)


def _as_sentence(event: str) -> Sentence:
    """An Event as a sentence."""
    return verbatim(f"{event.rstrip('.')}.") if event else NOTHING


def pod_claim_changes(scene: Scene, pod: Pod) -> Iterator[Candidate]:
    """Delete a claim that the pod cannot use, so that its controller creates another."""
    for volume in pod.volumes:
        if "ephemeral" in volume:
            claim = scene.claim(f"{pod.namespace}/{pod.name}-{volume.get('name')}")
            if claim is not None and ownership_fault(claim, pod):
                yield _claim_deleted(claim)
    for _, claim in scene.claims_of(pod):
        if claim is not None and claim.deletion_timestamp:
            yield from deleted_users(scene, claim)


def _claim_deleted(claim: PersistentVolumeClaim) -> Candidate:
    return Candidate(
        kind="claim",
        text=say(
            "Delete claim {claim}, so that one is created for the ephemeral volume", claim=claim.key
        ),
        command=Command(verb="delete", object=claim.id),
        decidable=False,
        note=say(
            "If the reclaim policy is Delete, the volume's data is lost: make a backup first."
        ),
    )
