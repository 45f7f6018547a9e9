"""The steps of the cache of nodes: its changes, its snapshots, the order in which nodes are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NodeChange = Literal["node", "node removed", "pod added", "pod removed", "pod replaced"]


@dataclass(frozen=True, slots=True)
class NodeChanged:
    """A node's entry in the cache got a new generation, and why; *pod* is namespace/name or ""."""

    scheduler: str
    node: str
    generation: int
    why: NodeChange
    pod: str = ""


@dataclass(frozen=True, slots=True)
class CachedNode:
    """An entry of the cache: its generation, and its pods; a ghost is gone, but has pods."""

    node: str
    generation: int
    pods: int
    is_ghost: bool = False


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """The snapshot of the cycle is brought up to date.

    `before` and `after` are its generation. `copied` are the entries that are newer than `before`,
    the newest first; the walk along the list ends at `stopped_at`, None where it ended with the
    list. `kept` counts those that are not copied.
    """

    scheduler: str
    before: int
    after: int
    copied: tuple[CachedNode, ...]
    stopped_at: CachedNode | None
    kept: int


@dataclass(frozen=True, slots=True)
class ZoneNodes:
    """A zone of the node tree and its nodes, both in order of arrival; "" is without a zone."""

    zone: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TreeListed:
    """The node tree of the cache, of which the list takes one node of each zone in turn."""

    zones: tuple[ZoneNodes, ...]


@dataclass(frozen=True, slots=True)
class NodesOrdered:
    """The nodes in the order of this search, which begins at place `start` of the list.

    `wanted` is the number of feasible nodes after which the search ends.
    """

    order: tuple[str, ...]
    start: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Assumed:
    """The pod counts on its node from now on: the node's entry in the cache, before and after."""

    node: str
    before: CachedNode
    after: CachedNode


@dataclass(frozen=True, slots=True)
class BindingFinished:
    """An assumption that nothing confirms ends at `deadline`, in ns; None for never."""

    node: str
    deadline: int | None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The assumption is taken back."""

    node: str
