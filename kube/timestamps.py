"""Timestamps of objects, moved by one constant: from a run's clock to that of its clients, and back.

The OpenAPI definitions say which fields are timestamps (format date-time).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any, NamedTuple

from engine.objects.openapi.definitions import Schema, definitions
from kube.resources import Resource

# Timestamps that are remembered for each constant, and constants for which they are.
_MOST_TEXTS = 20_000
_MOST_CONSTANTS = 64
_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
# Characters: what is longer is no timestamp.
_LONGEST = 64


class Fields(NamedTuple):
    """The fields of a value that are timestamps, and those that have some below them.

    Those of a list are those of its items.
    """

    timestamps: tuple[str, ...]
    others: "tuple[tuple[str, Fields], ...]"


def timestamps_of(resource: Resource) -> Fields:
    """Where the objects of a kind have timestamps; those of a custom kind in their metadata alone.

    What else clients write into a custom object no run writes, and is theirs.
    """
    if resource.custom is not None:
        return Fields((), (("metadata", _of_definition(_METADATA)),))
    return _of_definition(resource.definition_name(resource.kind))


@cache
def _of_definition(name: str) -> Fields:
    return _below({"$ref": name})


def shifted(fields: Fields, value: Any, seconds: int) -> Any:
    """*value*, an object or a patch of one, with all its timestamps that many seconds later."""
    return _shifted(fields, value, _moved(seconds)) if seconds else value


def moved(text: str, seconds: int) -> str:
    """The RFC 3339 timestamp *text* that many seconds later; any other value stays as it is."""
    try:
        moment = datetime.fromisoformat(text)
        later = moment + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return text
    if moment.tzinfo is None:
        return text
    # With the fraction that it had: MicroTime has six digits, Time none.
    precision = "microseconds" if "." in text else "seconds"
    return later.isoformat(timespec=precision).replace("+00:00", "Z")


class _Moved(dict[str, str]):
    """Timestamps as they are some seconds later, each computed once."""

    def __init__(self, seconds: int) -> None:
        super().__init__()
        self._seconds = seconds

    def __missing__(self, text: str) -> str:
        if len(text) > _LONGEST:
            return text
        if len(self) >= _MOST_TEXTS:
            self.clear()
        later = self[text] = moved(text, self._seconds)
        return later


@lru_cache(maxsize=_MOST_CONSTANTS)
def _moved(seconds: int) -> _Moved:
    return _Moved(seconds)


def _shifted(fields: Fields, value: Any, later: _Moved) -> Any:
    # This runs for each object of each list: classes are compared, and copies are made unasked.
    if value.__class__ is list:
        return [_shifted(fields, one, later) for one in value]
    if value.__class__ is not dict:
        return value
    found = value.copy()
    timestamps, others = fields
    for name in timestamps:
        text = value.get(name)
        if text.__class__ is str:
            found[name] = later[text]
    for name, below in others:
        part = value.get(name)
        if part:
            found[name] = _shifted(below, part, later)
    return found


def _below(schema: Schema, around: frozenset[str] = frozenset()) -> Fields:
    """Those of a schema; the definitions *around* it are looked into already."""
    reference = str(schema.get("$ref") or "")
    if reference in around:
        return Fields((), ())
    around |= {reference} if reference else frozenset()
    schema = _followed(schema)
    inner = schema.get("items")
    if isinstance(inner, dict):
        return _below(inner, around)
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    timestamps = tuple(
        name for name, one in properties.items() if _followed(one).get("format") == "date-time"
    )
    others = (
        (name, _below(one, around)) for name, one in properties.items() if name not in timestamps
    )
    return Fields(timestamps, tuple((name, fields) for name, fields in others if any(fields)))


def _followed(schema: Schema) -> Schema:
    """The schema itself, or the one that it refers to."""
    reference = schema.get("$ref")
    return definitions().get(reference.rpartition("/")[2], {}) if reference else schema
