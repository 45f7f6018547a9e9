"""Resource lists with exact amounts, as quotas and limits compare and print them.

Upstream: apiserver pkg/quota/v1/resources.go.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any, Final

from engine.objects.values.quantity import NANO, Format, Quantity, parse

# Amounts by the name of the resource.
Amounts = dict[str, Quantity]

ONE: Final = Quantity(NANO)
ZERO: Final = Quantity(0)


def read_amounts(quantities: Mapping[str, Any] | None) -> Amounts:
    """The amounts of a resource list; none when it is absent."""
    return {name: parse(text) for name, text in (quantities or {}).items()}


def written(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    """The resource list of *amounts* as the API server stores it, sorted by name."""
    return {name: str(amounts[name]) for name in sorted(amounts)}


def printed(amounts: Mapping[str, Quantity]) -> str:
    """ "limits.cpu=1,pods=3": sorted by name. Upstream: prettyPrint()."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))


def sum_of(one: Quantity, other: Quantity) -> Quantity:
    """Both together; written as the first one, unless that is zero. Upstream: Quantity.Add()."""
    return Quantity(one.nanos + other.nanos, one.format if one.nanos else other.format)


def added(one: Mapping[str, Quantity], other: Mapping[str, Quantity]) -> Amounts:
    """The sum for each resource of either. Upstream: Add()."""
    total = dict(one)
    for name, amount in other.items():
        total[name] = sum_of(total[name], amount) if name in total else amount
    return total


def largest(one: Mapping[str, Quantity], other: Mapping[str, Quantity]) -> Amounts:
    """The larger amount of each resource of either. Upstream: Max()."""
    total = dict(one)
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount
    return total


def growth(new: Mapping[str, Quantity], old: Mapping[str, Quantity]) -> Amounts:
    """By how much *new* exceeds *old*, never below zero.

    Upstream: SubtractWithNonNegativeResult().
    """
    grown: Amounts = dict.fromkeys((*new, *old), ZERO)
    for name, amount in new.items():
        more = amount.nanos - old.get(name, ZERO).nanos
        if more > 0:
            grown[name] = Quantity(more, amount.format)
    return grown


def without_zeros(amounts: Mapping[str, Quantity]) -> Amounts:
    """The amounts other than zero. Upstream: RemoveZeros()."""
    return {name: amount for name, amount in amounts.items() if amount.nanos}


def masked(amounts: Mapping[str, Quantity], names: Container[str]) -> Amounts:
    """The amounts of the resources in *names*. Upstream: Mask()."""
    return {name: amount for name, amount in amounts.items() if name in names}


def exceeding(amounts: Mapping[str, Quantity], hard: Mapping[str, Quantity]) -> list[str]:
    """The resources of which there is more than *hard* allows. Upstream: LessThanOrEqual()."""
    return [name for name in hard if name in amounts and amounts[name] > hard[name]]


def count(number: int) -> Quantity:
    """A number of objects."""
    return Quantity(number * NANO, Format.DECIMAL_SI)


def total_of(lists: Iterable[Mapping[str, Quantity]]) -> Amounts:
    """The sum of several resource lists."""
    total: Amounts = {}
    for each in lists:
        total = added(total, each)
    return total
