"""Reading JSON as Go does: encoding/json ignores the case of a key, and the last one counts."""

from collections.abc import Mapping
from typing import Any, cast


def in_any_case(fields: Mapping[str, Any], name: str) -> Any:
    """The value of the last key that is *name* in any case; None when there is none."""
    wanted = name.lower()
    found = [value for key, value in fields.items() if key.lower() == wanted]
    return found[-1] if found else None


def folded(value: Any) -> dict[str, Any]:
    """*value* with its keys in lower case; empty when it is no mapping."""
    if not isinstance(value, dict):
        return {}
    return {key.lower(): part for key, part in cast("dict[str, Any]", value).items()}
