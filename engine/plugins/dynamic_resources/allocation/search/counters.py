"""Counters that the devices of a pool share: partitions of one card compete for its memory.

Upstream: checkAvailableCounters() and deallocateCountersForDevice() in allocator_incubating.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.plugins.dynamic_resources.allocation.devices import Device, DeviceID
from engine.plugins.dynamic_resources.allocation.search.pools import Pool, devices_of

PoolCounters = dict[str, dict[str, int]]
"""Amounts by counter set and counter, in thousand-millionths."""


@dataclass(slots=True)
class AllocatedState:
    """Which devices are allocated to claims, and how much of those that several claims may use."""

    devices: dict[DeviceID, int] = field(default_factory=dict[DeviceID, int])
    """With the number of claims that have them, which is 1."""
    shared: dict[DeviceID, int] = field(default_factory=dict[DeviceID, int])
    consumed: dict[DeviceID, dict[str, int]] = field(default_factory=dict[DeviceID, dict[str, int]])
    """In thousand-millionths, by the name of the capacity."""

    def is_allocated(self, device: DeviceID) -> bool:
        """In whole or in part. Upstream: IsDeviceAllocated()."""
        return device in self.devices or device in self.shared or device in self.consumed


class CounterUse:
    """What one search takes of the counters, by the pool's name, as upstream keeps it.

    Since v1.37 by the driver as well.
    """

    def __init__(
        self,
        available: dict[str, PoolCounters],
        allocated: AllocatedState,
        *,
        by_driver: bool = False,
    ) -> None:
        """*available* is what is left without the search; it is filled in when it is first needed."""
        self._by_driver = by_driver
        self._available = available
        self._allocated = allocated
        self._taken: dict[str, PoolCounters] = {}

    def take(self, device: Device, pool: Pool) -> bool:
        """Take what the device consumes; False, without a change, if too little is left.

        Every counter of the pool is looked at, as upstream does.
        """
        available = self._available_in(pool)
        taken = self._add(device, pool, 1)
        for counter_set, amounts in available.items():
            of_set = taken.get(counter_set, {})
            if any(of_set.get(name, 0) > amount for name, amount in amounts.items()):
                self.release(device, pool)
                return False
        return True

    def release(self, device: Device, pool: Pool) -> None:
        """Give back what the device consumes."""
        self._add(device, pool, -1)

    def _add(self, device: Device, pool: Pool, sign: int) -> PoolCounters:
        taken = self._taken.setdefault(self._name(pool), {})
        for counter_set, consumed in device.consumes:
            of_set = taken.setdefault(counter_set, {})
            for name, amount in consumed.items():
                of_set[name] = of_set.get(name, 0) + sign * amount
        return taken

    def _available_in(self, pool: Pool) -> PoolCounters:
        found = self._available.get(self._name(pool))
        if found is not None:
            return found
        found = {name: dict(counters) for name, counters in (pool.counters or {}).items()}
        for device in devices_of((*pool.slices, *pool.elsewhere)):
            if not self._allocated.is_allocated(device.id):
                continue
            for counter_set, consumed in device.consumes:
                of_set = found.get(counter_set, {})
                for name, amount in consumed.items():
                    if name in of_set:
                        of_set[name] -= amount
        self._available[self._name(pool)] = found
        return found

    def _name(self, pool: Pool) -> str:
        return str(pool.id) if self._by_driver else pool.id.pool
