"""Removal from a table of tables."""

from typing import Any


def discard(table: dict[str, dict[str, Any]], outer: str, inner: str) -> None:
    """Remove `table[outer][inner]` if it is there, and `table[outer]` once it is empty."""
    held = table.get(outer, {})
    held.pop(inner, None)
    if not held:
        table.pop(outer, None)
