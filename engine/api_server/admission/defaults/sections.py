"""Filling in sections of a manifest: each is copied before anything is put into it."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from engine.objects.values import quantity

Manifest = dict[str, Any]
# Fills in the defaults of a kind, in a manifest whose top level is a copy.
Fill = Callable[[Manifest], None]


def section(found: Manifest, name: str, **defaults: Any) -> Manifest:
    """A copy of a section, put in its place, with *defaults* for what is absent.

    A value that is not a section stays as it is: runs read fewer fields than a server, and check those only.
    """
    given: Any = found.get(name) or {}
    if not isinstance(given, dict):
        return {**defaults}
    copy: Manifest = {**defaults, **cast("Manifest", given)}
    found[name] = copy
    for field in defaults:
        if copy[field] is None:
            copy[field] = defaults[field]
    return copy


def present_section(found: Manifest, name: str, **defaults: Any) -> Manifest | None:
    """The same for a section that is completed only where it is present; None elsewhere."""
    return section(found, name, **defaults) if isinstance(found.get(name), dict) else None


def each(found: Manifest, name: str) -> list[Manifest]:
    """Copies of the members of a list, put in its place; none where there is no list."""
    given: Any = found.get(name)
    if not isinstance(given, list):
        return []
    members = cast("list[Any]", given)
    copies = [{**cast("Manifest", one)} for one in members if isinstance(one, dict)]
    found[name] = copies
    return copies


def write_amounts(found: Manifest, *names: str) -> None:
    """Write the quantities of the maps *names* as a server does: "1024Mi" becomes "1Gi"."""
    for name in names:
        amounts: Any = found.get(name)
        if isinstance(amounts, dict):
            given = cast("Manifest", amounts).items()
            found[name] = {resource: amount(written) for resource, written in given}


def amount(written: Any) -> Any:
    """A quantity in its canonical form; any other value stays as it is.

    Upstream: resource.Quantity, CanonicalizeBytes().
    """
    if isinstance(written, str) and len(written) > quantity.MAX_DIGITS:
        return written
    return _amount(written) if isinstance(written, (str, int, float)) else written


@lru_cache(maxsize=8192, typed=True)
def _amount(written: str | int | float) -> str:
    try:
        return str(quantity.parse(written))
    except quantity.QuantityError:
        return str(written)
