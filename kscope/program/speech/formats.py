"""The formats of -o: JSON, YAML and JSON lines, all with `apiVersion` and `kind`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

FORMATS: Final = ("json", "yaml", "ndjson", "wide")
API_VERSION: Final = "kscope.dev/v1"


def document(kind: str, **fields: Any) -> dict[str, Any]:
    """A document of *kind*."""
    return {"apiVersion": API_VERSION, "kind": kind, **fields}


def written(found: dict[str, Any], form: str) -> str:
    """One document as JSON or as YAML."""
    import orjson

    if form == "json":
        return orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n"
    import yaml

    # YAML knows texts only, and none that remember their pattern.
    plain = orjson.loads(orjson.dumps(found))
    return yaml.dump(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=100)


def json_lines(documents: Iterable[dict[str, Any]]) -> str:
    """Documents, one a line."""
    import orjson

    return "".join(orjson.dumps(each).decode() + "\n" for each in documents)
