"""Why a pod that has its node does not run, does not go, or cannot be evicted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.budgets import budget_causes_of
from engine.diagnosis.subjects.claims import claim_causes
from engine.diagnosis.subjects.pods.containers import container_causes
from engine.diagnosis.subjects.pods.devices import preparation_causes
from engine.diagnosis.subjects.pods.resizes import resize_causes
from engine.diagnosis.subjects.rollouts import strategy_fact
from engine.diagnosis.subjects.scene import Scene, cause, deletion_facts
from engine.framework.explaining.case import listed, pod_and_owner
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import Sentence, enumerated, say
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
        yield from container_causes(scene, pod)
    else:
        yield from container_causes(scene, pod)
        yield from resize_causes(scene, pod)
    yield from budget_causes_of(scene, pod)


def _runs(pod: Pod) -> bool:
    return pod.phase == "Running"


def _terminating(scene: Scene, pod: Pod) -> Cause:
    because = deletion_facts(pod)
    node = scene.node(pod.node_name)
    why = say(
        "The kubelet of {node_name} ends its containers within the grace period.",
        node_name=pod.node_name,
    )
    if node is None:
        why = say(
            "Node {node_name} is gone, so no kubelet confirms that the containers have ended.",
            node_name=pod.node_name,
        )
    elif not node.is_ready:
        because.extend(condition_facts(node, "Ready"))
        why = say(
            "Node {node} is not ready, so no kubelet confirms that the containers have "
            "ended; only a forced deletion (grace period 0) ends it.",
            node=node.name,
        )
    elif pod.finalizers:
        why = say(
            "It goes when its finalizers are removed: {list}.", list=listed(list(pod.finalizers))
        )
    because.append(
        fact(pod, ("spec", "nodeName"), say("It is on node {node_name}.", node_name=pod.node_name))
    )
    return cause(
        KUBELET, say("Pod {pod} is terminating.", pod=pod.key), because, why=why, severity="delays"
    )


def _starting(scene: Scene, pod: Pod) -> Iterator[Cause]:
    node = scene.node(pod.node_name)
    placed = fact(
        pod,
        ("spec", "nodeName"),
        say("Pod {pod} has its node, {node_name}.", pod=pod.key, node_name=pod.node_name),
    )
    if node is None:
        sentence = say(
            "Pod {pod} names node {node_name}, which does not exist.",
            pod=pod.key,
            node_name=pod.node_name,
        )
        yield cause(KUBELET, sentence, [placed])
        return
    if not node.is_ready:
        sentence = say(
            "Node {node} of pod {pod} is not ready, so its kubelet starts nothing.",
            node=node.name,
            pod=pod.key,
        )
        event = scene.event(pod, "NetworkNotReady")
        yield cause(KUBELET, sentence, [placed, *condition_facts(node, "Ready")], event=event)
    for key, claim in scene.claims_of(pod):
        if claim is None:
            text = say("Pod {pod} uses claim {key}, which does not exist.", pod=pod.key, key=key)
            uses = fact(pod, ("spec", "volumes"), text)
            why = say("Its kubelet starts no container before all volumes of the pod are mounted.")
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
        fact(
            pod,
            ("spec", "nodeName"),
            say("The kubelet of {node_name} mounts the volumes.", node_name=pod.node_name),
        ),
        fact(
            pod,
            ("status", "phase"),
            say("Pod {pod} is {phase}.", pod=pod.key, phase=pod.phase or "Pending"),
        ),
    ]
    for _, claim in scene.claims_of(pod):
        volume = None if claim is None else scene.volume(claim.volume_name)
        if claim is None or volume is None:
            continue
        text = say(
            "Claim {claim} of the pod is bound to volume {volume}.",
            claim=claim.key,
            volume=volume.name,
        )
        because.append(fact(claim, ("spec", "volumeName"), text))
        for attachment in scene.attachments(volume.name):
            if attachment.spec.get("nodeName") == pod.node_name:
                text = say(
                    "Volume {volume} is attached to {node_name}.",
                    volume=volume.name,
                    node_name=pod.node_name,
                )
                because.append(fact(attachment, ("status", "attached"), text))
    sentence = say(
        "The kubelet of {node_name} cannot mount the volumes of pod {pod}.",
        node_name=pod.node_name,
        pod=pod.key,
    )
    why = say("It tries again with a growing delay; the Event has the error of the mount.")
    yield cause(KUBELET, sentence, because, why=why, event=event)


def _attaching(scene: Scene, pod: Pod, volume: PersistentVolume, attachment: ApiObject) -> Cause:
    driver = str(attachment.spec.get("attacher"))
    error = section(attachment.status, "attachError").get("message")
    text = say(
        "VolumeAttachment {attachment} of volume {volume} is not attached yet.",
        attachment=attachment.name,
        volume=volume.name,
    )
    because = [fact(attachment, ("status", "attached"), text)]
    if error:
        text = say("The driver says: {error}.", error=error)
        because.append(fact(attachment, ("status", "attachError", "message"), text))
    name = pod.node_name
    text = say("Volume {volume} is of driver {driver}.", volume=volume.name, driver=driver)
    because.append(fact(volume, ("spec", "csi", "driver"), text))
    if not error:
        sentence = say(
            "Volume {volume} is not attached to {name} yet: {driver} is attaching it.",
            volume=volume.name,
            name=name,
            driver=driver,
        )
        why = say("If this does not change, the attacher of the driver is not running.")
        return cause(ATTACHER, sentence, because, why=why, severity="delays")
    sentence = say(
        "The driver {driver} fails to attach volume {volume} to {name}.",
        driver=driver,
        volume=volume.name,
        name=name,
    )
    why = say("The attach is tried again with a growing delay; the Event has the driver's error.")
    event = scene.event(pod, "FailedAttachVolume") or say(
        "FailedAttachVolume: {error}", error=error
    )
    return cause(ATTACHER, sentence, because, why=why, event=event)


def _multi_attach(
    scene: Scene, pod: Pod, volume: PersistentVolume, elsewhere: list[ApiObject]
) -> Cause:
    modes = enumerated(volume.access_modes)
    because = [
        fact(
            volume,
            ("spec", "accessModes"),
            say(
                "Volume {volume} is {modes}: it can be attached to one node at a time.",
                volume=volume.name,
                modes=modes,
            ),
        )
    ]
    nodes: list[str] = []
    holders: list[Pod] = []
    for attachment in elsewhere:
        name = str(attachment.spec.get("nodeName"))
        nodes.append(name)
        text = say("Volume {volume} is attached to {name}.", volume=volume.name, name=name)
        because.append(fact(attachment, ("spec", "nodeName"), text, compared_with=pod.node_name))
    for other in scene.pods(pod.namespace):
        shares = set(other.claim_names) & set(pod.claim_names)
        if other.key != pod.key and other.node_name in nodes and shares:
            holders.append(other)
            text = say(
                "Pod {pod} on {node} uses it.",
                pod=pod_and_owner(other),
                node=other.node_name,
            )
            because.append(fact(other, ("spec", "nodeName"), text))
    sentence = say(
        "Multi-Attach: volume {volume} ({modes}) is attached to {nodes}, and pod "
        "{pod} is on {node_name}.",
        volume=volume.name,
        modes=modes,
        nodes=listed(nodes),
        pod=pod.name,
        node_name=pod.node_name,
    )
    if holders:
        sentence = say(
            "Volume {volume} ({modes}) stays attached to {nodes} for pod {value}, and "
            "pod {pod} is on {node_name}.",
            volume=volume.name,
            modes=modes,
            nodes=listed(nodes),
            value=listed([each.name for each in holders], 2),
            pod=pod.name,
            node_name=pod.node_name,
        )
    rollout = _rollout_facts(scene, pod)
    because.extend(rollout)
    why = _why_attached(scene, elsewhere, holders)
    if rollout and holders:
        why = rollout[0].text
    event = scene.event(pod, "FailedAttachVolume")
    return cause(ATTACHER, sentence, because, why=why, event=event)


def _why_attached(scene: Scene, elsewhere: list[ApiObject], holders: list[Pod]) -> Sentence:
    """What keeps the volume on the other node."""
    name = str(elsewhere[0].spec.get("nodeName"))
    node = scene.node(name)
    if node is None:
        return say(
            "Node {name} is gone; the volume is detached six minutes after its last pod.", name=name
        )
    if not node.is_ready:
        return say(
            "Node {name} is not ready, so its kubelet does not unmount: the volume is "
            "detached six minutes after its pod is gone, or at once with the taint "
            "out-of-service.",
            name=name,
        )
    if holders:
        return say(
            "Pod {key} has to leave {name} before the volume can be detached.",
            key=holders[0].key,
            name=name,
        )
    return say("The volume is still to be detached from {name}.", name=name)


def _rollout_facts(scene: Scene, pod: Pod) -> list[Fact]:
    """The Deployment that starts the new pod before the old one has gone."""
    owner = scene.controller_of(pod)
    deployment = None if owner is None else scene.controller_of(owner)
    if deployment is None or deployment.kind != "Deployment":
        return []
    if (section(deployment.spec, "strategy").get("type") or "RollingUpdate") != "RollingUpdate":
        return []
    return [strategy_fact(deployment)]
