"""The pools of devices that can be reached from a node. Upstream: pools_incubating.go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.plugins.dynamic_resources.allocation.devices import Counters, Device, PoolID, Slice


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A pool as one node sees it; an incomplete or invalid one has no devices."""

    id: PoolID
    slices: tuple[Slice, ...] = ()
    """Those with devices, by name."""
    elsewhere: tuple[Slice, ...] = ()
    """Those that only matter for other nodes; their devices may consume the same counters."""
    counters: Mapping[str, Counters] | None = None
    is_incomplete: bool = False
    invalid_reason: str = ""

    @property
    def has_binding_conditions(self) -> bool:
        """Whether a device becomes usable only some time after it was allocated."""
        return any(device.has_binding_conditions for each in self.slices for device in each.devices)


def gather_pools(
    for_node: Iterable[Slice],
    by_pool: Mapping[PoolID, Sequence[Slice]],
    name: str,
    labels: Mapping[str, str],
) -> list[Pool]:
    """The pools of the node of that name and labels, by driver and name.

    *for_node* are the slices that may matter for it, *by_pool* are all. Pools with binding conditions go last.
    Upstream: GatherPools().
    """
    found: dict[PoolID, list[Slice]] = {}
    for each in for_node:
        if each.reaches(name, labels):
            _add(found, each)
    pools = [
        pool
        for pool_id, slices in sorted(found.items())
        if (pool := _pool(pool_id, slices, by_pool[pool_id])) is not None
    ]
    return sorted(pools, key=lambda pool: pool.has_binding_conditions)


def _add(found: dict[PoolID, list[Slice]], one: Slice) -> None:
    slices = found.setdefault(one.pool, [])
    if slices and one.generation > slices[0].generation:
        slices.clear()
    if not slices or one.generation == slices[0].generation:
        slices.append(one)


def _pool(pool_id: PoolID, slices: list[Slice], of_pool: Sequence[Slice]) -> Pool | None:
    """None where a newer generation is being published, which has nothing for this node."""
    generation, count = slices[0].generation, slices[0].slice_count
    if len(slices) == count:
        return _build(pool_id, slices, ())
    if any(each.generation > generation for each in of_pool):
        return None
    of_generation = [each for each in of_pool if each.generation == generation]
    if len(of_generation) != count:
        return Pool(id=pool_id, is_incomplete=True)
    mine = {each.name for each in slices}
    return _build(pool_id, slices, [each for each in of_generation if each.name not in mine])


def _build(pool_id: PoolID, slices: list[Slice], elsewhere: Sequence[Slice]) -> Pool:
    ordered = sorted(slices, key=_name)
    with_devices = tuple(each for each in ordered if not each.counters)
    counters = dict(each for one in ordered for each in one.counters)
    invalid = (
        _twice("device name", (device.name for each in with_devices for device in each.devices))
        or _twice("counter set name", (name for one in ordered for name, _ in one.counters))
        or _unknown_counters(counters, ordered)
        or _unknown_counters(counters, elsewhere)
    )
    if invalid:
        return Pool(id=pool_id, invalid_reason=invalid)
    return Pool(id=pool_id, slices=with_devices, elsewhere=tuple(elsewhere), counters=counters)


def _name(one: Slice) -> str:
    return one.name


def _twice(what: str, names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return f"duplicate {what} {name}"
        seen.add(name)
    return ""


def _unknown_counters(counters: Mapping[str, Counters], slices: Iterable[Slice]) -> str:
    for device in devices_of(slices):
        for counter_set, consumed in device.consumes:
            if counter_set not in counters:
                return f"counter set {counter_set} not found"
            for name in consumed:
                if name not in counters[counter_set]:
                    return f"counter {name} not found in counter set {counter_set}"
    return ""


def devices_of(slices: Iterable[Slice]) -> Iterable[Device]:
    """The devices of several slices, in order."""
    return (device for each in slices for device in each.devices)
