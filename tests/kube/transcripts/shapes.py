"""What of an answer must be the same each time: its kind and its parts, not its values."""

import json
from collections.abc import Iterator
from typing import Any

# Events of a watch that are kept.
_FIRST = 3


def read(content: bytes, content_type: str) -> list[Any]:
    """The JSON documents of an answer: one, or the events of a watch; none in other answers."""
    if "json" not in content_type:
        return []
    try:
        return [json.loads(content)]
    except ValueError:
        return [json.loads(line) for line in content.split(b"\n")[:_FIRST] if _is_whole(line)]


def _is_whole(line: bytes) -> bool:
    return line.startswith(b"{") and line.endswith(b"}")


def shape_of(content: bytes, content_type: str) -> Any:
    """The shape of an answer."""
    documents = read(content, content_type)
    events = [
        one for one in documents if isinstance(one, dict) and {"type", "object"} <= one.keys()
    ]
    if documents and len(events) == len(documents):
        return {"watch": [[one["type"], _shape(one["object"])] for one in events]}
    if documents:
        return _shape(documents[0])
    return {"empty": not content}


def _shape(one: Any) -> Any:
    if not isinstance(one, dict):
        return type(one).__name__
    kind = {"kind": one.get("kind"), "apiVersion": one.get("apiVersion")}
    match kind["kind"]:
        case "Table":
            columns = [column["name"] for column in one.get("columnDefinitions") or ()]
            return {**kind, "columns": columns, "rows": bool(one.get("rows"))}
        case "Status":
            return {**kind, **{name: one.get(name) for name in ("status", "reason", "code")}}
        case _ if isinstance(one.get("items"), list):
            return {**kind, "items": bool(one["items"])}
        case _:
            return {**kind, "parts": sorted(one)}


def names_in(content: bytes, content_type: str) -> list[str]:
    """Names, uids and versions of the objects in an answer, in their order."""
    return [name for one in read(content, content_type) for name in _names(one)]


def _names(one: Any) -> Iterator[str]:
    if not isinstance(one, dict):
        return
    metadata = one.get("metadata")
    if isinstance(metadata, dict):
        for name in ("resourceVersion", "uid", "name"):
            yield str(metadata.get(name) or "")
    for part in ("object", "items", "rows"):
        below = one.get(part)
        for each in below if isinstance(below, list) else [below]:
            yield from _names(each)
