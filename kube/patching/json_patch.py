"""JSON patches (RFC 6902): a list of operations on places that JSON pointers name (RFC 6901)."""

from copy import deepcopy
from typing import Any

from kube.status import ApiError

_MOST_OPERATIONS = 10_000


def json_patched(target: Any, operations: Any) -> Any:
    """*target* after all operations. Raises ApiError when one of them does not apply."""
    if not isinstance(operations, list):
        raise _refusal("a JSON patch is a list of operations")
    if len(operations) > _MOST_OPERATIONS:
        raise _refusal(f"more than {_MOST_OPERATIONS:,} operations")
    found = deepcopy(target)
    for operation in operations:
        found = _applied(found, operation)
    return found


def _refusal(why: str) -> ApiError:
    return ApiError(
        422, "Invalid", f"the server rejected our request due to an error in our request: {why}"
    )


def _applied(document: Any, operation: Any) -> Any:
    if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
        raise _refusal("an operation needs op and path")
    op, path = operation.get("op"), operation["path"]
    match op:
        case "add" | "replace" | "test" if "value" not in operation:
            raise _refusal(f"{op} at {path!r} needs a value")
        case "add":
            return _add(document, path, deepcopy(operation["value"]))
        case "remove":
            return _remove(document, path)
        case "replace":
            return _add(_remove(document, path), path, deepcopy(operation["value"]))
        case "move" | "copy":
            source = operation.get("from")
            if not isinstance(source, str):
                raise _refusal(f"{op} at {path!r} needs from")
            value = deepcopy(_at(document, source))
            return _add(_remove(document, source) if op == "move" else document, path, value)
        case "test":
            if _at(document, path) != operation["value"]:
                raise _refusal(f"testing value {path} failed")
            return document
        case _:
            raise _refusal(f"there is no operation {op!r}")


def _parts(path: str) -> list[str]:
    if not path:
        return []
    if not path.startswith("/"):
        raise _refusal(f"{path!r} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def _place(found: list[Any], part: str, path: str, *, beyond: bool = False) -> int:
    if beyond and part == "-":
        return len(found)
    if not part.isdecimal() or int(part) >= len(found) + beyond:
        raise _refusal(f"{path!r} is not there")
    return int(part)


def _at(document: Any, path: str) -> Any:
    for part in _parts(path):
        if isinstance(document, list):
            document = document[_place(document, part, path)]
        elif isinstance(document, dict) and part in document:
            document = document[part]
        else:
            raise _refusal(f"{path!r} is not there")
    return document


def _add(document: Any, path: str, value: Any) -> Any:
    if not path:
        return value
    *parents, last = _parts(path)
    holder = _at(document, "".join(f"/{_escaped(part)}" for part in parents))
    if isinstance(holder, list):
        holder.insert(_place(holder, last, path, beyond=True), value)
    elif isinstance(holder, dict):
        holder[last] = value
    else:
        raise _refusal(f"{path!r} is not there")
    return document


def _remove(document: Any, path: str) -> Any:
    if not path:
        return None
    *parents, last = _parts(path)
    holder = _at(document, "".join(f"/{_escaped(part)}" for part in parents))
    if isinstance(holder, list):
        del holder[_place(holder, last, path)]
    elif isinstance(holder, dict) and last in holder:
        del holder[last]
    else:
        raise _refusal(f"{path!r} is not there")
    return document


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
