"""What may have been meant by a field that an object does not have."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Final, cast

from engine.kernel.sentences import NOTHING, Sentence, phrase, say
from engine.objects.documents import Path, show_path
from engine.objects.openapi.definitions import (
    Definitions,
    Schema,
    all_versions,
    definitions,
    field_names,
)
from engine.objects.openapi.findings import Findings, UnknownField
from engine.objects.openapi.removed import REMOVED

# How alike two names are that are meant to be the same: hardly to be doubted, or perhaps.
_SURE: Final = 0.85
_PERHAPS: Final = 0.6
# How deep a field is looked for that stands in the wrong place, and among how many objects.
_DEEPEST: Final = 8
_MOST: Final = 2_000


_BOTH: Final = phrase("{first} to {last} do")


def left_out_note(found: Findings, field: UnknownField) -> Sentence:
    """Why a field is left out, and what may have been meant."""
    name = cast("str", field.path[-1])
    having = _versions_with(field.definition, name)
    if having:
        return say(
            "{version} does not have this field ({having}); it is left out",
            version=found.version,
            having=having,
        )
    near = nearest(found, field)
    if near:
        return say(
            "unknown field, which is left out; the nearest is {field}", field=show_path(near)
        )
    return say("unknown field, which is left out")


def nearest(found: Findings, field: UnknownField) -> Path | None:
    """The path of the field that was meant, or None.

    First of all it is one of the same object; a field of exactly that name elsewhere is more likely
    than one here that is merely similar. Lists on the way to it have no index.
    """
    known = definitions(found.version)
    *above, last = field.path
    name = cast("str", last)
    here = {one: _likeness(name, one) for one in _properties(known, field.definition)}
    best = max(here, key=lambda one: here[one], default=None)
    if best is not None and here[best] >= _SURE:
        return (*above, best)
    elsewhere = _elsewhere(known, found.name, name)
    if elsewhere is not None:
        return elsewhere
    return (*above, best) if best is not None and here[best] >= _PERHAPS else None


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower()).ratio()


def _elsewhere(known: Definitions, root: str, name: str) -> Path | None:
    """The shortest path of a field of that name, or of nearly that name, in objects of *root*."""
    alike: tuple[float, Path] | None = None
    for path in _all_paths(known, root):
        if path[-1] == name:
            return path
        likeness = _likeness(name, cast("str", path[-1]))
        if likeness >= _SURE and (alike is None or likeness > alike[0]):
            alike = likeness, path
    return None if alike is None else alike[1]


def _all_paths(known: Definitions, root: str) -> Iterator[Path]:
    """The paths of fields below *root*, the shortest first; each definition is entered once."""
    waiting: deque[tuple[str, Path]] = deque([(root, ())])
    entered = {root}
    while waiting and len(entered) < _MOST:
        name, path = waiting.popleft()
        for field, schema in _properties(known, name).items():
            below = (*path, field)
            yield below
            inner = _inner(schema)
            if inner and inner not in entered and len(below) < _DEEPEST:
                entered.add(inner)
                waiting.append((inner, below))


def _inner(schema: Schema) -> str:
    """The definition that a schema refers to, itself or of its items or values; or ""."""
    for part in (schema, schema.get("items"), schema.get("additionalProperties")):
        reference: Any = cast("Schema", part).get("$ref") if isinstance(part, dict) else None
        if reference:
            return str(reference).rpartition("/")[2]
    return ""


def _properties(known: Definitions, name: str) -> dict[str, Schema]:
    return known.get(name, {}).get("properties") or {}


def _versions_with(definition: str, field: str) -> Sentence:
    """Which versions have the field: "v1.26 to v1.30 do", "v1.37 and later do"; "" for none."""
    removed = REMOVED.get(definition, {}).get(field)
    if removed is not None:
        return _BOTH.say(first=f"v1.{removed[0]}", last=f"v1.{removed[1]}")
    known = all_versions()
    having = [one for one in known if field in field_names(one).get(definition, ())]
    if not having:
        return NOTHING
    if having[-1] == known[-1]:
        return say("{version} and later do", version=having[0])
    if len(having) == 1:
        return say("{version} does", version=having[0])
    return _BOTH.say(first=having[0], last=having[-1])
