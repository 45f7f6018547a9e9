"""Why a claim is not bound: its class and how that was chosen, every volume, and whom it waits for."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from engine.api_server.store.faults import WRITE_REFUSED
from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import Scene, cause, deletion_facts
from engine.diagnosis.trials import seconds
from engine.framework.explaining.case import FEW, listed, pod_and_owner
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import (
    NOTHING,
    Sentence,
    count_phrase,
    enumerated,
    say,
    say_count,
    together,
)
from engine.objects.manifest_parts import items, section
from engine.objects.objects import (
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    quantity,
)
from engine.objects.phases import (
    CLAIM_LOST,
    CLAIM_PROTECTION,
    NO_PROVISIONER,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    is_volume_bound_to_claim,
)
from engine.plugins.volume_binding.facts import fault_fact
from engine.storage.matching.explanation import explain_candidates

BINDER: Final = "persistentvolume-controller"
_LOST: Final = ("ClaimLost", "ClaimMisbound")
_WAITS: Final = ("WaitForFirstConsumer", "WaitForPodScheduled")
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"


def claim_causes(scene: Scene, claim: PersistentVolumeClaim) -> Iterator[Cause]:
    """What keeps *claim* from being bound and whole; nothing for one that is."""
    yield from binding_causes(scene, claim)
    yield from refused_writes(scene, claim)
    yield from _resizing(scene, claim)


def binding_causes(scene: Scene, claim: PersistentVolumeClaim) -> Iterator[Cause]:
    """What keeps *claim* from being bound, or from staying so."""
    if claim.deletion_timestamp:
        yield _deleting(scene, claim)
    volume = scene.volume(claim.volume_name)
    if claim.volume_name and volume is None:
        yield _lost(scene, claim)
    elif volume is not None and not claim.is_bind_completed:
        yield from _named(scene, claim, volume)
    elif volume is not None and not is_volume_bound_to_claim(volume, claim):
        yield _misclaimed(scene, claim, volume)
    elif volume is not None and claim.phase == CLAIM_LOST:
        yield _misbound(scene, claim, volume)
    elif not claim.volume_name:
        yield from _unbound(scene, claim)


def refused_writes(scene: Scene, obj: PersistentVolumeClaim | PersistentVolume) -> Iterator[Cause]:
    """Writes of the PV controller that the API server refuses: what, how often, and the next try."""
    trouble = scene.troubles.get(obj.id)
    if trouble is None or trouble["name"] != WRITE_REFUSED:
        return
    text = _REFUSED[obj.KIND].say(
        trouble["failures"],
        name=obj.key,
        at=seconds(trouble["failed"]),
    )
    again = trouble.get("retry_at")
    why = together(
        say("It said: {error}.", error=trouble["error"].rstrip(".")),
        NOTHING if again is None else say("It is tried again at {at}.", at=seconds(again)),
    )
    yield cause(BINDER, text, [], why=why, severity="delays")


_REFUSED: Final = {
    PersistentVolumeClaim.KIND: count_phrase(
        "Claim {name}: the API server has refused a write of the PV controller once, at {at}.",
        "Claim {name}: the API server has refused a write of the PV controller {count} times in a "
        "row, last at {at}.",
    ),
    PersistentVolume.KIND: count_phrase(
        "Volume {name}: the API server has refused a write of the PV controller once, at {at}.",
        "Volume {name}: the API server has refused a write of the PV controller {count} times in a "
        "row, last at {at}.",
    ),
}


def _deleting(scene: Scene, claim: PersistentVolumeClaim) -> Cause:
    # Upstream: pvc_protection_controller.go, podUsesPVC(): a pod without a node holds nothing.
    users = [pod for pod in scene.users(claim) if pod.node_name]
    because = deletion_facts(claim)
    because += [_use_fact(pod, claim) for pod in users[:FEW]]
    if users and CLAIM_PROTECTION in claim.finalizers:
        names = listed([pod.key for pod in users], 3)
        why = say(
            "Pods that use it keep it: {names}. It goes when the last of them has gone.",
            names=names,
        )
    else:
        why = say(
            "It goes when its finalizers are removed: {list}.", list=listed(list(claim.finalizers))
        )
    sentence = say(
        "Claim {claim} is terminating and stays until nothing holds it.", claim=claim.key
    )
    return cause("pvc-protection-controller", sentence, because, why=why)


def _use_fact(pod: Pod, claim: PersistentVolumeClaim) -> Fact:
    place = next(
        at
        for at, name in enumerate([*_claims_by_volume(pod)])
        if name == claim.name or len(pod.volumes) == 1
    )
    name = pod_and_owner(pod)
    text = say("Pod {pod} uses claim {claim}.", pod=name, claim=claim.key)
    if pod.node_name:
        text = say(
            "Pod {pod} on {node} uses claim {claim}.",
            pod=name,
            node=pod.node_name,
            claim=claim.key,
        )
    return fact(pod, ("spec", "volumes", place), text)


def _claims_by_volume(pod: Pod) -> Iterator[str]:
    for volume in pod.volumes:
        if "ephemeral" in volume:
            yield f"{pod.name}-{volume.get('name')}"
        else:
            yield str(section(volume, "persistentVolumeClaim").get("claimName") or "")


def _lost(scene: Scene, claim: PersistentVolumeClaim) -> Cause:
    is_lost = claim.phase == CLAIM_LOST
    text = say(
        "Claim {claim} names volume {volume_name}, which does not exist.",
        claim=claim.key,
        volume_name=claim.volume_name,
    )
    because = [
        fact(claim, ("spec", "volumeName"), text),
        fact(
            claim,
            ("status", "phase"),
            say("Claim {claim} is {phase}.", claim=claim.key, phase=claim.phase),
        ),
    ]
    why = (
        say("It was bound to that volume, whose data is gone with it; the claim is Lost.")
        if is_lost
        else say("It stays Pending until a volume of that name is created.")
    )
    return cause(BINDER, text, because, why=why, event=scene.event(claim, *_LOST))


def _misclaimed(scene: Scene, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Cause:
    text = say(
        "Volume {volume} is claimed by {claim_key}, not by claim {claim}.",
        volume=volume.name,
        claim_key=volume.claim_key,
        claim=claim.key,
    )
    because = [
        fact(
            claim,
            ("spec", "volumeName"),
            say("Claim {claim} names volume {volume}.", claim=claim.key, volume=volume.name),
        ),
        fact(volume, ("spec", "claimRef"), text, compared_with=claim.uid),
    ]
    why = say(
        "A volume belongs to one claim only: this claim has to be made again with another volume."
    )
    return cause(BINDER, text, because, why=why, event=scene.event(claim, *_LOST))


def _misbound(scene: Scene, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Cause:
    """The volume names the claim without its uid, so the controller took it for another's."""
    text = say(
        "The claimRef of volume {volume} names claim {claim} without its uid.",
        volume=volume.name,
        claim=claim.key,
    )
    because = [
        fact(
            claim,
            ("status", "phase"),
            say("Claim {claim} is {phase}.", claim=claim.key, phase=claim.phase),
        ),
        fact(volume, ("spec", "claimRef"), text, compared_with=claim.uid),
    ]
    sentence = say(
        "Claim {claim} is Lost: volume {volume} is not bound to this very claim.",
        claim=claim.key,
        volume=volume.name,
    )
    return cause(BINDER, sentence, because, why=text, event=scene.event(claim, *_LOST))


