"""How much of a device's capacity a request consumes. Upstream: consumable_capacity.go."""

from __future__ import annotations

from collections.abc import Mapping

from engine.objects.values.quantity import Format, Quantity
from engine.plugins.dynamic_resources.allocation.devices import Capacity, Device, RequestPolicy

Amounts = Mapping[str, Quantity]
"""By the name of the capacity."""
Nanos = Mapping[str, int]
_NANO = 1_000_000_000


def consumed_by(requested: Amounts, device: Device) -> dict[str, Quantity]:
    """What a request takes of each capacity. Upstream: GetConsumedCapacityFromRequest()."""
    return {name: _consumed(requested.get(name), each) for name, each in device.capacity.items()}


def has_room(requested: Amounts, device: Device, *taken: Nanos) -> bool:
    """Whether the device can serve the request beside what is *taken*, by its own rules too.

    Upstream: CmpRequestOverCapacity(); a capacity that the device does not have is an error there,
    which has the device passed over.
    """
    if any(name not in device.capacity for name in requested):
        return False
    for name, capacity in device.capacity.items():
        consumed = _consumed(requested.get(name), capacity)
        if _violates(consumed, capacity.policy):
            return False
        total = consumed.nanos + sum(each.get(name, 0) for each in taken)
        if total > capacity.value.nanos:
            return False
    return True


def _consumed(requested: Quantity | None, capacity: Capacity) -> Quantity:
    policy = capacity.policy
    if requested is None:
        if policy is not None and policy.default is not None:
            return policy.default
        return capacity.value
    if policy is None:
        return requested
    if policy.valid_range is not None and "min" in policy.valid_range:
        return _rounded_up(requested, policy.valid_range)
    for valid in policy.valid_values:
        if requested.nanos <= valid.nanos:
            return valid
    return requested


def _rounded_up(requested: Quantity, valid_range: Mapping[str, Quantity]) -> Quantity:
    """To the next step above the minimum. Upstream: roundUpRange()."""
    least = valid_range["min"]
    if requested.nanos < least.nanos:
        return least
    if "step" not in valid_range:
        return requested
    step = valid_range["step"].value
    steps = -(-(requested.value - least.value) // step)
    return Quantity((least.value + step * steps) * _NANO, Format.BINARY_SI)


def _violates(consumed: Quantity, policy: RequestPolicy | None) -> bool:
    if policy is None:
        return False
    if policy.default is not None and consumed.nanos == policy.default.nanos:
        return False
    if policy.valid_range is not None:
        return _is_outside(consumed, policy.valid_range)
    values = policy.valid_values
    return bool(values) and all(consumed.nanos != each.nanos for each in values)


def _is_outside(consumed: Quantity, valid_range: Mapping[str, Quantity]) -> bool:
    if "max" in valid_range and consumed.nanos > valid_range["max"].nanos:
        return True
    if "step" not in valid_range:
        return False
    return (consumed.value - valid_range["min"].value) % valid_range["step"].value != 0
