"""Why volumes do not reach the node of their pod: drivers that are not registered, other attachments."""

from __future__ import annotations

from engine.diagnosis.observed.evidence import Evidence, condition, key_of
from engine.diagnosis.triage.carrying_out import bodies, deleted_at_once, patch_of
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.controllers import behind
from engine.diagnosis.triage.stuck.explained import Explained, Stuck, facts_of
from engine.diagnosis.triage.stuck.nodes import changes_of_dead
from engine.diagnosis.triage.stuck.refusals import started
from engine.framework.explaining.case import listed
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest


def explain_driver(evidence: Evidence, driver: str, found: Stuck) -> Explained:
    """A CSI driver that is not registered: where, and which DaemonSet should do it."""
    nodes = sorted({str(section(each, "spec").get("nodeName")) for each in found.objects})
    text = _unregistered(evidence, driver, nodes)
    owner = behind(evidence, driver, "node", "driver", "csi")
    if owner is None:
        run = Change(text=f"Run the node plugin of {driver} on {listed(nodes, 4)}", kind="driver")
        return Explained(text, f"driver {driver}", (run,))
    change = (
        Change(
            text=f"Let {owner.name} run on {listed(nodes, 4)} and register {driver} there",
            kind="driver",
        )
        if owner.is_running
        else started(owner.workload)
    )
    text = f"{text} {owner.said(evidence, 'is its node plugin')}"
    return Explained(text, f"{owner.name} (driver {driver})", (change,), facts_of(owner))


def _unregistered(evidence: Evidence, driver: str, nodes: list[str]) -> str:
    """Where the driver is not registered; an Event may be older than a CSINode that has it."""
    listed_on = [name for name in nodes if _is_registered(evidence, driver, name)]
    others = [name for name in nodes if name not in listed_on]
    text = f"driver {driver} is not registered on {listed(others, 4)} (CSINode)." if others else ""
    if listed_on:
        has = "CSINode" if len(listed_on) == 1 else "CSINodes"
        text = (
            f"{text} The kubelet did not find driver {driver}, although {has} "
            f"{listed(listed_on, 4)} has it now."
        )
    return text.strip()


def _is_registered(evidence: Evidence, driver: str, node: str) -> bool:
    csi_node = evidence.find("CSINode", node)
    drivers = items(section(csi_node or {}, "spec"), "drivers")
    return any(each.get("name") == driver for each in drivers)


def _users(evidence: Evidence, volume: str, node: str) -> list[str]:
    """The pods on *node* that use *volume*."""
    found = evidence.find("PersistentVolume", volume)
    claim = section(found, "spec", "claimRef") if found is not None else {}
    key = f"{claim.get('namespace')}/{claim.get('name')}"
    return [
        key_of(pod) for pod in evidence.users(key) if section(pod, "spec").get("nodeName") == node
    ]


def _without(attachment: Manifest, node: str) -> Change:
    """Detach by hand what nobody needs where it is."""
    name = attachment["metadata"]["name"]
    return Change(
        text=f"Delete VolumeAttachment {name}, once {node} has unmounted the volume",
        kind="attachment",
        loses=f"data, if {node} still writes to the volume",
        commands=bodies([deleted_at_once(attachment)]),
    )


def explain_multi_attach(evidence: Evidence, volume: str, found: Stuck) -> Explained:
    """A volume that is still attached elsewhere: by which VolumeAttachment, and to which node."""
    text = f"{found.message.rstrip('.')}."
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
        text = f"{text} VolumeAttachment {name} still ties volume {volume} to {node}"
        users = _users(evidence, volume, node)
        text += ", a node that is not in the files." if is_gone else ""
        text += f", where pod {listed(users, 3)} uses it." if users else "" if is_gone else "."
        is_idle = not (users or is_gone or each["metadata"].get("deletionTimestamp"))
        changes: list[Change] = []
        dead = evidence.find("Node", node)
        ready = condition(dead, "Ready") if dead is not None else None
        if dead is not None and ready is not None and ready.get("status") != "True":
            text = f"{text} {node} is not ready (Ready={ready.get('status')}), so nothing is unmounted there."
            changes = list(changes_of_dead(dead))
            return Explained(text, f"node {node}", tuple(changes), (f"node/{node}",))
        if is_gone or each["metadata"].get("deletionTimestamp"):
            changes.append(
                Change(
                    text=f"Take the finalizers off VolumeAttachment {name} once the machine {node} is surely gone",
                    kind="finalizer",
                    loses="data, if the machine still writes to the volume",
                    commands=bodies([patch_of(each, {"metadata": {"finalizers": []}})]),
                )
            )
        lets_go = ""
        if is_idle:
            lets_go = (
                f"No pod on {node} uses volume {volume}: a healthy attach/detach controller would take "
                f"VolumeAttachment {name} away within six minutes, and attach the volume to "
                f"{listed(sorted(mine), 3)}."
            )
            changes.append(_without(each, node))
        facts = (f"node/{node}",)
        return Explained(text, f"volumeattachment {name}", tuple(changes), facts, lets_go)
    return Explained(text, f"volume {volume}")
