"""The report of what is wrong with a manifest, and how its messages show a value."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from engine.objects.documents import Path, show_path
from engine.objects.openapi.checkers import INT32, INT64
from engine.objects.openapi.findings import Findings, WrongType, type_name
from engine.objects.values.quantity import QuantityError, parse
from engine.objects.values.shown import shown

# Upstream: DNS1123SubdomainMaxLength. Of what has a longer name no index could hold an event.
LONGEST_OBJECT_NAME = 253
# An entity id: a kind, a namespace and a name.
LONGEST_ENTITY = 63 + 1 + 63 + 1 + LONGEST_OBJECT_NAME
# Characters of a value in a message about it.
_LONGEST_VALUE = 200


class Report:
    """Collects (path, value, message) of what is wrong, and the paths of unknown fields."""

    def __init__(self) -> None:
        self.problems: list[tuple[Path, Any, str]] = []
        self.unknown: list[Path] = []
        # By the place of a problem, how an API server words it where that is otherwise.
        self._answers: dict[int, str] = {}

    def add(self, path: Path, value: Any, message: str, answer: str = "") -> None:
        """Note one problem; *value* is what stands there.

        *answer* is what an API server says of it: "Invalid value: 3: must be …".
        """
        if answer:
            self._answers[len(self.problems)] = answer
        self.problems.append((path, value, message))

    def answers(self) -> list[str]:
        """The field errors of an API server, each as "field: message"."""
        return [
            f"{show_path(path)}: {self._answers.get(place) or field_error(value, why)}"
            for place, (path, value, why) in enumerate(self.problems)
        ]

    def add_types(self, path: Path, found: Findings) -> None:
        """Note what is of a wrong type in the value at *path*."""
        for wrong in found.wrong:
            self.add((*path, *wrong.path), wrong.value, type_fault(wrong))


def field_error(value: Any, why: str) -> str:
    """What is wrong with *value*, as the API server words it.

    Upstream: apimachinery/pkg/util/validation/field/errors.go, Required() and Invalid().
    """
    if value is None:
        return "Required value" if why == "is missing" else f"Required value: {why}"
    if str(value) in why or shown(value) in why:
        return f"Invalid value: {why}"
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
    text = text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
    return f"Invalid value: {text}: {why}"


def aggregate(errors: Iterable[str]) -> str:
    """Several field errors in one text; equal ones are named once.

    Upstream: apimachinery/pkg/util/errors/errors.go, aggregate.Error().
    """
    unique = [*dict.fromkeys(errors)]
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def invalid_value(value: Any, why: str) -> str:
    """Upstream: field.Invalid(), which shows the value in any case."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
    return f"Invalid value: {text}: {why}"


def duplicate(value: Any, why: str) -> str:
    """Upstream: field.Duplicate() with a detail."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
    return f"Duplicate value: {text}: {why}"


def unsupported(value: Any, supported: Iterable[str]) -> str:
    """Upstream: field.NotSupported()."""
    known = ", ".join(json.dumps(one) for one in supported)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"Unsupported value: {text}: supported values: {known}"


def text_fault(text: str, longest: int) -> str | None:
    """Why a text cannot be kept in a column of *longest* characters, or None."""
    if len(text) > longest:
        return f"has {len(text):,} characters; at most {longest:,} are kept"
    if "\0" in text:
        return "holds the character U+0000"
    return None


_WORDS: Final = {
    "IntOrString": "an integer or a text",
    "MicroTime": "a timestamp",
    "Time": "a timestamp",
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "object": "a mapping",
    "string": "a text",
}


def type_fault(wrong: WrongType) -> str:
    """Which type was expected, and what was found."""
    value, schema = wrong.value, wrong.schema
    name, kind = type_name(schema), schema.get("type", "object")
    if name == "Quantity":
        return _quantity_fault(value)
    if name in ("MicroTime", "Time") and isinstance(value, str):
        return f"{shown(value)} is not a timestamp like 2026-01-31T12:00:00Z"
    is_number = name == "IntOrString" or kind == "integer"
    if is_number and isinstance(value, int) and not isinstance(value, bool):
        span = INT64 if schema.get("format") == "int64" else INT32
        return f"{value} is " + (f"less than {span[0]}" if value < 0 else f"more than {span[-1]}")
    is_bare = kind == "string" and not name and isinstance(value, (int, float))
    quotes = "; put it in quotes" if is_bare else ""
    return f"expected {_WORDS.get(name) or _WORDS[kind]}, found {shown(value)}{quotes}"


def _quantity_fault(value: Any) -> str:
    try:
        parse(value)
    except QuantityError as error:
        return str(error)
    return ""
