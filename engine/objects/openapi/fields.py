"""The fields of an object, as all doors of a run check them: files, steps, commands, its API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from engine.objects.documents import Path
from engine.objects.openapi.checkers import Nulls, note_nulls
from engine.objects.openapi.definitions import NEWEST
from engine.objects.openapi.findings import NOTHING, Findings, findings
from engine.objects.openapi.names import place_of, usual_place

Manifest = dict[str, Any]

_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def check_fields(
    manifest: Manifest,
    version: str = NEWEST,
    *,
    is_simulated: bool = False,
    nulls: Nulls | None = None,
) -> Findings:
    """Which values of a manifest are of a wrong type, and which fields its kind does not have.

    For a kind that is not Kubernetes' own only the metadata is checked, unless it *is_simulated*: then it
    counts as the kind of that name, whatever its group. If nothing is wrong, *nulls* gets the objects
    in it that have fields which are null.
    """
    kind, api_version = manifest.get("kind"), manifest.get("apiVersion")
    if not isinstance(kind, str):
        return NOTHING
    found = place_of(version, api_version, kind) if isinstance(api_version, str) else None
    if found is None and is_simulated:
        found = usual_place(version, kind)
    if found is not None:
        return findings(*found, manifest, nulls)
    if nulls is not None:
        note_nulls(manifest, nulls)
    inner = findings(NEWEST, _METADATA, manifest.get("metadata"))
    return inner if inner is NOTHING else inner.below("metadata")


def check_as(api_version: str, kind: str, value: Manifest, version: str = NEWEST) -> Findings:
    """The same of an object, or a part of one, of a kind that it need not name itself."""
    found = place_of(version, api_version, kind)
    return NOTHING if found is None else findings(*found, value)


def check_patch(kind: str, patch: Manifest, version: str = NEWEST) -> Findings:
    """The same of a merge patch of an object; *kind* is its kind, also in lower case."""
    found = usual_place(version, kind)
    return NOTHING if found is None else findings(*found, patch)


def without(value: Any, paths: Iterable[Path]) -> Any:
    """A copy of *value* without what is at *paths*; what is not on their way is not copied."""
    below: dict[str | int, list[Path]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).append(tuple(rest))
    if not below:
        return value
    if isinstance(value, list):
        items = list(cast("list[Any]", value))
        for place, inner in below.items():
            items[cast("int", place)] = without(items[cast("int", place)], inner)
        return items
    parts = dict(cast("Manifest", value))
    for name, inner in below.items():
        if () in inner:
            del parts[cast("str", name)]
        else:
            parts[cast("str", name)] = without(parts[cast("str", name)], inner)
    return parts
