"""The functions that Kubernetes adds to CEL: quantities, semantic versions and JSON pointers.

In the CEL library they are texts with a prefix for the type; equal amounts have equal texts.
Upstream: apiserver/pkg/cel/library/quantity.go, semverlib.go, jsonpatch.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from engine.objects.cel.rewriting import CHECKED
from engine.objects.values.json_patch import escaped
from engine.objects.values.quantity import QuantityError, parse

_QUANTITY: Final = "quantity:"
_VERSION: Final = "semver:"
_NANO: Final = 1_000_000_000
_LEAST_INTEGER: Final = -(2**63)
_VERSION_FORM = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
# A number is a quantity of so many units.
Amount = str | int


def quantity(text: str) -> str:
    """The quantity that *text* is, as expressions see it; ValueError if it is not one."""
    try:
        return _written(parse(text).nanos)
    except QuantityError as error:
        raise ValueError(str(error)) from None


def is_quantity(text: str) -> bool:
    """Whether *text* is a quantity."""
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def semver(text: str) -> str:
    """The version that *text* is, as expressions see it; ValueError if it is not one."""
    if not is_semver(text):
        raise ValueError(f"No Major.Minor.Patch elements found in {text!r}")
    return f"{_VERSION}{text}"


def is_semver(text: str) -> bool:
    """Whether *text* is a semantic version."""
    return _VERSION_FORM.fullmatch(text) is not None


def compare(one: str, other: Amount) -> int:
    """-1, 0 or 1: two quantities, or two versions."""
    if one.startswith(_VERSION):
        first, second = _precedence(one), _precedence(str(other))
        return (first > second) - (first < second)
    difference = _nanos(one) - _nanos(other)
    return (difference > 0) - (difference < 0)


def is_greater(one: str, other: Amount) -> bool:
    """Whether *one* is more than *other*."""
    return compare(one, other) > 0


def is_less(one: str, other: Amount) -> bool:
    """Whether *one* is less than *other*."""
    return compare(one, other) < 0


def as_integer(amount: str) -> int:
    """A quantity of whole units; ValueError for any other."""
    if not is_integer(amount):
        raise ValueError("cannot convert value to integer")
    return _nanos(amount) // _NANO


def is_integer(amount: str) -> bool:
    """Whether a quantity is one of whole units."""
    return _nanos(amount) % _NANO == 0


def as_float(amount: str) -> float:
    """A quantity in units."""
    return _nanos(amount) / _NANO


def sign(amount: str) -> int:
    """-1, 0 or 1."""
    return (_nanos(amount) > 0) - (_nanos(amount) < 0)


def add(one: str, other: Amount) -> str:
    """The sum of two quantities."""
    return _written(_nanos(one) + _nanos(other))


def subtract(one: str, other: Amount) -> str:
    """The difference of two quantities."""
    return _written(_nanos(one) - _nanos(other))


def major(version: str) -> int:
    """The first number of a version."""
    return _numbers(version)[0]


def minor(version: str) -> int:
    """The second number of a version."""
    return _numbers(version)[1]


def patch(version: str) -> int:
    """The third number of a version."""
    return _numbers(version)[2]


def checked_negation(negated: Any) -> Any:
    """What a negation has given; OverflowError where the library let it be the least integer."""
    if isinstance(negated, bool):
        raise TypeError("no such overload")
    if isinstance(negated, int) and negated == _LEAST_INTEGER:
        raise OverflowError("integer overflow")
    return negated


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    CHECKED: checked_negation,
    "quantity": quantity,
    "isQuantity": is_quantity,
    "semver": semver,
    "isSemver": is_semver,
    "compareTo": compare,
    "isGreaterThan": is_greater,
    "isLessThan": is_less,
    "asInteger": as_integer,
    "isInteger": is_integer,
    "asApproximateFloat": as_float,
    "sign": sign,
    "add": add,
    "sub": subtract,
    "major": major,
    "minor": minor,
    "patch": patch,
    "escapeKey": escaped,
}


def _written(nanos: int) -> str:
    return f"{_QUANTITY}{nanos}"


def _nanos(amount: Amount) -> int:
    if isinstance(amount, int):
        return amount * _NANO
    if not amount.startswith(_QUANTITY):
        raise ValueError("no such overload")
    return int(amount.removeprefix(_QUANTITY))


def _numbers(version: str) -> tuple[int, int, int]:
    found = _matched(version)
    return int(found[1]), int(found[2]), int(found[3])


def _precedence(version: str) -> tuple[Any, ...]:
    """A release comes after its pre-releases; their numbers go by value, before texts."""
    pre = [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in (_matched(version)[4] or "").split(".")
        if part
    ]
    return (*_numbers(version), not pre, pre)


def _matched(version: str) -> re.Match[str]:
    found = _VERSION_FORM.fullmatch(version.removeprefix(_VERSION))
    if found is None or not version.startswith(_VERSION):
        raise ValueError("no such overload")
    return found
