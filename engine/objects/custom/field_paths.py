"""The paths that rules of a schema give: `.spec.size` and `['spec'].size`.

Upstream: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go, ValidFieldPath().
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

Schema = Mapping[str, Any]

_PART: Final = re.compile(r"\.(?P<name>[^.\[\]']+)|\['(?P<quoted>(?:[^'\\]|\\.)*)'\]", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {**dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)), "'": "'", "\\": "\\"}


def written_path(path: str, schema: Schema) -> str | None:
    """A path as errors write it; None where *schema* has no such field."""
    written, place, inner = "", 0, schema
    while place < len(path):
        part = _PART.match(path, place)
        if part is None:
            return None
        place = part.end()
        name = part["name"] or _ESCAPE.sub(lambda one: _ESCAPES.get(one[1], ""), part["quoted"])
        properties: Mapping[str, Any] = inner.get("properties") or {}
        others: Any = inner.get("additionalProperties")
        if properties:
            if name not in properties:
                return None
            inner, written = properties[name], f"{written}.{name}" if written else name
        elif isinstance(others, dict):
            inner, written = cast("Schema", others), f"{written}[{name}]"
        else:
            return None
    return written
