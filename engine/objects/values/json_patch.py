"""JSON patches (RFC 6902): a list of operations on places that JSON pointers name (RFC 6901)."""

from copy import deepcopy
from typing import Any, cast

_MOST_OPERATIONS = 10_000


class PatchError(ValueError):
    """An operation does not apply."""


class ValueDiffers(PatchError):
    """A value is not what an operation says that it is."""


def json_patched(target: Any, operations: Any) -> Any:
    """*target* after all operations. Raises PatchError when one of them does not apply."""
    if not isinstance(operations, list):
        raise PatchError("a JSON patch is a list of operations")
    listed = cast("list[Any]", operations)
    if len(listed) > _MOST_OPERATIONS:
        raise PatchError(f"more than {_MOST_OPERATIONS:,} operations")
    found = deepcopy(target)
    for operation in listed:
        found = _applied(found, operation)
    return found


def _applied(document: Any, given: Any) -> Any:
    operation = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    op, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str):
        raise PatchError("an operation needs op and path")
    match op:
        case "add" | "replace" | "test" if "value" not in operation:
            raise PatchError(f"{op} at {path!r} needs a value")
        case "add":
            return _add(document, path, deepcopy(operation["value"]))
        case "remove":
            return _remove(document, path)
        case "replace":
            return _add(_remove(document, path), path, deepcopy(operation["value"]))
        case "move" | "copy":
            source = operation.get("from")
            if not isinstance(source, str):
                raise PatchError(f"{op} at {path!r} needs from")
            value = deepcopy(_at(document, source))
            return _add(_remove(document, source) if op == "move" else document, path, value)
        case "test":
            if _at(document, path) != operation["value"]:
                raise ValueDiffers(f"testing value {path} failed")
            return document
        case _:
            raise PatchError(f"there is no operation {op!r}")


def _parts(path: str) -> list[str]:
    if not path:
        return []
    if not path.startswith("/"):
        raise PatchError(f"{path!r} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def _place(found: list[Any], part: str, path: str, *, beyond: bool = False) -> int:
    if beyond and part == "-":
        return len(found)
    if not part.isdecimal() or int(part) >= len(found) + beyond:
        raise PatchError(f"{path!r} is not there")
    return int(part)


def _at(document: Any, path: str) -> Any:
    found = document
    for part in _parts(path):
        if isinstance(found, list):
            entries = cast("list[Any]", found)
            found = entries[_place(entries, part, path)]
        elif isinstance(found, dict) and part in found:
            found = cast("dict[str, Any]", found)[part]
        else:
            raise PatchError(f"{path!r} is not there")
    return found


def _add(document: Any, path: str, value: Any) -> Any:
    if not path:
        return value
    holder, last = _holder(document, path)
    if isinstance(holder, list):
        entries = cast("list[Any]", holder)
        entries.insert(_place(entries, last, path, beyond=True), value)
    elif isinstance(holder, dict):
        holder[last] = value
    else:
        raise PatchError(f"{path!r} is not there")
    return document


def _remove(document: Any, path: str) -> Any:
    if not path:
        return None
    holder, last = _holder(document, path)
    if isinstance(holder, list):
        entries = cast("list[Any]", holder)
        del entries[_place(entries, last, path)]
    elif isinstance(holder, dict) and last in holder:
        del holder[last]
    else:
        raise PatchError(f"{path!r} is not there")
    return document


def _holder(document: Any, path: str) -> tuple[Any, str]:
    """What has the value at *path*, and the key of the value in it."""
    *parents, last = _parts(path)
    return _at(document, "".join(f"/{escaped(part)}" for part in parents)), last


def escaped(part: str) -> str:
    """A key as a part of a JSON pointer."""
    return part.replace("~", "~0").replace("/", "~1")
