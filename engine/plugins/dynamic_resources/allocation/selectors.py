"""CEL expressions that select devices, compiled and evaluated by the library `cel`.

Upstream: dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from engine.objects.cel.errors import worded
from engine.objects.cel.functions import FUNCTIONS, quantity, semver
from engine.objects.cel.rewriting import (
    with_absorbed_errors,
    with_checked_negations,
)
from engine.objects.values.cel_text import CEL_ERRORS, called, expression_fault, without_bind
from engine.plugins.dynamic_resources.allocation.devices import Attribute, Capacity, Device, Version

if TYPE_CHECKING:
    import cel

_WORD = re.compile(r"\w+")
# An expression with one of these may look at the names of attributes, not only at their values.
_LOOKS_AT_NAMES = frozenset(("in", "exists", "exists_one", "all", "filter", "map", "has", "size"))
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "\"'"

# The library has more, which Kubernetes does not offer: lists.range() makes a list of any length.
_LIBRARIES = ["core", "strings", "sets"]
# What a process keeps: expressions come from uploads, without end.
_SELECTORS, _ANSWERS = 256, 4_096

Value = TypeVar("Value")


class SelectorError(ValueError):
    """An expression cannot be compiled, or cannot be evaluated for a device."""

    def __init__(self, phase: str, why: str) -> None:
        super().__init__(f"CEL {phase} error: {why}")


@lru_cache(maxsize=_SELECTORS)
def selector(expression: str) -> Selector:
    """The compiled expression.

    Raises:
        SelectorError: it is no CEL, or one that may run for too long.
    """
    # Imported by the first expression: the library brings its command line with it, which costs
    # every process a third of a second.
    import cel
    from cel.stdlib import add_stdlib_to_context

    fault = expression_fault(expression)
    if fault is not None:
        raise SelectorError("compile", fault)
    written = with_checked_negations(without_bind(expression))
    program = called(cel.compile, written)
    # An error inside a function reaches the caller, which knows the object.
    logging.getLogger("cel").setLevel(logging.ERROR)
    context = cel.Context()
    add_stdlib_to_context(context, _LIBRARIES)
    for name, function in FUNCTIONS.items():
        context.add_function(name, function)
    return Selector(written, program, context, frozenset(_WORD.findall(expression)))


@dataclass(slots=True)
class Selector:
    """One expression, with its answers so far.

    Devices that do not differ in anything that the expression mentions have one answer.
    """

    _text: str
    _program: cel.Program
    _context: cel.Context
    _words: frozenset[str]
    _answers: dict[tuple[Any, ...], bool | SelectorError] = field(
        default_factory=dict[tuple[Any, ...], "bool | SelectorError"]
    )
    # The expression whose elements absorb errors, once one has failed; None if there is none.
    _fallback: list[cel.Program | None] = field(default_factory=list["cel.Program | None"])

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
            if len(self._answers) >= _ANSWERS:
                self._answers.clear()
            self._answers[key] = answer
        if isinstance(answer, SelectorError):
            raise answer
        return answer

    def _key(self, device: Device) -> tuple[Any, ...]:
        looks_at_names = not self._words.isdisjoint(_LOOKS_AT_NAMES)
        return (
            device.id.driver,
            device.is_shared,
            (*device.attributes, *device.capacity) if looks_at_names else (),
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
        capacity = _by_domain(device, device.capacity, _capacity)
        variables = {
            "driver": device.id.driver,
            "allowMultipleAllocations": device.is_shared,
            "attributes": attributes,
            "capacity": capacity,
        }
        while True:
            self._context.add_variable("device", variables)
            try:
                result = cast("object", called(self._program.execute, self._context))
            except KeyError as error:
                missing = str(error.args[0])
                if "." in missing and not (missing in attributes and missing in capacity):
                    # A domain of which a device publishes nothing is an empty map, not an error.
                    attributes.setdefault(missing, {})
                    capacity.setdefault(missing, {})
                    continue
                result = self._absorbed()
                if result is None:
                    raise SelectorError("runtime", f"no such key: {missing}") from None
            except CEL_ERRORS as error:
                result = self._absorbed()
                if result is None:
                    raise SelectorError("runtime", worded(error)) from None
            if isinstance(result, bool):
                return result
            problem = f"CEL result of type {type(result).__name__} could not be converted to bool"
            raise SelectorError("runtime", problem)

    def _absorbed(self) -> bool | None:
        """What the expression gives where an element that fails is outvoted; None if it fails."""
        if not self._fallback:
            self._fallback.append(self._absorbing())
        program = self._fallback[0]
        try:
            result: object = None if program is None else called(program.execute, self._context)
        except CEL_ERRORS:
            return None
        return result if isinstance(result, bool) else None

    def _absorbing(self) -> cel.Program | None:
        if self._words.isdisjoint(("exists", "all")):
            return None
        import cel

        written = with_absorbed_errors(self._text)
        try:
            return None if written is None else called(cel.compile, written)
        except CEL_ERRORS:
            return None


def failing_parts(expression: str, device: Device) -> list[str]:
    """The conditions of *expression*, joined by &&, that do not hold for the device."""
    return [part for part in _conditions(expression) if not _holds(part, device)]


def _holds(expression: str, device: Device) -> bool:
    try:
        return selector(expression).matches(device)
    except SelectorError:
        return False


def _conditions(expression: str) -> list[str]:
    """*expression* where it is cut by && outside of brackets and quotes; whole if there is an ||."""
    parts: list[str] = []
    depth, quote, begin = 0, "", 0
    for place, char in enumerate(expression):
        if quote:
            quote = "" if char == quote and expression[place - 1] != "\\" else quote
        elif char in _QUOTES:
            quote = char
        elif depth == 0 and expression.startswith(("||", "?"), place):
            return [expression]
        elif depth == 0 and place >= begin and expression.startswith("&&", place):
            parts.append(expression[begin:place].strip())
            begin = place + 2
        else:
            depth += (char in _OPENING) - (char in _CLOSING)
    return [*parts, expression[begin:].strip()]


def _by_domain(
    device: Device, named: Mapping[str, Value], convert: Callable[[Value], object]
) -> dict[str, dict[str, object]]:
    """Values by domain and name; the domain of a plain name is the driver."""
    found: dict[str, dict[str, object]] = {}
    for name, each in named.items():
        domain, _, identifier = name.rpartition("/")
        found.setdefault(domain or device.id.driver, {})[identifier] = convert(each)
    return found


def _attribute(value: Attribute | Version) -> object:
    return semver(value.text) if isinstance(value, Version) else value


def _capacity(capacity: Capacity) -> object:
    return quantity(str(capacity.value))
