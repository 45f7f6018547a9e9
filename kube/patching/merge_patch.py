"""JSON merge patches (RFC 7386), applied and made."""

from collections.abc import Mapping
from typing import Any


def merge_patched(target: Any, patch: Any) -> Any:
    """*target* with the patch: null takes a field away, anything but an object replaces."""
    if not isinstance(patch, Mapping):
        return patch
    found = {**target} if isinstance(target, Mapping) else {}
    for name, part in patch.items():
        if part is None:
            found.pop(name, None)
        else:
            found[name] = merge_patched(found.get(name), part)
    return found


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that makes *new* of *old*."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, after in new.items():
        before = old.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            inner = difference(before, after)
            if inner:
                patch[name] = inner
        elif name not in old or before != after:
            patch[name] = after
    return patch
