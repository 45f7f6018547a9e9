"""Reads parts of manifests; a part that is absent or null reads as an empty one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def section(manifest: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """The mapping at *path*."""
    found: Any = manifest
    for name in path:
        found = found.get(name) or {}
    return found


def items(manifest: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The list of mappings called *name*."""
    return list(manifest.get(name) or ())
