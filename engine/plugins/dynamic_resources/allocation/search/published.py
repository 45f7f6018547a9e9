"""All ResourceSlices, by the node and by the pool for which they matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.framework.nodes.listers import Listers
from engine.objects.device_taint_rules import DEVICE_TAINT_RULE
from engine.objects.objects import ApiObject
from engine.plugins.dynamic_resources.allocation.devices import (
    RESOURCE_SLICE,
    PoolID,
    Slice,
    with_rules,
)
from engine.plugins.dynamic_resources.allocation.search.pools import Pool, gather_pools


class SliceIndex:
    """The slices at one time."""

    def __init__(self, slices: Sequence[Slice] = ()) -> None:
        self._by_pool: dict[PoolID, list[Slice]] = {}
        self._of_node: dict[str, list[Slice]] = {}
        self._shared: list[Slice] = []
        # The pools of the nodes that were asked about, with the labels that the nodes had.
        self._pools: dict[str, tuple[Mapping[str, str], tuple[Pool, ...]]] = {}
        self.has_counters = False
        for each in slices:
            self._by_pool.setdefault(each.pool, []).append(each)
            self.has_counters |= bool(each.counters)
            name = each.nodes.node_name
            here = (
                self._of_node.setdefault(name, []) if name and not each.counters else self._shared
            )
            here.append(each)

    def pools(self, node: str, labels: Mapping[str, str]) -> tuple[Pool, ...]:
        """The pools that can be reached from the node of that name and labels."""
        known = self._pools.get(node)
        if known is None or known[0] != labels:
            known = self._pools[node] = labels, self._gather(node, labels)
        return known[1]

    def _gather(self, node: str, labels: Mapping[str, str]) -> tuple[Pool, ...]:
        slices = [*self._of_node.get(node, ()), *self._shared]
        return tuple(gather_pools(slices, self._by_pool, node, labels))

    def node_of(self, pool: PoolID) -> str | None:
        """The only node for which the pool matters; "" for none; None for several."""
        names = {each.nodes.node_name for each in self._by_pool.get(pool, ())}
        if not names:
            return ""
        return names.pop() if len(names) == 1 and "" not in names else None


class ListedSlices:
    """The slices of a scheduler's listers; those that changed are read again."""

    def __init__(
        self,
        listers: Listers,
        dropped: frozenset[str] = frozenset(),
        *,
        applies_rules: bool = False,
    ) -> None:
        """The fields *dropped* are ignored, see GATED_FIELDS; DeviceTaintRules count if asked for."""
        self._listers = listers
        self._dropped = dropped
        self._applies_rules = applies_rules
        self._generation = -1
        self._index = SliceIndex()
        self._read: dict[str, tuple[ApiObject, Slice]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _listed_slices, (self._listers, self._dropped, self._applies_rules)

    @property
    def generation(self) -> int:
        """Another one for each change."""
        known = self._listers.generation
        rules = known.get(DEVICE_TAINT_RULE, 0) if self._applies_rules else 0
        return known.get(RESOURCE_SLICE, 0) + rules

    @property
    def index(self) -> SliceIndex:
        """The slices as they are now."""
        if self.generation != self._generation:
            self._generation = self.generation
            found = self._listers.all(RESOURCE_SLICE)
            self._read = {obj.key: (obj, self._slice(obj)) for obj in found}
            self._index = SliceIndex(self._tainted([each for _, each in self._read.values()]))
        return self._index

    def _tainted(self, slices: list[Slice]) -> list[Slice]:
        """The slices with the taints of rules. Upstream: resourceslice/tracker, applyPatches()."""
        rules = [*self._listers.all(DEVICE_TAINT_RULE)] if self._applies_rules else []
        return [with_rules(each, rules) for each in slices] if rules else slices

    def _slice(self, obj: ApiObject) -> Slice:
        known = self._read.get(obj.key)
        if known is not None and known[0] is obj:
            return known[1]
        return Slice.parse(obj, self._dropped)


def _listed_slices(listers: Listers, dropped: frozenset[str], applies_rules: bool) -> ListedSlices:
    """Anew in a copy, where it reads everything again."""
    return ListedSlices(listers, dropped, applies_rules=applies_rules)
