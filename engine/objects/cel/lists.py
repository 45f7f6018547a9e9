"""Functions of lists and texts that Kubernetes adds to CEL, and those of texts that the library lacks.

Upstream: apiserver/pkg/cel/library/{lists,cidr,ip}.go; cel-go ext/strings.go.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, cast

_VERB: Final = re.compile(r"%(%|(?:\.(\d+))?([sdfeboxX]))")


def is_sorted(values: list[Any]) -> bool:
    """Whether no element of a list is less than the one before."""
    return all(one <= two for one, two in zip(values, values[1:], strict=False))


def index_of(value: Any, wanted: Any, offset: int = 0) -> int:
    """Where an element is first in a list, or a text in a text; -1 where it is not."""
    if isinstance(value, str):
        if not 0 <= offset <= len(value):
            raise ValueError(f"index out of range: {offset}")
        return value.find(wanted, offset)
    return next((place for place, one in enumerate(value) if _same(one, wanted)), -1)


def last_index_of(value: Any, wanted: Any, offset: int | None = None) -> int:
    """Where an element is last in a list, or a text in a text; -1 where it is not."""
    if isinstance(value, str):
        end = len(value) if offset is None else offset + len(wanted)
        return value.rfind(wanted, 0, end)
    return max((place for place, one in enumerate(value) if _same(one, wanted)), default=-1)


def formatted(text: str, values: list[Any]) -> str:
    """A text with values in the place of its verbs: "%s is %d"."""
    left = iter(values)

    def one(verb: re.Match[str]) -> str:
        return "%" if verb[1] == "%" else _shown(next(left), verb[3], verb[2])

    try:
        return _VERB.sub(one, text)
    except StopIteration:
        raise ValueError(f"index {len(values)} out of range") from None


def is_ip(text: str) -> bool:
    """Whether a text is an address."""
    return _is(ipaddress.ip_address, text)


def is_cidr(text: str) -> bool:
    """Whether a text is a network."""
    return "/" in text and _is(ipaddress.ip_network, text)


LIST_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "isSorted": is_sorted,
    "indexOf": index_of,
    "lastIndexOf": last_index_of,
    "format": formatted,
    "isIP": is_ip,
    "isCIDR": is_cidr,
}


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _is(check: Callable[[str], object], text: str) -> bool:
    try:
        check(text)
    except ValueError:
        return False
    return True


def _shown(value: Any, verb: str, digits: str | None) -> str:
    match verb:
        case "s":
            return _as_text(value)
        case "d" if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        case "f" | "e" if isinstance(value, (int, float)) and not isinstance(value, bool):
            return f"{value:.{digits or 6}{verb}}"
        case "b" | "o" | "x" | "X" if isinstance(value, int):
            return f"{int(value):{verb}}"
        case "x" | "X" if isinstance(value, (str, bytes)):
            raw = value.encode() if isinstance(value, str) else value
            return raw.hex() if verb == "x" else raw.hex().upper()
        case _:
            raise ValueError("error during formatting: no such overload")


def _as_text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case bytes():
            return value.decode(errors="replace")
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case timedelta():
            return f"{value.total_seconds():g}s"
        case list():
            return f"[{', '.join(map(_as_text, cast('list[Any]', value)))}]"
        case dict():
            pairs = cast("dict[Any, Any]", value).items()
            parts = sorted(f"{_as_text(key)}: {_as_text(one)}" for key, one in pairs)
            return f"{{{', '.join(parts)}}}"
        case _:
            return str(value)
