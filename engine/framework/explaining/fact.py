"""One field of one object, as the evidence of a cause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from engine.kernel.sentences import NOTHING, Sentence
from engine.objects.kinds import entity_id
from engine.objects.objects import ApiObject

_PLAIN = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A field of an object, its value, and in a sentence what follows from it.

    `path` leads to the field in the manifest; `value` is what stands there, None where nothing does;
    `compared_with` is the value that it was held against, if any.
    """

    kind: str
    key: str
    path: tuple[str | int, ...]
    value: Any
    text: Sentence
    compared_with: Any = None

    @property
    def object(self) -> str:
        """The entity id: "volume/data-1"."""
        return entity_id(self.kind, self.key)

    @property
    def field(self) -> str:
        """The path as it is written: "spec.taints[0].key"."""
        return _written(self.path)

    def of(self, obj: ApiObject) -> Fact:
        """The same fact of another version of its object."""
        return replace(self, value=_value(obj.raw, self.path))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "object": self.object,
            "field": self.field,
            "value": self.value,
            "text": self.text,
            "compared_with": self.compared_with,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a group of equal refusals comes from.

    `sentence` takes the place of the refusal's own where it leads further; `why` says in a sentence
    how it came about. `lead` is the root cause in one sentence, where there is a single one.
    `overall` explains the refusals of all nodes: these by the cause, the others by what they lack.
    """

    sentence: Sentence = NOTHING
    lead: Sentence = NOTHING
    overall: Sentence = NOTHING
    why: Sentence = NOTHING
    because: tuple[Fact, ...] = field(default=())


def fact(
    obj: ApiObject, path: Sequence[str | int], text: Sentence, compared_with: Any = None
) -> Fact:
    """The fact that the field at *path* of *obj* has the value that it has."""
    return Fact(
        kind=obj.kind,
        key=obj.key,
        path=tuple(path),
        value=_value(obj.raw, path),
        text=text,
        compared_with=compared_with,
    )


def _value(manifest: Any, path: Sequence[str | int]) -> Any:
    found = manifest
    for step in path:
        if isinstance(step, int):
            entries = cast("list[Any]", found) if isinstance(found, list) else []
            found = entries[step] if step < len(entries) else None
        else:
            found = cast("dict[str, Any]", found).get(step) if isinstance(found, dict) else None
    return found


def _written(path: Sequence[str | int]) -> str:
    text = ""
    for step in path:
        if isinstance(step, str) and _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{step}]"
    return text
