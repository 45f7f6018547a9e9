"""Attributes that the devices of a claim must share, or must not.

Upstream: matchAttributeConstraint in allocator_incubating.go, constraint.go.
"""

from __future__ import annotations

from typing import Protocol

from engine.plugins.dynamic_resources.allocation.devices import Attribute, Device, Version
from engine.plugins.dynamic_resources.allocation.requests import DeviceRequest, RequestConstraint


class Constraint(Protocol):
    """Follows the devices that are chosen for a claim."""

    def add(self, request: DeviceRequest, device: Device) -> bool:
        """Add the device to the claim; False, without a change, if that would break the rule."""
        ...

    def remove(self, request: DeviceRequest, device: Device) -> None:
        """Undo an `add` that succeeded."""
        ...


def constraint_of(rule: RequestConstraint, *, compares_all: bool = False) -> Constraint:
    """The constraint of a claim, to begin with; with *compares_all* as since v1.37."""
    if not rule.is_distinct:
        return _MatchAttribute(rule)
    return _DistinctFromAll(rule) if compares_all else _DistinctAttribute(rule)


class _MatchAttribute:
    """All devices have the same value."""

    def __init__(self, rule: RequestConstraint) -> None:
        self._rule = rule
        self._value: Attribute | Version | None = None
        self._count = 0

    def add(self, request: DeviceRequest, device: Device) -> bool:
        """False for a device without the attribute, or with another value."""
        if not _is_about(self._rule, request):
            return True
        value = _value_of(device, self._rule.attribute)
        if value is None:
            return False
        if self._count == 0:
            self._value = value
        elif not _are_same(value, self._value):
            return False
        self._count += 1
        return True

    def remove(self, request: DeviceRequest, device: Device) -> None:
        """One device less."""
        if _is_about(self._rule, request):
            self._count -= 1


class _DistinctAttribute:
    """No two requests have devices with the same value.

    Upstream keeps one value per request, the last one: of several devices of one request only the
    last counts.
    """

    def __init__(self, rule: RequestConstraint) -> None:
        self._rule = rule
        self._values: dict[str, Attribute | Version] = {}
        self._count = 0

    def add(self, request: DeviceRequest, device: Device) -> bool:
        """False for a device without the attribute, or with a value that is taken."""
        if not _is_about(self._rule, request):
            return True
        value = _value_of(device, self._rule.attribute)
        if value is None:
            return False
        if self._count and any(_are_same(value, taken) for taken in self._values.values()):
            return False
        self._values[request.parent or request.name] = value
        self._count += 1
        return True

    def remove(self, request: DeviceRequest, device: Device) -> None:
        """Free the value of the request."""
        if _is_about(self._rule, request):
            self._values.pop(request.parent or request.name, None)
            self._count -= 1


class _DistinctFromAll:
    """No two devices have the same value."""

    def __init__(self, rule: RequestConstraint) -> None:
        self._rule = rule
        self._values: list[Attribute | Version] = []

    def add(self, request: DeviceRequest, device: Device) -> bool:
        """False for a device without the attribute, or with a value that is taken."""
        if not _is_about(self._rule, request):
            return True
        value = _value_of(device, self._rule.attribute)
        if value is None or any(_are_same(value, taken) for taken in self._values):
            return False
        self._values.append(value)
        return True

    def remove(self, request: DeviceRequest, device: Device) -> None:
        """Free its value; the newest device goes first."""
        if _is_about(self._rule, request):
            self._values.pop()


def _is_about(rule: RequestConstraint, request: DeviceRequest) -> bool:
    if not rule.requests:
        return True
    return (request.parent or request.name) in rule.requests or (
        bool(request.parent) and request.full_name in rule.requests
    )


def _value_of(device: Device, attribute: str) -> Attribute | Version | None:
    """An attribute of the driver's own domain may be published without it."""
    if attribute in device.attributes:
        return device.attributes[attribute]
    domain, _, name = attribute.partition("/")
    return device.attributes.get(name) if domain == device.id.driver else None


def _are_same(one: Attribute | Version, other: Attribute | Version | None) -> bool:
    # True is 1 in Python.
    return type(one) is type(other) and one == other
