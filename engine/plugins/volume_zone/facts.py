"""Where a volume lies, and where the nodes are."""

from __future__ import annotations

from engine.framework.explaining.case import Case, listed
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.kernel.sentences import enumerated, say


def explain_zone(case: Case) -> Explanation:
    """The label of the volume beside that of the nodes."""
    because: list[Fact] = []
    seen: set[tuple[str, str]] = set()
    for node, detail in case.few():
        key, name = detail.numbers.get("key"), detail.numbers.get("volume")
        if not isinstance(key, str) or not isinstance(name, str):
            continue
        volume = case.world.listers.volume(name)
        if volume is not None and (name, key) not in seen:
            seen.add((name, key))
            text = say(
                "Volume {name} is in {key}={get}.", name=name, key=key, get=volume.labels.get(key)
            )
            because.append(fact(volume, ("metadata", "labels", key), text))
        has = node.labels.get(key)
        text = (
            say("Node {node} is in {key}={has}.", node=node.name, key=key, has=has)
            if has
            else say("Node {node} has no label {key}.", node=node.name, key=key)
        )
        wanted = detail.numbers.get("values")
        because.append(fact(node, ("metadata", "labels", key), text, compared_with=wanted))
    key = case.numbers.get("key")
    if not isinstance(key, str):
        return Explanation(because=tuple(because))
    allowed: list[str] = case.numbers["values"]
    inside = [node.name for _, node in case.world.nodes() if node.labels.get(key) in allowed]
    volume, wanted = case.numbers.get("volume"), enumerated(allowed)
    why = say(
        "Volume {volume} can only be used in {key}={values}; no node is there.",
        volume=volume,
        key=key,
        values=wanted,
    )
    if inside:
        why = say(
            "Volume {volume} can only be used in {key}={values}; {nodes} is there.",
            volume=volume,
            key=key,
            values=wanted,
            nodes=listed(inside),
        )
    return Explanation(lead=why, why=why, because=tuple(because))
