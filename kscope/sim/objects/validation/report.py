"""The report of what is wrong with a manifest, and how its messages show a value."""

from __future__ import annotations

import json
from typing import Any

from kscope.sim.objects.documents import Path

# Upstream: DNS1123SubdomainMaxLength. Of what has a longer name no index could hold an event.
LONGEST_OBJECT_NAME = 253
# An entity id: a kind, a namespace and a name.
LONGEST_ENTITY = 63 + 1 + 63 + 1 + LONGEST_OBJECT_NAME
# Characters of a value in a message about it.
_LONGEST_VALUE = 200


class Report:
    """Collects (path, value, message) of what is wrong."""

    def __init__(self) -> None:
        self.problems: list[tuple[Path, Any, str]] = []

    def add(self, path: Path, value: Any, message: str) -> None:
        """Note one problem; *value* is what stands there."""
        self.problems.append((path, value, message))


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


def field_error(value: Any, why: str) -> str:
    """What is wrong with *value*, as the API server words it.

    Upstream: apimachinery/pkg/util/validation/field/errors.go, Required() and Invalid().
    """
    if value is None:
        return "Required value" if why == "is missing" else f"Required value: {why}"
    if str(value) in why or shown(value) in why:
        return f"Invalid value: {why}"
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
    text = text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
    return f"Invalid value: {text}: {why}"


def text_fault(text: str, longest: int) -> str | None:
    """Why a text cannot be kept in a column of *longest* characters, or None."""
    if len(text) > longest:
        return f"has {len(text):,} characters; at most {longest:,} are kept"
    if "\0" in text:
        return "holds the character U+0000"
    return None
