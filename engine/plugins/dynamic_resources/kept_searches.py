"""What claims with equal requests find on each node, kept from pod to pod.

A search depends on the node's name and labels, on slices and classes, and on what is allocated. If
devices are taken or given back, only the nodes that reach their pools are searched again. A tally
has a number for each node, by which the fast path distinguishes rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import numpy as np

from engine.framework.columns.kept import Kept
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import Tally
from engine.plugins.dynamic_resources.allocation.allocated_devices import AllocatedDevices
from engine.plugins.dynamic_resources.allocation.devices import DEVICE_CLASS, DeviceID
from engine.plugins.dynamic_resources.allocation.requests import MAX_ALTERNATIVES, ClaimRequests
from engine.plugins.dynamic_resources.allocation.search.allocator import (
    AllocatedDevice,
    AllocationError,
    Allocator,
    InvalidPools,
)
from engine.plugins.dynamic_resources.allocation.search.published import ListedSlices

# Codes of the plugin's filter; 0 where there are devices for all claims.
CANNOT_ALLOCATE: Final = 1
INVALID_POOLS: Final = 3
_MOST_KEPT: Final = 64


class NodeSearches:
    """What one set of requests finds on each row.

    `codes` are those of the filter. `tally` counts 0 for a row without devices for all claims, and
    otherwise 1 more than the score. `failed` are rows where the search ends with an error.
    """

    __slots__ = ("codes", "failed", "kept", "tally")

    def __init__(self, kept: Kept, capacity: int, tally: Tally | None) -> None:
        """*tally* is that of earlier searches for the same requests, and is updated."""
        self.kept = kept
        self.codes: IntArray = np.zeros(capacity, np.int64)
        self.tally = tally or Tally(np.zeros(capacity, np.int32))
        self.failed: dict[int, None] = {}

    def put(self, row: int, code: int, count: int) -> bool:
        """Keep the result on *row*; whether the tally changed."""
        self.codes[row] = code
        if self.tally.counts.item(row) == count:
            return False
        self.tally.counts[row] = count
        return True


class KeptSearches:
    """The searches of one scheduler. A checkpoint does not contain them."""

    def __init__(
        self,
        table: NodeTable,
        listers: Listers,
        slices: ListedSlices,
        allocated: AllocatedDevices,
    ) -> None:
        self._table = table
        self._listers = listers
        self._slices = slices
        self._allocated = allocated
        self._known: dict[bytes, NodeSearches] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptSearches, (self._table, self._listers, self._slices, self._allocated)

    def of(self, key: bytes, allocator: Allocator, claims: Sequence[ClaimRequests]) -> NodeSearches:
        """What claims with these requests find now; *key* stands for the requests."""
        table = self._table
        generation = (
            table.static_generation,
            table.capacity,
            self._slices.generation,
            self._listers.generation.get(DEVICE_CLASS, 0),
            self._allocated.generation,
        )
        found = self._known.get(key)
        if found is None or found.kept.generation != generation:
            found = self._known[key] = self._begin(found, generation)
            if len(self._known) > _MOST_KEPT:
                del self._known[next(iter(self._known))]
        changed = found.kept.catch_up(self._allocated.changes)
        if changed != []:
            for row in self._rows(changed):
                self._search(found, row, allocator, claims)
        return found

    def _begin(self, known: NodeSearches | None, generation: tuple[int, ...]) -> NodeSearches:
        capacity = self._table.capacity
        same = known is not None and len(known.codes) == capacity
        return NodeSearches(Kept(generation), capacity, known.tally if known and same else None)

    def _rows(self, changed: list[DeviceID] | None) -> Iterable[int]:
        """The rows that reach the pools of *changed* devices; all rows for None."""
        table, rows = self._table, dict[int, None]()
        for driver_pool in dict.fromkeys(each.pool_id for each in changed or ()):
            node = self._slices.index.node_of(driver_pool)
            if node is None:
                changed = None
                break
            if node in table.rows:
                rows[table.rows[node]] = None
        return table.active.tolist() if changed is None else rows

    def _search(
        self, found: NodeSearches, row: int, allocator: Allocator, claims: Sequence[ClaimRequests]
    ) -> None:
        node = self._table.node(row)
        found.failed.pop(row, None)
        code, devices = CANNOT_ALLOCATE, None
        try:
            devices = allocator.allocate(claims, node.name, node.labels)
        except InvalidPools:
            code = INVALID_POOLS
        except AllocationError:
            found.failed[row] = None
        if devices is None:
            changed = found.put(row, code, 0)
        else:
            changed = found.put(row, 0, 1 + preference(claims, devices))
        if changed:
            self._table.touch(row)


def preference(
    claims: Sequence[ClaimRequests], devices: Sequence[Sequence[AllocatedDevice]]
) -> int:
    """The raw score: more for earlier alternatives. Upstream: computeScore()."""
    return sum(
        preference_of_claim(claim, {each.request.full_name for each in given})
        for claim, given in zip(claims, devices, strict=True)
        if any(claim.prioritized)
    )


def preference_of_claim(claim: ClaimRequests, given: Collection[str]) -> int:
    """The part of one claim, with devices for the requests *given*."""
    return sum(
        MAX_ALTERNATIVES - place
        for alternatives, prioritized in zip(claim.requests, claim.prioritized, strict=True)
        if prioritized
        for place, request in enumerate(alternatives)
        if request.full_name in given
    )
