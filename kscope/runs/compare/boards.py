"""Two states as two boards: nodes with their pods, and the pods that wait, each marked if elsewhere."""

from typing import Any

from engine.kernel.view import Attributes, State
from kscope.runs.compare.comparison import ENDED


def boards(a: State, b: State, elsewhere: frozenset[str]) -> dict[str, Any]:
    """A board of each state; *elsewhere* are the pods that are not on the same node in both."""
    return {"a": _board(a, elsewhere), "b": _board(b, elsewhere)}


def _board(state: State, elsewhere: frozenset[str]) -> dict[str, Any]:
    """`nodes` in order of zone and name with their `pods`; `waits` are pods without a node.

    A pod is {pod, elsewhere, assumed}. `cpu` is [requested, allocatable] in millicores.
    """
    on: dict[str, list[Attributes]] = {}
    waits: list[Attributes] = []
    for entity in sorted(each for each in state if each.startswith("pod/")):
        pod = state[entity]
        if pod.get("phase") in ENDED:
            continue
        node = pod.get("node") or pod.get("assumed")
        tile = {
            "pod": entity,
            "elsewhere": entity in elsewhere,
            "assumed": bool(node and not pod.get("node")),
        }
        (on.setdefault(str(node), []) if node else waits).append(tile)
    nodes = [
        {
            "name": entity.removeprefix("node/"),
            "zone": node.get("zone") or "",
            "cpu": [(node.get(part) or {}).get("cpu", 0) for part in ("requested", "allocatable")],
            "pods": on.get(entity.removeprefix("node/"), []),
        }
        for entity, node in state.items()
        if entity.startswith("node/")
    ]
    nodes.sort(key=lambda node: (node["zone"], node["name"]))
    return {"nodes": nodes, "waits": waits}
