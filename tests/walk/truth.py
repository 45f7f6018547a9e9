"""What the API says that a page has to show: the facts that `in_page.js` reads from the page itself."""

from collections.abc import Callable
from typing import Any

Entity = dict[str, Any]
State = dict[str, Entity]
Facts = dict[str, Any]

_LANES = {
    "in_flight": "In flight",
    "active": "Active",
    "backoff": "Backoff",
    "unschedulable": "Unschedulable",
    "gated": "Gated",
    "unqueued": "Not queued",
}
_FINISHED = ("Succeeded", "Failed")


def of_kind(state: State, kind: str) -> dict[str, Entity]:
    """The objects of a kind by their names: "shop/web-1", "node-1"."""
    start = f"{kind}/"
    return {key[len(start) :]: value for key, value in state.items() if key.startswith(start)}


def board(state: State, subject: str) -> Facts:
    """The lanes with their pods, how many claims and nodes there are, and the pods on each node."""
    lanes: dict[str, list[str]] = {lane: [] for lane in _LANES}
    for name, pod in of_kind(state, "pod").items():
        if lane := _lane(pod):
            lanes[lane].append(f"pod/{name}")
    if not lanes["unqueued"]:
        del lanes["unqueued"]
    nodes = of_kind(state, "node")
    tiles = _tiles(state)
    return {
        "lanes": {_LANES[lane]: len(pods) for lane, pods in lanes.items()},
        "queued": {_LANES[lane]: sorted(pods) for lane, pods in lanes.items()},
        "claims": len(of_kind(state, "claim")),
        "nodes": len(nodes),
        "tiles": {name: sorted(tiles.get(name, [])) for name in {**nodes, **tiles}},
    }


def _lane(pod: Entity) -> str | None:
    waits = not pod.get("node") and not pod.get("assumed") and "deleting" not in pod
    return pod.get("queue") or ("unqueued" if waits and not _is_finished(pod) else None)


def _is_finished(pod: Entity) -> bool:
    return pod.get("phase") in _FINISHED


def _place(pod: Entity) -> str | None:
    return pod.get("node") or pod.get("assumed") or pod.get("nominated")


def _tiles(state: State) -> dict[str, list[str]]:
    """The pods that take a place on each node, whether or not that still exists."""
    tiles: dict[str, list[str]] = {}
    for name, pod in of_kind(state, "pod").items():
        place = _place(pod)
        if place and (not _is_finished(pod) or place not in of_kind(state, "node")):
            tiles.setdefault(place, [])
            if not _is_finished(pod):
                tiles[place].append(f"pod/{name}")
    return tiles


def pods(state: State, subject: str) -> Facts:
    """Each pod with its priority and its attempts."""
    found = of_kind(state, "pod")
    rows = {
        name: [pod.get("priority") or 0, pod.get("attempts") or 0] for name, pod in found.items()
    }
    return {"found": len(found), "pods": rows}


def nodes(state: State, subject: str) -> Facts:
    """Each node with its zone, the pods that count on it and its attached volumes."""
    found = of_kind(state, "node")
    rows = {
        name: {
            "zone": node.get("zone", ""),
            "pods": str(node.get("requested", {}).get("pods", 0)),
            "volumes": str(len(node.get("attachments", {}))),
        }
        for name, node in found.items()
    }
    return {"found": len(found), "nodes": rows}


def node(state: State, subject: str) -> Facts:
    """The pods of a node and how much CPU it has."""
    found = state.get(subject)
    name = subject.partition("/")[2]
    on_it = [key for key, pod in of_kind(state, "pod").items() if _place(pod) == name]
    cpu = (found or {}).get("allocatable", {}).get("cpu")
    return {
        "name": name,
        "pods": sorted(on_it) if found else [],
        "cpu": "" if cpu is None else f"{cpu}m",
    }


def pod(state: State, subject: str) -> Facts:
    """The pod's name, priority and attempts."""
    found = state.get(subject)
    return {
        "name": subject.partition("/")[2],
        "priority": None if found is None else str(found.get("priority") or 0),
        "attempts": (found or {}).get("attempts") or 0,
    }


def volumes(state: State, subject: str) -> Facts:
    """All claims and volumes."""
    return {
        "claims": sorted(of_kind(state, "claim")),
        "volumes": sorted(of_kind(state, "volume")),
    }


def machines(state: State, subject: str) -> Facts:
    """How many objects are in each state of the queue, and how many claims and volumes in each phase."""
    queue = {title: 0 for lane, title in _LANES.items() if lane != "unqueued"}
    for each in of_kind(state, "pod").values():
        if title := _LANES.get(each.get("queue", "")):
            queue[title] += 1
    return {
        "queue": queue,
        "lost": _in_phase(state, "claim", "Lost"),
        "released": _in_phase(state, "volume", "Released"),
        "failed": _in_phase(state, "volume", "Failed"),
    }


def _in_phase(state: State, kind: str, phase: str) -> int:
    return sum(each.get("phase") == phase for each in of_kind(state, kind).values())


TRUTHS: dict[str, Callable[[State, str], Facts]] = {
    "board": board,
    "pods": pods,
    "nodes": nodes,
    "node": node,
    "pod": pod,
    "volumes": volumes,
    "machines": machines,
}
