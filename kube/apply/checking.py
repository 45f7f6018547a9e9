"""What is wrong with a configuration that a client applies, in upstream's words.

Upstream: structured-merge-diff/typed, validate.go.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from kube.apply import fields
from kube.apply.schemas import Form, Shape

_NUMBERS = ("integer", "number")


def problems_of(shape: Shape, value: Any) -> list[str]:
    """Each problem with its path, as in `.spec.replicaz: field not declared in schema`."""
    return [f"{path}: {why}" if path else why for path, why in _problems(shape, value, "")]


def is_well_formed(shape: Shape, value: Any) -> bool:
    """Whether there are maps and lists where the schema has them, and nowhere else."""
    form = shape.form_of(value)
    if value is None or shape.form is None:
        return True
    if form is not shape.form:
        return False
    if isinstance(value, dict):
        parts = value.items()
        return all(is_well_formed(shape.of_field(name), part) for name, part in parts)
    if isinstance(value, list):
        return all(is_well_formed(shape.of_items, item) for item in value)
    return True


def _problems(shape: Shape, value: Any, path: str) -> Iterator[tuple[str, str]]:
    if value is None or shape.form is None:
        return
    match shape.form, value:
        case Form.MAP, dict():
            for name, part in value.items():
                below = f"{path}.{name}"
                if shape.knows(name):
                    yield from _problems(shape.of_field(name), part, below)
                else:
                    yield below, "field not declared in schema"
                    return
        case Form.MAP, _:
            yield path, f"expected map, got &{{{_printed(value)}}}"
        case Form.LIST, list():
            yield from _problems_of_items(shape, value, path)
        case Form.LIST, _:
            yield path, f"expected list, got &{{{_printed(value)}}}"
        case _:
            why = _problem_of_scalar(shape.scalar, value)
            if why:
                yield path, why


def _problems_of_items(shape: Shape, items: list[Any], path: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for place, item in enumerate(items):
        below = f"{path}[{place}]"
        if not shape.is_atomic:
            try:
                element = shape.element(item)
            except ValueError as problem:
                yield path, f"element {place}: {problem}"
                return
            below = path + fields.shown((element,))
            if element in seen:
                yield path, f"duplicate entries for key {fields.shown((element,))}"
            seen.add(element)
        yield from _problems(shape.of_items, item, below)


def _problem_of_scalar(kind: str, value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind in _NUMBERS and not is_number:
        return f"expected numeric (int or float), got {_go_type(value)}"
    if kind == "string" and not isinstance(value, str):
        return f"expected string, got &{{{_printed(value)}}}"
    if kind == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{_printed(value)}}}"
    if isinstance(value, (dict, list)):
        return f"expected any scalar, got &{{{_printed(value)}}}"
    return ""


def _go_type(value: Any) -> str:
    names = {bool: "bool", str: "string", dict: "map[string]interface {}", list: "[]interface {}"}
    return names.get(type(value), type(value).__name__)


def _printed(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
