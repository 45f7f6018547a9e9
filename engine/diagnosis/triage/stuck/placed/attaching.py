"""Why volumes do not reach the node of their pod: drivers that are not registered, other attachments."""

from __future__ import annotations

from engine.diagnosis.observed.evidence import Evidence, condition, is_under_way, key_of
from engine.diagnosis.triage.carrying_out import bodies, deleted_at_once, patch_of
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.controllers import IS_NODE_PLUGIN, behind
from engine.diagnosis.triage.stuck.explained import Explained, Stuck, facts_of
from engine.diagnosis.triage.stuck.nodes import changes_of_dead
from engine.diagnosis.triage.stuck.refusals import started
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, say, say_count, together, verbatim
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest


def explain_driver(evidence: Evidence, driver: str, found: Stuck) -> Explained:
    """A CSI driver that is not registered: where, and which DaemonSet should do it."""
    nodes = sorted({str(section(each, "spec").get("nodeName")) for each in found.objects})
    text = _unregistered(evidence, driver, nodes)
    owner = behind(evidence, driver, "node", "driver", "csi")
    if owner is None:
        run = Change(
            text=say(
                "Run the node plugin of {driver} on {nodes}", driver=driver, nodes=listed(nodes, 4)
            ),
            kind="driver",
        )
        return Explained(text, known_as("driver", driver), (run,))
    change = (
        Change(
            text=say(
                "Let {owner} run on {nodes} and register {driver} there",
                owner=owner.name,
                nodes=listed(nodes, 4),
                driver=driver,
            ),
            kind="driver",
        )
        if owner.is_running
        else started(owner.workload)
    )
    text = together(text, owner.said(evidence, IS_NODE_PLUGIN))
    by = f"{owner.name} ({known_as('driver', driver)})"
    return Explained(text, by, (change,), facts_of(owner))


def _unregistered(evidence: Evidence, driver: str, nodes: list[str]) -> Sentence:
    """Where the driver is not registered; an Event may be older than a CSINode that has it."""
    listed_on = [name for name in nodes if _is_registered(evidence, driver, name)]
    others = [name for name in nodes if name not in listed_on]
    text = (
        say(
            "driver {driver} is not registered on {others} (CSINode).",
            driver=driver,
            others=listed(others, 4),
        )
        if others
        else NOTHING
    )
    if not listed_on:
        return text
    has_it = say_count(
        "The kubelet did not find driver {driver}, although CSINode {nodes} has it now.",
        "The kubelet did not find driver {driver}, although CSINodes {nodes} has it now.",
        len(listed_on),
        driver=driver,
        nodes=listed(listed_on, 4),
    )
    return together(text, has_it)


def _is_registered(evidence: Evidence, driver: str, node: str) -> bool:
    csi_node = evidence.find("CSINode", node)
    drivers = items(section(csi_node or {}, "spec"), "drivers")
    return any(each.get("name") == driver for each in drivers)


def _users(evidence: Evidence, volume: str, node: str) -> list[str]:
    """The pods on *node* that use *volume*; one that has ended does not keep it attached."""
    found = evidence.find("PersistentVolume", volume)
    claim = section(found, "spec", "claimRef") if found is not None else {}
    key = f"{claim.get('namespace')}/{claim.get('name')}"
    return [
        key_of(pod)
        for pod in evidence.users(key)
        if section(pod, "spec").get("nodeName") == node and is_under_way(pod)
    ]


def detached(evidence: Evidence, volume: str, attachment: Manifest) -> Change | None:
    """Detach by hand what nobody needs where it is; None where a pod does."""
    name, node = attachment["metadata"]["name"], str(section(attachment, "spec").get("nodeName"))
    if evidence.find("Node", node) is None or attachment["metadata"].get("deletionTimestamp"):
        return Change(
            text=say(
                "Take the finalizers off VolumeAttachment {name} once the machine {node} "
                "is surely gone",
                name=name,
                node=node,
            ),
            kind="finalizer",
            loses=say("data, if the machine still writes to the volume"),
            commands=bodies([patch_of(attachment, {"metadata": {"finalizers": []}})]),
        )
    if _users(evidence, volume, node):
        return None
    return Change(
        text=say(
            "Delete VolumeAttachment {name}, once {node} has unmounted the volume",
            name=name,
            node=node,
        ),
        kind="attachment",
        loses=say("data, if {node} still writes to the volume", node=node),
        commands=bodies([deleted_at_once(attachment)]),
    )


def explain_multi_attach(evidence: Evidence, volume: str, found: Stuck) -> Explained:
    """A volume that is still attached elsewhere: by which VolumeAttachment, and to which node."""
    text = verbatim(f"{found.message.rstrip('.')}.")
    for each in evidence.all("VolumeAttachment"):
        source = section(each, "spec", "source")
        node = str(section(each, "spec").get("nodeName"))
        if source.get("persistentVolumeName") != volume:
            continue
        name = str(each["metadata"]["name"])
        mine = {str(section(pod, "spec").get("nodeName")) for pod in found.objects}
        if node in mine:
            continue
        is_gone = evidence.find("Node", node) is None
        users = _users(evidence, volume, node)
        text = together(text, _still_tied(name, volume, node, users, is_gone=is_gone))
        is_idle = not (users or is_gone or each["metadata"].get("deletionTimestamp"))
        dead = evidence.find("Node", node)
        ready = condition(dead, "Ready") if dead is not None else None
        if dead is not None and ready is not None and ready.get("status") != "True":
            text = together(
                text,
                say(
                    "{node} is not ready (Ready={status}), so nothing is unmounted there.",
                    node=node,
                    status=ready.get("status"),
                ),
            )
            changes = tuple(changes_of_dead(dead))
            return Explained(text, known_as("node", node), changes, (f"node/{node}",))
        lets_go = NOTHING
        if is_idle:
            lets_go = say(
                "No pod on {node} uses volume {volume}: a healthy attach/detach controller would take "
                "VolumeAttachment {name} away within six minutes, and attach the volume to {others}.",
                node=node,
                volume=volume,
                name=name,
                others=listed(sorted(mine), 3),
            )
        change, facts = detached(evidence, volume, each), (f"node/{node}",)
        changes = () if change is None else (change,)
        return Explained(text, known_as("volumeattachment", name), changes, facts, lets_go)
    return Explained(text, known_as("volume", volume))


def _still_tied(
    attachment: str, volume: str, node: str, users: list[str], *, is_gone: bool
) -> Sentence:
    known = {"attachment": attachment, "volume": volume, "node": node}
    used = {**known, "pods": listed(users, 3)}
    if is_gone and users:
        return say(
            "VolumeAttachment {attachment} still ties volume {volume} to {node}, a node that is "
            "not in the files, where pod {pods} uses it.",
            **used,
        )
    if is_gone:
        return say(
            "VolumeAttachment {attachment} still ties volume {volume} to {node}, a node that is "
            "not in the files.",
            **known,
        )
    if users:
        return say(
            "VolumeAttachment {attachment} still ties volume {volume} to {node}, where pod {pods} "
            "uses it.",
            **used,
        )
    return say("VolumeAttachment {attachment} still ties volume {volume} to {node}.", **known)
