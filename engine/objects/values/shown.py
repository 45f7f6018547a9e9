"""How messages show a value."""

from typing import Any


def shown(value: Any) -> str:
    """A value as a message shows it, cut short."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:77] + ('…"' if isinstance(value, str) else "…")
