"""The pods that use a claim which one pod may use at a time, or a disk that cannot be shared."""

from __future__ import annotations

from typing import Any

from engine.framework.explaining.case import FEW, Case, listed, pod_and_owner
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.kernel.sentences import NOTHING, say

_ALONE = "ReadWriteOncePod"


def explain_claim_in_use(case: Case) -> Explanation:
    """The pods that use a claim which one pod may use at a time, or a disk that cannot be shared."""
    pod, listers = case.pod, case.world.listers
    because: list[Fact] = []
    users: list[str] = []
    for name in pod.claim_names:
        claim = listers.claim(f"{pod.namespace}/{name}")
        if claim is None or _ALONE not in claim.access_modes:
            continue
        text = say(
            "Claim {claim} has the access mode {ALONE}: one pod at a time may use it.",
            claim=claim.key,
            ALONE=_ALONE,
        )
        because.append(fact(claim, ("spec", "accessModes"), text))
        for node, info in case.placed_pods():
            if info.key == pod.key or info.pod.namespace != pod.namespace:
                continue
            if name in info.pod.claim_names:
                users.append(say("{info} on {node}", info=info.key, node=node.name))
                text = say(
                    "Pod {pod} on {node} uses claim {claim}.",
                    pod=pod_and_owner(info.pod),
                    node=node.name,
                    claim=claim.key,
                )
                because.append(fact(info.pod, ("spec", "volumes"), text, compared_with=claim.name))
    if not because:
        return _disks(case)
    sentence = NOTHING
    if users:
        sentence = say(
            "Claim {key} is used by pod {users}, and its access mode is {ALONE}.",
            key=because[0].key,
            users=listed(users, 3),
            ALONE=_ALONE,
        )
    why = (
        say("No other node helps: the claim is in use, wherever the pod would go.")
        if users
        else NOTHING
    )
    return Explanation(sentence=sentence, lead=sentence, why=why, because=tuple(because))


def _disks(case: Case) -> Explanation:
    """In-tree disks that two pods of a node may not share."""
    wanted = {_disk(volume) for volume in case.pod.volumes} - {""}
    users = [
        (case.node(each), info, place, _disk(volume))
        for each in case.refused[:FEW]
        for info in case.pods_at(each.row)
        for place, volume in enumerate(info.pod.volumes)
        if _disk(volume) in wanted
    ]
    because = [
        fact(
            case.pod,
            ("spec", "volumes", place),
            say("The pod uses the disk {disk}.", disk=_disk(volume)),
        )
        for place, volume in enumerate(case.pod.volumes)
        if _disk(volume) and any(disk == _disk(volume) for _, _, _, disk in users)
    ]
    because += [
        fact(
            info.pod,
            ("spec", "volumes", place),
            say(
                "Pod {pod} on {node} uses the disk {disk}.",
                pod=pod_and_owner(info.pod),
                node=node.name,
                disk=disk,
            ),
            compared_with=disk,
        )
        for node, info, place, disk in users
    ]
    holders = listed(
        list(
            dict.fromkeys(
                say("{info} on {node}", info=info.key, node=node.name) for node, info, _, _ in users
            )
        ),
        3,
    )
    why = (
        say(
            "Pods of one node cannot share the disk, and it is used by pod {holders}.",
            holders=holders,
        )
        if users
        else NOTHING
    )
    return Explanation(lead=why, why=why, because=tuple(because))


def _disk(volume: dict[str, Any]) -> str:
    for source, field in (
        ("gcePersistentDisk", "pdName"),
        ("awsElasticBlockStore", "volumeID"),
        ("iscsi", "iqn"),
        ("rbd", "image"),
    ):
        if volume.get(source):
            return str(volume[source].get(field))
    return ""
