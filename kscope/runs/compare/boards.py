"""Two states as two boards: nodes with their pods, and the pods that wait, each marked if elsewhere."""

from typing import TypedDict

from engine.kernel.view import State
from kscope.runs.compare.comparison import ENDED


class Tile(TypedDict):
    """A pod on a board: whether it is elsewhere in the other run, and assumed but not bound."""

    pod: str
    elsewhere: bool
    assumed: bool


class NodeCard(TypedDict):
    """A node with its pods. `cpu` is [requested, allocatable] in millicores."""

    name: str
    zone: str
    cpu: list[int]
    pods: list[Tile]


class Board(TypedDict):
    """The nodes in order of zone and name, and the pods that have none."""

    nodes: list[NodeCard]
    waits: list[Tile]


class Boards(TypedDict):
    """The boards of both runs."""

    a: Board
    b: Board


def boards(a: State, b: State, elsewhere: frozenset[str]) -> Boards:
    """A board of each state; *elsewhere* are the pods that are not on the same node in both."""
    return Boards(a=_board(a, elsewhere), b=_board(b, elsewhere))


def _board(state: State, elsewhere: frozenset[str]) -> Board:
    on: dict[str, list[Tile]] = {}
    waits: list[Tile] = []
    for entity in sorted(each for each in state if each.startswith("pod/")):
        pod = state[entity]
        if pod.get("phase") in ENDED:
            continue
        node = pod.get("node") or pod.get("assumed")
        tile = Tile(
            pod=entity,
            elsewhere=entity in elsewhere,
            assumed=bool(node and not pod.get("node")),
        )
        (on.setdefault(str(node), []) if node else waits).append(tile)
    nodes = [
        NodeCard(
            name=entity.removeprefix("node/"),
            zone=node.get("zone") or "",
            cpu=[(node.get(part) or {}).get("cpu", 0) for part in ("requested", "allocatable")],
            pods=on.get(entity.removeprefix("node/"), []),
        )
        for entity, node in state.items()
        if entity.startswith("node/")
    ]
    nodes.sort(key=lambda node: (node["zone"], node["name"]))
    return Board(nodes=nodes, waits=waits)
