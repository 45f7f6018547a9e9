"""The limit of a node, and the pods whose volumes fill it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.framework.explaining.case import FEW, Case, listed, pod_and_owner
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.kernel.sentences import NOTHING, Sentence, say, say_count
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject


def explain_limits(case: Case) -> Explanation:
    """The limit that a node's CSINode states, and the pods whose volumes fill it."""
    because = list(_claim_facts(case))
    missing = case.numbers.get("missing_driver")
    if missing is not None:
        return _explain_missing_driver(case, str(missing), because)
    for node, detail in case.few():
        driver, limit = detail.numbers.get("driver"), detail.numbers.get("limit")
        csi_node = case.world.listers.get("CSINode", node.name)
        if csi_node is not None:
            drivers = items(csi_node.spec, "drivers")
            place = next((at for at, one in enumerate(drivers) if one.get("name") == driver), None)
            if place is not None:
                text = say(
                    "CSINode {node} allows {volumes} of driver {driver}.",
                    node=node.name,
                    volumes=_volumes(limit),
                    driver=driver,
                )
                path = ("spec", "drivers", place, "allocatable", "count")
                wanted = _count(detail.numbers, "attached") + _count(detail.numbers, "added")
                because.append(fact(csi_node, path, text, compared_with=wanted))
    node = case.nearest
    users = [info for info in case.pods_at(case.refused[0].row) if info.pod.claim_names]
    for info in users[:FEW]:
        claims = listed(list(info.pod.claim_names), 3)
        text = say(
            "Pod {pod} on {node} uses claim {claims}.",
            pod=pod_and_owner(info.pod),
            node=node.name,
            claims=claims,
        )
        because.append(fact(info.pod, ("spec", "volumes"), text))
    names = listed([info.key for info in users], 3)
    why = NOTHING
    driver, counts = str(case.numbers.get("driver")), case.numbers.get("held_by_attachments")
    idle = list(_idle_attachments(case, driver)) if counts else []
    for attachment, volume in idle[:FEW]:
        text = say(
            "VolumeAttachment {attachment} ties volume {volume} to {node}, where no pod uses it.",
            attachment=attachment.name,
            volume=volume,
            node=node.name,
        )
        because.append(fact(attachment, ("spec", "nodeName"), text))
    if idle:
        why = say_count(
            "Volume {volumes} is attached to {node} and no pod there uses it: once it is detached "
            "(VolumeAttachment {attachments}), there is room.",
            "Volumes {volumes} are attached to {node} and no pod there uses them: once they are "
            "detached (VolumeAttachments {attachments}), there is room.",
            len(idle),
            volumes=listed([volume for _, volume in idle], 3),
            node=node.name,
            attachments=listed([each.name for each, _ in idle], 3),
        )
        return Explanation(lead=why, why=why, because=tuple(because))
    if users:
        attached, limit = (_count(case.numbers, key) for key in ("attached", "limit"))
        why = say(
            "Node {node} has {attached} of {limit} volumes attached, for pod {names}.",
            node=node.name,
            attached=attached,
            limit=limit,
            names=names,
        )
    return Explanation(why=why, because=tuple(because))


def _idle_attachments(case: Case, driver: str) -> Iterator[tuple[ApiObject, str]]:
    """What is attached to the closest node for no pod there, with the name of its volume."""
    listers = case.world.listers
    used = {
        claim.volume_name
        for info in case.pods_at(case.refused[0].row)
        for name in info.pod.claim_names
        if (claim := listers.claim(f"{info.pod.namespace}/{name}")) is not None
    }
    for each in listers.attachments_at(case.nearest.name):
        volume = str(section(each.spec, "source").get("persistentVolumeName") or "")
        if volume and each.spec.get("attacher") == driver and volume not in used:
            yield each, volume


def _explain_missing_driver(case: Case, driver: str, because: list[Fact]) -> Explanation:
    """The CSIDriver that asks to be installed, and the nodes where it is not."""
    csi_driver = case.world.listers.get("CSIDriver", driver)
    if csi_driver is not None:
        text = say(
            "CSIDriver {driver} lets no pod onto nodes where it is not installed.", driver=driver
        )
        because.append(fact(csi_driver, ("spec", "preventPodSchedulingIfMissing"), text))
    for node, _ in case.few():
        csi_node = case.world.listers.get("CSINode", node.name)
        if csi_node is None:
            text = say(
                "Node {node} has no CSINode: no CSI driver has registered there.", node=node.name
            )
            because.append(fact(node, ("metadata", "name"), text))
        else:
            text = say(
                "CSINode {node} does not list driver {driver}.", node=node.name, driver=driver
            )
            because.append(fact(csi_node, ("spec", "drivers"), text, compared_with=driver))
    why = say(
        "CSI driver {driver} is not installed on node {nearest}.",
        driver=driver,
        nearest=case.nearest.name,
    )
    return Explanation(lead=why, why=why, because=tuple(because))


def _claim_facts(case: Case) -> Iterator[Fact]:
    """The volumes that the pod would add."""
    for name in case.pod.claim_names:
        claim = case.world.listers.claim(f"{case.pod.namespace}/{name}")
        if claim is not None:
            text = say("Claim {claim} of the pod needs a volume attached.", claim=claim.key)
            yield fact(claim, ("spec", "volumeName"), text)


def _volumes(number: Any) -> Sentence:
    """A number of volumes in words."""
    if not isinstance(number, int):
        return say("{number} volumes", number=number)
    return say_count("1 volume", "{count} volumes", number)


def _count(numbers: Mapping[str, Any], key: str) -> int:
    return int(numbers.get(key) or 0)
