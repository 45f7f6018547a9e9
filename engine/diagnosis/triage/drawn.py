"""The parts of a triage that are drawn rather than read."""

from __future__ import annotations

from dataclasses import dataclass

from engine.diagnosis.report import Check
from engine.kernel.sentences import NOTHING, Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadCount:
    """How many pods of a workload a group holds (`waiting`), how many run, and of how many.

    `workload` is its entity. Pods without one are counted as "pod/shop/web", or as "pod/shop/web-*"
    where several have names that differ in their number alone. `of` counts the pods that have not
    ended, with those that were refused before they existed.
    """

    workload: str
    waiting: int
    running: int = 0
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesByReason:
    """Nodes that refuse a pod for the same reason; those of one group are all nodes there are.

    `pod` is the pod that was decided on, `count` the number of nodes, of which `nodes` names the
    first. The nodes that come closest have `detail`, what they have of what is wanted, and where
    something is measured the `check` of the closest node.
    """

    reason: Sentence
    nodes: tuple[str, ...]
    count: int
    is_closest: bool = False
    detail: Sentence = NOTHING
    check: Check | None = None
    pod: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that the files say changed, at an RFC 3339 time, about when pods began to wait."""

    at: str
    text: Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was looked at, and what was found: "Nodes", "11 of 11 are ready"."""

    what: Sentence
    found: Sentence


def known_as(kind: str, name: str) -> str:
    """How a group calls what is behind it, which is no sentence: "storageclass fast"."""
    return f"{kind} {name}"
