"""Columns of custom kinds, as their CustomResourceDefinition has them.

Upstream: apiextensions-apiserver pkg/registry/customresource/tableconvertor/tableconvertor.go.
"""

from functools import lru_cache
from typing import Any

import orjson

from engine.objects.custom.definition import CustomVersion
from kube.tables.columns import NAME, Cell, Heading, Object, metadata_of
from kube.tables.durations import UNKNOWN, since
from kube.tables.json_path import first_at
from kube.tables.printers import Printer


@lru_cache(maxsize=256)
def printer_of_custom(version: CustomVersion) -> Printer:
    """How objects of a custom kind are printed."""
    headings = tuple(
        Heading(
            str(one.get("name") or ""),
            str(one.get("type") or "string"),
            int(one.get("priority") or 0),
            str(one.get("format") or ""),
        )
        for one in version.columns
    )
    paths = tuple(str(one["jsonPath"]) for one in version.columns)
    return Printer((NAME, *headings), _Cells(headings, paths))


class _Cells:
    def __init__(self, headings: tuple[Heading, ...], paths: tuple[str, ...]) -> None:
        self._columns = tuple(zip(headings, paths, strict=True))

    def __call__(self, one: Object, now: int) -> list[Cell]:
        cells = [_cell(each.type, first_at(path, one), now) for each, path in self._columns]
        return [str(metadata_of(one).get("name", "")), *cells]


def _cell(kind: str, value: Any, now: int) -> Cell:
    """Upstream: cellForJSONValue(), and of texts PrintResults() of a JSONPath."""
    if value is None:
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match kind:
        case "integer" if is_number:
            return int(value)
        case "number" if is_number:
            return float(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "string":
            return value if isinstance(value, str) else orjson.dumps(value).decode()
        case "date" if isinstance(value, str):
            found = since(value, now)
            return "<invalid>" if found == UNKNOWN else found
        case _:
            return None
