"""The pods that use a claim which one pod may use at a time, or a disk that cannot be shared."""

from __future__ import annotations

from typing import Any

from engine.framework.explaining.case import FEW, Case, listed, owner_text
from engine.framework.explaining.fact import Explanation, Fact, fact

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
        text = f"Claim {claim.key} has the access mode {_ALONE}: one pod at a time may use it."
        because.append(fact(claim, ("spec", "accessModes"), text))
        for node, info in case.placed_pods():
            if info.key == pod.key or info.pod.namespace != pod.namespace:
                continue
            if name in info.pod.claim_names:
                users.append(f"{info.key} on {node.name}")
                text = (
                    f"Pod {info.key}{owner_text(info.pod)} on {node.name} uses claim {claim.key}."
                )
                because.append(fact(info.pod, ("spec", "volumes"), text, compared_with=claim.name))
    if not because:
        return _disks(case)
    sentence = ""
    if users:
        sentence = f"Claim {because[0].key} is used by pod {listed(users, 3)}, and its access mode is {_ALONE}."
    why = "No other node helps: the claim is in use, wherever the pod would go." if users else ""
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
        fact(case.pod, ("spec", "volumes", place), f"The pod uses the disk {_disk(volume)}.")
        for place, volume in enumerate(case.pod.volumes)
        if _disk(volume) and any(disk == _disk(volume) for _, _, _, disk in users)
    ]
    because += [
        fact(
            info.pod,
            ("spec", "volumes", place),
            f"Pod {info.key}{owner_text(info.pod)} on {node.name} uses the disk {disk}.",
            compared_with=disk,
        )
        for node, info, place, disk in users
    ]
    holders = listed(
        list(dict.fromkeys(f"{info.key} on {node.name}" for node, info, _, _ in users)), 3
    )
    why = (
        f"Pods of one node cannot share the disk, and it is used by pod {holders}." if users else ""
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
