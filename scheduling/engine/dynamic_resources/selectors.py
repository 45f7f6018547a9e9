"""CEL expressions that select devices.

The language is that of the library `cel`; here are the functions that Kubernetes adds for devices.
Upstream: dynamic-resource-allocation/cel/compile.go, apiserver/pkg/cel/library/quantity.go and
semverlib.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final, cast

import cel
from cel.stdlib import add_stdlib_to_context

from kscope.sim.objects.quantity import QuantityError, parse
from scheduling.engine.dynamic_resources.devices import Device, Version

# Quantities and versions travel through the library as texts, which begin with what they are.
# Equal amounts have equal texts.
_QUANTITY: Final = "quantity:"
_VERSION: Final = "semver:"
_NANO: Final = 1_000_000_000
_WORD = re.compile(r"\w+")
_VERSION_FORM = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)


class SelectorError(ValueError):
    """An expression cannot be compiled, or cannot be evaluated for a device."""

    def __init__(self, phase: str, why: str) -> None:
        super().__init__(f"CEL {phase} error: {why}")


@cache
def selector(expression: str) -> Selector:
    """The compiled expression.

    Raises:
        SelectorError: it is no CEL.
    """
    try:
        program = cel.compile(_without_bind(expression))
    except ValueError as error:
        raise SelectorError("compile", f"compilation failed: {error}") from None
    return Selector(program, frozenset(_WORD.findall(expression)))


@dataclass(slots=True)
class Selector:
    """One expression, with its answers so far.

    Devices that do not differ in anything that the expression mentions have one answer.
    """

    _program: Any
    _words: frozenset[str]
    _answers: dict[tuple[Any, ...], bool | SelectorError] = field(
        default_factory=dict[tuple[Any, ...], "bool | SelectorError"]
    )

    def matches(self, device: Device) -> bool:
        """Whether the expression selects the device.

        Raises:
            SelectorError: the expression fails for this device.
        """
        key = self._key(device)
        answer = self._answers.get(key)
        if answer is None:
            try:
                answer = self._evaluate(device)
            except SelectorError as error:
                answer = error
            self._answers[key] = answer
        if isinstance(answer, SelectorError):
            raise answer
        return answer

    def _key(self, device: Device) -> tuple[Any, ...]:
        if "in" in self._words or "exists" in self._words or "all" in self._words:
            # It may look at names, not only at values.
            names = (*device.attributes, *device.capacity)
        else:
            names = ()
        return (
            device.id.driver,
            device.is_shared,
            names,
            *(
                (name, type(value), value)
                for name, value in device.attributes.items()
                if name.rpartition("/")[2] in self._words
            ),
            *(
                (name, each.value.nanos)
                for name, each in device.capacity.items()
                if name.rpartition("/")[2] in self._words
            ),
        )

    def _evaluate(self, device: Device) -> bool:
        attributes = _by_domain(device, device.attributes, _attribute)
        capacity = _by_domain(device, device.capacity, lambda each: _quantity(str(each.value)))
        variables = {
            "driver": device.id.driver,
            "allowMultipleAllocations": device.is_shared,
            "attributes": attributes,
            "capacity": capacity,
        }
        while True:
            context = _context()
            context.add_variable("device", variables)
            try:
                result = self._program.execute(context)
            except KeyError as error:
                missing = str(error.args[0])
                # A domain of which a device publishes nothing is an empty map, not an error.
                if "." in missing and not (missing in attributes and missing in capacity):
                    attributes.setdefault(missing, {})
                    capacity.setdefault(missing, {})
                    continue
                raise SelectorError("runtime", f"no such key: {missing}") from None
            except (ValueError, TypeError, RuntimeError) as error:
                raise SelectorError("runtime", str(error)) from None
            if not isinstance(result, bool):
                kind = type(cast("object", result)).__name__
                raise SelectorError(
                    "runtime", f"CEL result of type {kind} could not be converted to bool"
                )
            return result


def _by_domain(
    device: Device, named: Mapping[str, Any], value: Callable[[Any], Any]
) -> dict[str, dict[str, Any]]:
    """Values by domain and name; the domain of a plain name is the driver."""
    found: dict[str, dict[str, Any]] = {}
    for name, each in named.items():
        domain, _, identifier = name.rpartition("/")
        found.setdefault(domain or device.id.driver, {})[identifier] = value(each)
    return found


def _attribute(value: Any) -> Any:
    return f"{_VERSION}{value.text}" if isinstance(value, Version) else value


@cache
def _standard() -> Mapping[str, Callable[..., Any]]:
    return {
        "quantity": _quantity,
        "isQuantity": _is_quantity,
        "semver": _semver,
        "isSemver": _is_semver,
        "compareTo": _compare,
        "isGreaterThan": lambda one, other: _compare(one, other) > 0,
        "isLessThan": lambda one, other: _compare(one, other) < 0,
        "asInteger": lambda one: _nanos(one) // _NANO,
        "asApproximateFloat": lambda one: _nanos(one) / _NANO,
        "isInteger": lambda one: _nanos(one) % _NANO == 0,
        "sign": lambda one: (_nanos(one) > 0) - (_nanos(one) < 0),
        "add": lambda one, other: f"{_QUANTITY}{_nanos(one) + _nanos(other)}",
        "sub": lambda one, other: f"{_QUANTITY}{_nanos(one) - _nanos(other)}",
        "major": lambda one: _numbers(one)[0],
        "minor": lambda one: _numbers(one)[1],
        "patch": lambda one: _numbers(one)[2],
    }


def _context() -> Any:
    context = cel.Context()
    add_stdlib_to_context(context)
    for name, function in _standard().items():
        context.add_function(name, function)
    return context


@lru_cache(maxsize=4096)
def _quantity(text: str | int) -> str:
    try:
        amount = parse(text).nanos if isinstance(text, str) else text * _NANO
    except QuantityError as error:
        raise ValueError(str(error)) from None
    return f"{_QUANTITY}{amount}"


def _is_quantity(text: str) -> bool:
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def _nanos(amount: str | int) -> int:
    if isinstance(amount, int):
        return amount * _NANO
    if not amount.startswith(_QUANTITY):
        raise ValueError("no such overload")
    return int(amount.removeprefix(_QUANTITY))


def _semver(text: str) -> str:
    if not _is_semver(text):
        raise ValueError(f"No Major.Minor.Patch elements found in {text!r}")
    return f"{_VERSION}{text}"


def _is_semver(text: str) -> bool:
    return _VERSION_FORM.fullmatch(text) is not None


def _numbers(version: str) -> tuple[int, int, int]:
    found = _VERSION_FORM.fullmatch(version.removeprefix(_VERSION))
    if found is None:
        raise ValueError(f"invalid semantic version {version!r}")
    return int(found[1]), int(found[2]), int(found[3])


def _compare(one: str, other: str | int) -> int:
    if one.startswith(_VERSION):
        first, second = _precedence(one), _precedence(str(other))
        return (first > second) - (first < second)
    difference = _nanos(one) - _nanos(other)
    return (difference > 0) - (difference < 0)


def _precedence(version: str) -> tuple[Any, ...]:
    """A release comes after its pre-releases; their numbers go by value, before texts."""
    found = _VERSION_FORM.fullmatch(version.removeprefix(_VERSION))
    if found is None:
        raise ValueError("no such overload")
    pre = [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in (found[4] or "").split(".")
        if part
    ]
    return (*_numbers(version), not pre, pre)


# -- cel.bind ------------------------------------------------------------------------------------

_BIND = re.compile(r"\bcel\.bind\(")


def _without_bind(expression: str) -> str:
    """*expression* with each cel.bind(name, value, body) written out, which the library lacks."""
    while (found := _BIND.search(expression)) is not None:
        parts, end = _arguments(expression, found.end())
        if len(parts) != 3:
            raise SelectorError("compile", "compilation failed: cel.bind takes three arguments")
        name, value, body = (part.strip() for part in parts)
        pattern = rf"(?<![\w.\"'])\b{re.escape(name)}\b(?![\"'(])"
        written_out = re.sub(pattern, lambda _, value=value: f"({value})", body)
        expression = f"{expression[: found.start()]}({written_out}){expression[end:]}"
    return expression


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """The arguments of a call whose parenthesis opens before *start*, and where the call ends."""
    parts, depth, quote, begin = [], 0, "", start
    for place in range(start, len(text)):
        char = text[place]
        if quote:
            if char == quote and text[place - 1] != "\\":
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                return [*parts, text[begin:place]], place + 1
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    raise SelectorError("compile", "compilation failed: cel.bind is not closed")
