"""One field of one object, as the evidence of a cause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from kscope.sim.objects.objects import ApiObject

_PLAIN = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A field of an object, its value, and in a sentence what follows from it.

    `object` is an entity id ("volume/data-1"), `field` a path in its manifest; `value` is what stands
    there, None where nothing does; `compared_with` is the value that it was held against, if any.
    """

    object: str
    field: str
    value: Any
    text: str
    compared_with: Any = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a group of equal refusals comes from.

    `sentence` takes the place of the refusal's own where it leads further; `why` says in a sentence
    how it came about. `lead` is the root cause in one sentence, where there is a single one.
    """

    sentence: str = ""
    lead: str = ""
    why: str = ""
    because: tuple[Fact, ...] = field(default=())


def fact(obj: ApiObject, path: Sequence[str | int], text: str, compared_with: Any = None) -> Fact:
    """The fact that the field at *path* of *obj* has the value that it has."""
    return Fact(
        object=obj.id,
        field=_written(path),
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
