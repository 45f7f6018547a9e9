"""The limit of a node, and the pods whose volumes fill it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.framework.explaining.case import FEW, Case, listed, pod_and_owner
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.kernel.sentences import NOTHING, Sentence, say, say_count
from engine.objects.manifest_parts import items


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