def _named(scene: Scene, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Iterator[Cause]:
    """It asks for one volume by name."""
    (verdict,) = explain_candidates(claim, [volume])
    named = fact(
        claim,
        ("spec", "volumeName"),
        say("Claim {claim} asks for volume {volume} by name.", claim=claim.key, volume=volume.name),
    )
    if not verdict.faults:
        sentence = say(
            "Claim {claim} is half bound to volume {volume}.", claim=claim.key, volume=volume.name
        )
        why = say("The persistentvolume-controller has still to finish the binding.")
        yield cause(BINDER, sentence, [named], why=why, severity="delays")
        return
    yield from _unfit(scene, claim, volume, named)


def _unfit(
    scene: Scene, claim: PersistentVolumeClaim, volume: PersistentVolume, lead: Fact
) -> Iterator[Cause]:
    """A volume that is meant for the claim, and what it does not have of what the claim asks for."""
    (verdict,) = explain_candidates(claim, [volume])
    faults = [each for each in verdict.faults if each.rule != "excluded"]
    because = [lead, *(fault_fact(volume, each) for each in faults)]
    rules = {each.rule for each in faults}
    why = NOTHING
    if "class" in rules:
        because += _class_facts(scene, claim)
        why = _why_class(scene, claim, volume)
    if "access-modes" in rules:
        asked, offered = enumerated(claim.access_modes), enumerated(volume.access_modes)
        text = say(
            "Claim {claim} asks for {asked}; volume {volume} offers {offered}.",
            claim=claim.key,
            asked=asked,
            volume=volume.name,
            offered=offered,
        )
        because.append(
            fact(claim, ("spec", "accessModes"), text, compared_with=list(volume.access_modes))
        )
        why = why or say(
            "A volume must offer every access mode that the claim asks for: {asked}.", asked=asked
        )
    if "size" in rules:
        size = quantity.format_bytes(claim.request_bytes)
        text = say("Claim {claim} asks for {size}.", claim=claim.key, size=size)
        because.append(fact(claim, ("spec", "resources", "requests", "storage"), text))
        why = why or say(
            "Volume {volume} is smaller than the {size} that the claim asks for.",
            volume=volume.name,
            size=size,
        )
    if "claimed" in rules:
        because.append(_phase_fact(volume))
        why = why or _why_claimed(claim, volume)
    reasons = listed([each.text for each in faults], 2)
    sentence = say(
        "Claim {claim} cannot be bound to volume {volume}: {reasons}.",
        claim=claim.key,
        volume=volume.name,
        reasons=reasons,
    )
    event = scene.event(claim, "VolumeMismatch", "FailedBinding")
    yield cause(BINDER, sentence, because, why=why, event=event)


def _phase_fact(volume: PersistentVolume) -> Fact:
    text = say(
        "Volume {volume} is {phase}; its claimRef names {claim_key}.",
        volume=volume.name,
        phase=volume.phase,
        claim_key=volume.claim_key,
    )
    return fact(volume, ("status", "phase"), text)


def _why_claimed(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Sentence:
    if volume.claim_key != claim.key or volume.phase != "Released":
        return say(
            "Volume {volume} is taken: its claimRef names {claim_key}.",
            volume=volume.name,
            claim_key=volume.claim_key,
        )
    return say(
        "Volume {volume} is Released: the claim of the same name was deleted, and "
        "the claimRef still has the uid of that claim.",
        volume=volume.name,
    )


def _class_facts(scene: Scene, claim: PersistentVolumeClaim) -> list[Fact]:
    """The claim's class, and how it came by it."""
    name = claim.storage_class_name
    path = ("spec", "storageClassName")
    if name is None:
        return [fact(claim, path, say("Claim {claim} has no storageClassName.", claim=claim.key))]
    if name == "":
        text = say(
            'Claim {claim} has storageClassName "": it wants a volume without a class.',
            claim=claim.key,
        )
        return [fact(claim, path, text)]
    found = [
        fact(
            claim,
            path,
            say("Claim {claim} has storageClassName {name}.", claim=claim.key, name=name),
        )
    ]
    storage_class = scene.storage_class(name)
    if storage_class is not None and storage_class.is_default:
        text = say(
            "Class {name} is the default class, which admission fills in where a claim "
            "leaves storageClassName out.",
            name=name,
        )
        found.append(fact(storage_class, ("metadata", "annotations", _DEFAULT_CLASS), text))
    return found


def _why_class(scene: Scene, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Sentence:
    wanted, has = claim_class(claim), volume.storage_class_name
    storage_class = scene.storage_class(wanted)
    if not has and storage_class is not None and storage_class.is_default:
        return say(
            "Volume {volume} has no class, and the claim got the default class "
            '{wanted}. With storageClassName: "" the claim would ask for none.',
            volume=volume.name,
            wanted=wanted,
        )
    return say(
        'The claim wants class "{wanted}", and volume {volume} is of class "{has}".',
        wanted=wanted,
        volume=volume.name,
        has=has,
    )


def _unbound(scene: Scene, claim: PersistentVolumeClaim) -> Iterator[Cause]:
    reserved = [each for each in scene.volumes() if is_volume_bound_to_claim(each, claim)]
    for volume in reserved:
        (verdict,) = explain_candidates(claim, [volume])
        if verdict.faults:
            text = say(
                "Volume {volume} is reserved for claim {claim} by its claimRef.",
                volume=volume.name,
                claim=claim.key,
            )
            yield from _unfit(scene, claim, volume, fact(volume, ("spec", "claimRef"), text))
    if reserved:
        return
    name = claim_class(claim)
    storage_class = scene.storage_class(name)
    if name and storage_class is None:
        yield _without_class(scene, claim, name)
    elif storage_class is not None and storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER:
        yield from _waits_for_consumer(scene, claim, storage_class)
    elif storage_class is not None and storage_class.provisioner != NO_PROVISIONER:
        yield from _waits_for_provisioner(scene, claim, storage_class)
    else:
        yield _without_match(scene, claim, storage_class)


def _without_class(scene: Scene, claim: PersistentVolumeClaim, name: str) -> Cause:
    """The claim names a class that is not there; a volume of that class would do as well."""
    known = sorted(each.name for each in scene.storage_classes())
    because = [*_class_facts(scene, claim), *_candidates(scene, claim)]
    why = say("There is no StorageClass at all.")
    if known:
        why = say(
            "The classes are {known}; storageClassName cannot be changed on the claim.",
            known=listed(known),
        )
    for near in get_close_matches(name, known, 1, 0.8):
        storage_class = scene.storage_class(near)
        assert storage_class is not None
        text = say("There is a class {near}, whose name is almost the same.", near=near)
        because.append(fact(storage_class, ("metadata", "name"), text, compared_with=name))
        why = text
    sentence = say(
        "Claim {claim} wants class {name}, which does not exist.", claim=claim.key, name=name
    )
    return cause(BINDER, sentence, because, why=why, event=scene.event(claim, "ProvisioningFailed"))


def _without_match(
    scene: Scene, claim: PersistentVolumeClaim, storage_class: StorageClass | None
) -> Cause:
    size = quantity.format_bytes(claim.request_bytes)
    because = [*_class_facts(scene, claim), *_candidates(scene, claim)]
    if storage_class is not None:
        text = say(
            "Class {storage_class} provisions nothing: its volumes are made by hand.",
            storage_class=storage_class.name,
        )
        because.append(fact(storage_class, ("provisioner",), text))
        why = text
    else:
        why = say(
            "Nothing provisions a volume for a claim without a class; one has to be made by hand."
        )
        classes = list(scene.storage_classes())
        if claim.storage_class_name is None and not any(each.is_default for each in classes):
            why = say(
                "No StorageClass is the default, so the claim got none, and nothing provisions it."
            )
            because += [_not_default(each) for each in classes[:FEW]]
    path = ("spec", "resources", "requests", "storage")
    modes = enumerated(claim.access_modes)
    because.insert(
        0,
        fact(
            claim,
            path,
            say(
                "Claim {claim} asks for {size} with {modes}.",
                claim=claim.key,
                size=size,
                modes=modes,
            ),
        ),
    )
    sentence = say(
        "No volume without a class fits claim {claim}, which asks for {size}.",
        claim=claim.key,
        size=size,
    )
    if storage_class is not None:
        sentence = say(
            "No volume of class {storage_class} fits claim {claim}, which asks for {size}.",
            storage_class=storage_class.name,
            claim=claim.key,
            size=size,
        )
    event = scene.event(claim, "FailedBinding", "ProvisioningFailed")
    return cause(BINDER, sentence, because, why=why, event=event)


def _not_default(storage_class: StorageClass) -> Fact:
    text = say(
        "Class {storage_class} is not the default class: it lacks the annotation.",
        storage_class=storage_class.name,
    )
    path = ("metadata", "annotations", _DEFAULT_CLASS)
    return fact(storage_class, path, text, compared_with="true")


def _candidates(scene: Scene, claim: PersistentVolumeClaim) -> list[Fact]:
    """What speaks against each volume, those of its class and the nearest first."""
    volumes = {each.name: each for each in scene.volumes()}
    verdicts = explain_candidates(claim, volumes.values())
    of_class = [
        each
        for each in verdicts
        if volumes[each.volume].storage_class_name == claim_class(claim) and each.faults
    ]
    others = [each for each in verdicts if each.faults and each not in of_class]
    return [fault_fact(volumes[each.volume], each.faults[0]) for each in [*of_class, *others][:FEW]]


def _waits_for_consumer(
    scene: Scene, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> Iterator[Cause]:
    mode = fact(
        storage_class,
        ("volumeBindingMode",),
        say(
            "Class {storage_class} is WaitForFirstConsumer: a volume is chosen or "
            "provisioned for the node of the first pod.",
            storage_class=storage_class.name,
        ),
    )
    selected = claim.annotations.get(SELECTED_NODE)
    if selected:
        text = say(
            "The scheduler has chosen {selected} for claim {claim} ({selected_node}).",
            selected=selected,
            claim=claim.key,
            selected_node=SELECTED_NODE,
        )
        lead = fact(claim, ("metadata", "annotations", SELECTED_NODE), text)
        yield from _waits_for_provisioner(scene, claim, storage_class, [mode, lead])
        return
    missing = fact(
        claim,
        ("metadata", "annotations", SELECTED_NODE),
        say(
            "Claim {claim} has no annotation {selected_node}.",
            claim=claim.key,
            selected_node=SELECTED_NODE,
        ),
    )
    users = scene.users(claim)
    bypassing = [pod for pod in users if pod.node_name]
    if not users:
        sentence = say(
            "Claim {claim} waits for its first consumer: no pod uses it.", claim=claim.key
        )
        because = [*_class_facts(scene, claim), mode, missing]
        why = say("It is bound once a pod that uses it is scheduled; until then nothing is wrong.")
        event = scene.event(claim, *_WAITS)
        yield cause(BINDER, sentence, because, why=why, severity="delays", event=event)
    for pod in bypassing:
        because = [mode, _use_fact(pod, claim), _node_name_fact(pod), missing]
        sentence = say(
            "Claim {claim} waits for the scheduler to choose a node, but its pod {pod} "
            "bypasses the scheduler: it has nodeName {node_name}.",
            claim=claim.key,
            pod=pod.name,
            node_name=pod.node_name,
        )
        why = say(
            "A WaitForFirstConsumer claim is served once the scheduler writes "
            "{selected_node}, and pods that set nodeName never reach the scheduler.",
            selected_node=SELECTED_NODE,
        )
        yield cause(BINDER, sentence, because, why=why, event=scene.event(claim, *_WAITS))
    waiting = [pod for pod in users if not pod.node_name]
    if waiting and not bypassing:
        names = listed([pod.key for pod in waiting], 3)
        sentence = say_count(
            "Claim {claim} waits until the scheduler has a node for pod {pods}.",
            "Claim {claim} waits until the scheduler has a node for pods {pods}.",
            len(waiting),
            claim=claim.key,
            pods=names,
        )
        because = [mode, missing, *(_use_fact(pod, claim) for pod in waiting[:FEW])]
        why = say(
            "Ask why pod {key} is pending: the claim is bound together with it.", key=waiting[0].key
        )
        if storage_class.provisioner == NO_PROVISIONER:
            faults = _candidates(scene, claim)
            because += faults
            verdicts = explain_candidates(claim, list(scene.volumes()))
            if faults and all(each.faults for each in verdicts):
                why = together(say("No volume fits it yet."), faults[0].text)
        yield cause(BINDER, sentence, because, why=why, event=scene.event(claim, *_WAITS))


def _node_name_fact(pod: Pod) -> Fact:
    text = say(
        "Pod {pod} has spec.nodeName {node_name}, so no scheduler looks at it.",
        pod=pod.key,
        node_name=pod.node_name,
    )
    return fact(pod, ("spec", "nodeName"), text)


def _waits_for_provisioner(
    scene: Scene,
    claim: PersistentVolumeClaim,
    storage_class: StorageClass,
    lead: list[Fact] | None = None,
) -> Iterator[Cause]:
    name = storage_class.provisioner
    because = [*(lead or ()), *_class_facts(scene, claim)]
    because.append(
        fact(
            storage_class,
            ("provisioner",),
            say(
                "Class {storage_class} is provisioned by {name}, outside of Kubernetes' own code.",
                storage_class=storage_class.name,
                name=name,
            ),
        )
    )
    if claim.spec.get("selector"):
        text = say(
            "Claim {claim} has a selector: claim Selector is not supported.", claim=claim.key
        )
        because.append(fact(claim, ("spec", "selector"), text))
        sentence = say(
            "Provisioner {name} refuses claim {claim}: claim Selector is not supported.",
            name=name,
            claim=claim.key,
        )
        why = say("A volume that is provisioned has no labels yet which a selector could choose.")
        event = scene.event(claim, "ProvisioningFailed")
        yield cause(name, sentence, because, why=why, event=event)
        return
    because += _provisioner_facts(scene, claim, name)
    because += _candidates(scene, claim)
    size = quantity.format_bytes(claim.request_bytes)
    failed = scene.event(claim, "ProvisioningFailed")
    if failed:
        sentence = say(
            "Provisioner {name} fails to make a volume of {size} for claim {claim}.",
            name=name,
            size=size,
            claim=claim.key,
        )
        why = say("It tries again; the Event has the error of the driver.")
        yield cause(name, sentence, because, why=why, event=failed)
        return
    sentence = say(
        "Claim {claim} waits until {name} has provisioned a volume of {size}.",
        claim=claim.key,
        name=name,
        size=size,
    )
    why = say("If nothing happens, the pods of its provisioner do not run or have no access.")
    event = scene.event(claim, "ExternalProvisioning")
    yield cause(name, sentence, because, why=why, severity="delays", event=event)


def _provisioner_facts(scene: Scene, claim: PersistentVolumeClaim, name: str) -> Iterator[Fact]:
    """Who was asked to provision, and whether any node has the driver."""
    asked = claim.annotations.get(STORAGE_PROVISIONER)
    if asked:
        text = say(
            "The persistentvolume-controller asks {asked} for the volume of claim {claim}.",
            asked=asked,
            claim=claim.key,
        )
        yield fact(claim, ("metadata", "annotations", STORAGE_PROVISIONER), text)
    drivers = [
        driver.get("name")
        for csi_node in scene.store.objects("CSINode")
        for driver in items(csi_node.spec, "drivers")
    ]
    for csi_node in scene.store.objects("CSINode")[:FEW]:
        if name not in drivers:
            text = say(
                "CSINode {csi_node} does not have the driver {name}.",
                csi_node=csi_node.name,
                name=name,
            )
            yield fact(csi_node, ("spec", "drivers"), text, compared_with=name)


def _resizing(scene: Scene, claim: PersistentVolumeClaim) -> Iterator[Cause]:
    """A claim that asks for more than it has."""
    conditions = list(_resize_conditions(claim))
    yield from conditions
    volume = scene.volume(claim.volume_name)
    has = quantity.value(section(claim.status, "capacity").get("storage") or 0)
    if conditions or volume is None or not has or claim.request_bytes <= has:
        return
    text = say("Claim {claim} has {size}.", claim=claim.key, size=quantity.format_bytes(has))
    because = [
        fact(
            claim,
            ("spec", "resources", "requests", "storage"),
            say(
                "Claim {claim} asks for {size}.",
                claim=claim.key,
                size=quantity.format_bytes(claim.request_bytes),
            ),
            compared_with=has,
        ),
        fact(claim, ("status", "capacity", "storage"), text),
    ]
    why = say(
        "The resizer of the driver has still to grow the volume; without one it stays as it is."
    )
    storage_class = scene.storage_class(claim_class(claim))
    if storage_class is not None:
        is_allowed = bool(storage_class.raw.get("allowVolumeExpansion"))
        name = storage_class.name
        text = say("Class {storage_class} does not allow its volumes to grow.", storage_class=name)
        if is_allowed:
            text = say("Class {storage_class} allows its volumes to grow.", storage_class=name)
        because.append(fact(storage_class, ("allowVolumeExpansion",), text))
        if not is_allowed:
            why = text
    sentence = say(
        "Claim {claim} waits for its volume {volume} to grow.", claim=claim.key, volume=volume.name
    )
    event = scene.event(claim, "VolumeResizeFailed", "ExternalExpanding")
    yield cause("external-resizer", sentence, because, why=why, event=event, severity="delays")


def _resize_conditions(claim: PersistentVolumeClaim) -> Iterator[Cause]:
    for place, condition in enumerate(items(claim.status, "conditions")):
        kind = condition.get("type")
        if kind in ("Resizing", "FileSystemResizePending") and condition.get("status") == "True":
            asked = quantity.format_bytes(claim.request_bytes)
            has = section(claim.status, "capacity").get("storage")
            text = say(
                "Claim {claim} has the condition {kind}: {asked} asked for, {has} so far.",
                claim=claim.key,
                kind=kind,
                asked=asked,
                has=has,
            )
            component = "external-resizer" if kind == "Resizing" else "kubelet"
            because = [
                fact(claim, ("status", "conditions", place), text),
                fact(
                    claim, ("status", "capacity", "storage"), say("Its capacity is {has}.", has=has)
                ),
            ]
            yield cause(component, text, because, severity="delays")
