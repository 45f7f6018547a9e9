"""The cluster as it stands: nodes by zone, what runs on them, and how many pods wait for one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.diagnosis.first_look.printed import node_state, pod_state
from engine.diagnosis.observed.evidence import Evidence, condition
from engine.diagnosis.triage.deciding import Deciding
from engine.framework.nodes.node_table import MEMORY
from engine.kernel.sentences import NOTHING, Sentence, enumerated, say
from engine.objects.manifest_parts import section
from engine.objects.objects import Node

# Resources that every node has.
_USUAL = ("cpu", "memory", "ephemeral-storage", "pods", "hugepages-", "attachable-volumes-")


@dataclass(slots=True)
class DrawnNode:
    """One node: its pods by state, the share of its memory that is requested, and what is special.

    `state` is "ready", "not ready", "unknown" or "" (the files do not say); `memory` is in percent of
    what is allocatable, None where that is not known.
    """

    name: str
    state: str = ""
    note: Sentence = NOTHING
    memory: int | None = None
    runs: int = 0
    placed: int = 0
    terminating: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Picture:
    """The nodes of each zone, and how many pods wait for a node."""

    zones: dict[str, list[DrawnNode]] = field(default_factory=dict[str, list[DrawnNode]])
    waiting: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        zones = [
            {"zone": zone, "nodes": [each.to_dict() for each in nodes]}
            for zone, nodes in self.zones.items()
        ]
        return {"zones": zones, "waiting": self.waiting}


def picture_of(evidence: Evidence, deciding: Deciding) -> Picture:
    """The picture, zones by name, those without a zone last; nodes by name."""
    found: dict[str, DrawnNode] = {}
    zones: dict[str, list[DrawnNode]] = {}
    nodes = [Node(each) for each in evidence.all("Node")]
    for node in sorted(nodes, key=_place):
        drawn = found[node.name] = _drawn(evidence, deciding, node)
        zones.setdefault(node.zone, []).append(drawn)
    waiting = 0
    for pod in evidence.all("Pod"):
        state = pod_state(pod)
        waiting += state == "waits"
        on = found.get(str(section(pod, "spec").get("nodeName") or ""))
        if on is not None and state in ("runs", "placed", "terminating"):
            setattr(on, state, getattr(on, state) + 1)
    return Picture(zones, waiting)


def _place(node: Node) -> tuple[bool, str, str]:
    return not node.zone, node.zone, node.name


def _drawn(evidence: Evidence, deciding: Deciding, node: Node) -> DrawnNode:
    state = node_state(node.raw)
    notes = dict.fromkeys([*_silence(evidence, node, state), *_marks(node)])
    return DrawnNode(node.name, state, enumerated(list(notes)), _memory(deciding, node.name))


def _silence(evidence: Evidence, node: Node, state: str) -> Iterator[Sentence]:
    """That a node is not ready, and for how long."""
    if state in ("", "ready"):
        return
    since = evidence.age_seconds(
        str((condition(node.raw, "Ready") or {}).get("lastTransitionTime"))
    )
    if since <= 0:
        yield say("silent") if state == "unknown" else say("not ready")
    elif state == "unknown":
        yield say("silent {time}", time=_duration(since))
    else:
        yield say("not ready {time}", time=_duration(since))


def _duration(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7_200:
        return f"{seconds // 60} min"
    return f"{seconds // 3_600} h" if seconds < 172_800 else f"{seconds // 86_400} d"


def _marks(node: Node) -> Iterator[str]:
    """What sets a node apart: cordoned, kept for some by a taint, devices."""
    if node.unschedulable:
        yield say("cordoned")
    yield from _first(str(each.get("key")) for each in node.taints if _is_own(each))
    yield from _first(name for name in node.allocatable if not any(map(name.startswith, _USUAL)))


def _is_own(taint: dict[str, Any]) -> bool:
    """Whether people have set the taint: those of the node's own state are shown as that state."""
    return not str(taint.get("key")).startswith("node.kubernetes.io/")


def _first(names: Iterable[str]) -> list[str]:
    return list(names)[:1]


def _memory(deciding: Deciding, name: str) -> int | None:
    table = deciding.cluster.handle.table
    row = table.rows.get(name)
    if row is None:
        return None
    offered = table.allocatable.item(MEMORY, row)
    return table.requested.item(MEMORY, row) * 100 // offered if offered > 0 else None
