"""Why a pod that has its node does not run, does not go, or cannot be evicted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.budgets import budget_causes_of
from engine.diagnosis.subjects.claims import claim_causes
from engine.diagnosis.subjects.pods.devices import preparation_causes
from engine.diagnosis.subjects.pods.resizes import resize_causes
from engine.diagnosis.subjects.rollouts import strategy_fact
from engine.diagnosis.subjects.scene import Scene, cause, deletion_facts
from engine.framework.explaining.case import listed, owner_text
from engine.framework.explaining.fact import Fact, fact
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject, PersistentVolume, Pod
from engine.plugins.taint_toleration.facts import condition_facts

ATTACHER: Final = "attachdetach-controller"
KUBELET: Final = "kubelet"
# With one of these a volume may be on several nodes.
_SHARED: Final = frozenset(("ReadWriteMany", "ReadOnlyMany"))


def placed_pod_causes(scene: Scene, pod: Pod) -> Iterator[Cause]:
    """What keeps *pod*, which has its node, from running or from leaving."""
    if pod.deletion_timestamp:
        yield _terminating(scene, pod)
    elif not _runs(pod):
        found = list(_starting(scene, pod))
        yield from found or _not_mounted(scene, pod)
        yield from preparation_causes(scene, pod)
    else:
        yield from resize_causes(scene, pod)
    yield from budget_causes_of(scene, pod)


def _runs(pod: Pod) -> bool:
    return pod.phase == "Running"


def _terminating(scene: Scene, pod: Pod) -> Cause:
    because = deletion_facts(pod)
    node = scene.node(pod.node_name)
    why = f"The kubelet of {pod.node_name} ends its containers within the grace period."
    if node is None:
        why = (
            f"Node {pod.node_name} is gone, so no kubelet confirms that the containers have ended."
        )
    elif not node.is_ready:
        because.extend(condition_facts(node, "Ready"))
        why = (
            f"Node {node.name} is not ready, so no kubelet confirms that the containers have ended; "
            "only a forced deletion (grace period 0) ends it."
        )
    elif pod.finalizers:
        why = f"It goes when its finalizers are removed: {listed(list(pod.finalizers))}."
    because.append(fact(pod, ("spec", "nodeName"), f"It is on node {pod.node_name}."))
    return cause(KUBELET, f"Pod {pod.key} is terminating.", because, why=why, severity="delays")


def _starting(scene: Scene, pod: Pod) -> Iterator[Cause]:
    node = scene.node(pod.node_name)
    placed = fact(pod, ("spec", "nodeName"), f"Pod {pod.key} has its node, {pod.node_name}.")
    if node is None:
        sentence = f"Pod {pod.key} names node {pod.node_name}, which does not exist."
        yield cause(KUBELET, sentence, [placed])
        return
    if not node.is_ready:
        sentence = f"Node {node.name} of pod {pod.key} is not ready, so its kubelet starts nothing."
        event = scene.event(pod, "NetworkNotReady")
        yield cause(KUBELET, sentence, [placed, *condition_facts(node, "Ready")], event=event)
    for key, claim in scene.claims_of(pod):
        if claim is None:
            text = f"Pod {pod.key} uses claim {key}, which does not exist."
            uses = fact(pod, ("spec", "volumes"), text)
            why = "Its kubelet starts no container before all volumes of the pod are mounted."
            event = scene.event(pod, "FailedMount")
            yield cause(KUBELET, text, [placed, uses], why=why, event=event)
            continue
        volume = scene.volume(claim.volume_name)
        if volume is None or not claim.is_bind_completed:
            yield from claim_causes(scene, claim)
        else:
            yield from _not_attached(scene, pod, volume)


def _not_attached(scene: Scene, pod: Pod, volume: PersistentVolume) -> Iterator[Cause]:
    attachments = scene.attachments(volume.name)
    here = next((e for e in attachments if e.spec.get("nodeName") == pod.node_name), None)
    elsewhere = [each for each in attachments if each.spec.get("nodeName") != pod.node_name]
    if here is not None and here.status.get("attached"):
        return
    if elsewhere and not _SHARED.intersection(volume.access_modes):
        yield _multi_attach(scene, pod, volume, elsewhere)
    if here is not None:
        yield _attaching(scene, pod, volume, here)


def _not_mounted(scene: Scene, pod: Pod) -> Iterator[Cause]:
    """Its volumes are there and attached, and its kubelet cannot mount them."""
    event = scene.event(pod, "FailedMount", "FailedMapVolume", "FileSystemResizeFailed")
    if not event:
        return
    because = [
        fact(pod, ("spec", "nodeName"), f"The kubelet of {pod.node_name} mounts the volumes."),
        fact(pod, ("status", "phase"), f"Pod {pod.key} is {pod.phase or 'Pending'}."),
    ]
    for _, claim in scene.claims_of(pod):
        volume = None if claim is None else scene.volume(claim.volume_name)
        if claim is None or volume is None:
            continue
        text = f"Claim {claim.key} of the pod is bound to volume {volume.name}."
        because.append(fact(claim, ("spec", "volumeName"), text))
        for attachment in scene.attachments(volume.name):
            if attachment.spec.get("nodeName") == pod.node_name:
                text = f"Volume {volume.name} is attached to {pod.node_name}."
                because.append(fact(attachment, ("status", "attached"), text))
    sentence = f"The kubelet of {pod.node_name} cannot mount the volumes of pod {pod.key}."
    why = "It tries again with a growing delay; the Event has the error of the mount."
    yield cause(KUBELET, sentence, because, why=why, event=event)


def _attaching(scene: Scene, pod: Pod, volume: PersistentVolume, attachment: ApiObject) -> Cause:
    driver = str(attachment.spec.get("attacher"))
    error = section(attachment.status, "attachError").get("message")
    text = f"VolumeAttachment {attachment.name} of volume {volume.name} is not attached yet."
    because = [fact(attachment, ("status", "attached"), text)]
    if error:
        text = f"The driver says: {error}."
        because.append(fact(attachment, ("status", "attachError", "message"), text))
    name = pod.node_name
    text = f"Volume {volume.name} is of driver {driver}."
    because.append(fact(volume, ("spec", "csi", "driver"), text))
    if not error:
        sentence = f"Volume {volume.name} is not attached to {name} yet: {driver} is attaching it."
        why = "If this does not change, the attacher of the driver is not running."
        return cause(ATTACHER, sentence, because, why=why, severity="delays")
    sentence = f"The driver {driver} fails to attach volume {volume.name} to {name}."
    why = "The attach is tried again with a growing delay; the Event has the driver's error."
    event = scene.event(pod, "FailedAttachVolume") or f"FailedAttachVolume: {error}"
    return cause(ATTACHER, sentence, because, why=why, event=event)


def _multi_attach(
    scene: Scene, pod: Pod, volume: PersistentVolume, elsewhere: list[ApiObject]
) -> Cause:
    modes = ", ".join(volume.access_modes)
    because = [
        fact(
            volume,
            ("spec", "accessModes"),
            f"Volume {volume.name} is {modes}: it can be attached to one node at a time.",
        )
    ]
    nodes: list[str] = []
    holders: list[Pod] = []
    for attachment in elsewhere:
        name = str(attachment.spec.get("nodeName"))
        nodes.append(name)
        text = f"Volume {volume.name} is attached to {name}."
        because.append(fact(attachment, ("spec", "nodeName"), text, compared_with=pod.node_name))
    for other in scene.pods(pod.namespace):
        shares = set(other.claim_names) & set(pod.claim_names)
        if other.key != pod.key and other.node_name in nodes and shares:
            holders.append(other)
            text = f"Pod {other.key}{owner_text(other)} on {other.node_name} uses it."
            because.append(fact(other, ("spec", "nodeName"), text))
    sentence = (
        f"Multi-Attach: volume {volume.name} ({modes}) is attached to {listed(nodes)}, and pod "
        f"{pod.name} is on {pod.node_name}."
    )
    if holders:
        sentence = (
            f"Volume {volume.name} ({modes}) stays attached to {listed(nodes)} for pod "
            f"{listed([each.name for each in holders], 2)}, and pod {pod.name} is on {pod.node_name}."
        )
    rollout = _rollout_facts(scene, pod)
    because.extend(rollout)
    why = _why_attached(scene, elsewhere, holders)
    if rollout and holders:
        why = rollout[0].text
    event = scene.event(pod, "FailedAttachVolume")
    return cause(ATTACHER, sentence, because, why=why, event=event)


def _why_attached(scene: Scene, elsewhere: list[ApiObject], holders: list[Pod]) -> str:
    """What keeps the volume on the other node."""
    name = str(elsewhere[0].spec.get("nodeName"))
    node = scene.node(name)
    if node is None:
        return f"Node {name} is gone; the volume is detached six minutes after its last pod."
    if not node.is_ready:
        return (
            f"Node {name} is not ready, so its kubelet does not unmount: the volume is detached six "
            "minutes after its pod is gone, or at once with the taint out-of-service."
        )
    if holders:
        return f"Pod {holders[0].key} has to leave {name} before the volume can be detached."
    return f"The volume is still to be detached from {name}."


def _rollout_facts(scene: Scene, pod: Pod) -> list[Fact]:
    """The Deployment that starts the new pod before the old one has gone."""
    owner = scene.controller_of(pod)
    deployment = None if owner is None else scene.controller_of(owner)
    if deployment is None or deployment.kind != "Deployment":
        return []
    if (section(deployment.spec, "strategy").get("type") or "RollingUpdate") != "RollingUpdate":
        return []
    return [strategy_fact(deployment)]
