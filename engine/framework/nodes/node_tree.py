"""Nodes by zone, listed one from each zone in turn, so that the first ones looked at are spread.

Two flavours share the tree. v1.16 hands out one node after another and remembers where it is, so
every scheduling cycle begins where the last one ended. v1.20 and later list all nodes at once.

Upstream: pkg/scheduler/internal/cache/node_tree.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_REGION = "topology.kubernetes.io/region"
_ZONE = "topology.kubernetes.io/zone"


class NodeTreeError(Exception):
    """A node was not where its labels say, or the count of nodes is wrong."""


def zone_key(labels: Mapping[str, str], *, beta_only: bool = False) -> str:
    """The zone of a node with these labels; "" without any. Upstream: GetZoneKey().

    v1.16 knows the beta labels only; later versions look at them first.
    """
    region = labels.get(_BETA_REGION)
    zone = labels.get(_BETA_ZONE)
    if not beta_only:
        region = labels.get(_REGION) if region is None else region
        zone = labels.get(_ZONE) if zone is None else zone
    if not region and not zone:
        return ""
    return f"{region or ''}:\x00:{zone or ''}"


class _Zone:
    """The nodes of one zone in order of arrival; `position` is v1.16's iterator."""

    __slots__ = ("nodes", "position")

    def __init__(self) -> None:
        # A dict for its order and its fast removal.
        self.nodes: dict[str, None] = {}
        self.position = 0


class NodeTree:
    """The tree. Zones stand in the order in which their first node came."""

    __slots__ = ("_next_zone", "_zones", "num_nodes")

    def __init__(self) -> None:
        self._zones: dict[str, _Zone] = {}
        self._next_zone = 0
        self.num_nodes = 0

    def add(self, name: str, zone: str) -> None:
        """Add the node to the end of its zone; again is harmless."""
        here = self._zones.get(zone)
        if here is None:
            here = self._zones[zone] = _Zone()
        if name not in here.nodes:
            here.nodes[name] = None
            self.num_nodes += 1

    def remove(self, name: str, zone: str) -> None:
        """Take the node out; the zone goes with its last node.

        Raises:
            NodeTreeError: the node is not in that zone.
        """
        here = self._zones.get(zone)
        if here is None or name not in here.nodes:
            quoted = zone.replace("\x00", "\\x00")
            raise NodeTreeError(f'node "{name}" in group "{quoted}" was not found')
        del here.nodes[name]
        if not here.nodes:
            del self._zones[zone]
        self.num_nodes -= 1

    def update(self, old_name: str, old_zone: str, name: str, zone: str) -> None:
        """The node's labels changed: it goes to the end of its new zone, even if it was unknown.

        In the zone where it was, it is left as it is, even if it is not there.
        """
        if old_zone == zone:
            return
        if self._has(old_name, old_zone):
            self.remove(old_name, old_zone)
        self.add(name, zone)

    def next(self) -> str:
        """The next node in turn; "" without nodes. Upstream: nodeTree.next() (v1.16)."""
        if not self._zones:
            return ""
        zones = list(self._zones.values())
        exhausted = 0
        while True:
            if self._next_zone >= len(zones):
                self._next_zone = 0
            zone = zones[self._next_zone]
            self._next_zone += 1
            # An exhausted zone is asked again: a node may have joined it.
            if zone.position < len(zone.nodes):
                zone.position += 1
                return _nth(zone.nodes, zone.position - 1)
            exhausted += 1
            if exhausted >= len(zones):
                for each in zones:
                    each.position = 0
                self._next_zone = 0

    def take(self, count: int) -> list[str]:
        """What *count* calls of next() would give, in time proportional to *count* (v1.16)."""
        if not self._zones:
            return []
        zones = list(self._zones.values())
        nodes = [list(zone.nodes) for zone in zones]
        taken: list[str] = []
        at, exhausted = self._next_zone, 0
        while len(taken) < count:
            if at >= len(zones):
                at = 0
            zone = zones[at]
            if zone.position < len(nodes[at]):
                taken.append(nodes[at][zone.position])
                zone.position += 1
                exhausted = 0
                at += 1
                continue
            at += 1
            exhausted += 1
            if exhausted >= len(zones):
                for each in zones:
                    each.position = 0
                at, exhausted = 0, 0
        self._next_zone = at
        return taken

    def list(self) -> list[str]:
        """Every node, one from each zone in turn. Upstream: nodeTree.list() (v1.20).

        Raises:
            NodeTreeError: there are fewer nodes than `num_nodes`.
        """
        zones = [list(zone.nodes) for zone in self._zones.values()]
        longest = max(map(len, zones), default=0)
        names = [zone[turn] for turn in range(longest) for zone in zones if turn < len(zone)]
        if len(names) < self.num_nodes and zones:
            raise NodeTreeError("all zones exhausted before reaching count of nodes expected")
        return names[: self.num_nodes]

    def zones(self) -> dict[str, list[str]]:
        """Zone key → its nodes, both in order of arrival."""
        return {key: list(zone.nodes) for key, zone in self._zones.items()}

    def _has(self, name: str, zone: str) -> bool:
        here = self._zones.get(zone)
        return here is not None and name in here.nodes


def _nth(nodes: dict[str, None], position: int) -> str:
    return next(islice(nodes, position, None))
