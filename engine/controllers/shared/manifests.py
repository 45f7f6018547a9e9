"""Reading nested parts of manifests that may be absent."""

from collections.abc import Mapping
from typing import Any, cast

from engine.objects.objects import Manifest


def part(of: Mapping[str, Any], *names: str) -> Manifest:
    """The mapping found by following *names*; empty where something on the way is absent."""
    found: Any = of
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None  # pyright: ignore
    return cast("Manifest", found or {})
