"""Lists in pages: `limit` says how many items, `continue` where the page before ended.

A page is {"items": […], "continue": "…"}, as a List of Kubernetes is read: the text in `continue` goes
into the next request, unchanged; null is the end.
"""

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson
from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kscope.runs.web.contract.queries import Field, whole

# Where a page ended: a seq, an id, or a name.
Place = int | str


# Names of objects are shorter, in base64, too.
LONGEST_TOKEN = 1_024


@extend_schema_field({"type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": LONGEST_TOKEN})
class Token(serializers.CharField):
    """Where a page ended, as it was given out."""


@dataclass(frozen=True, slots=True)
class Page:
    """How many items are wanted, and after which place; None for the beginning."""

    limit: int
    after: Place | None

    def cut(
        self, items: Iterable[Any], place_of: Callable[[Any], Place]
    ) -> tuple[list[Any], str | None]:
        """Of *items*, of which one more than the limit was read: those of the page, and `continue`."""
        found = list(items)
        page = found[: self.limit]
        return page, written(place_of(page[-1])) if len(found) > self.limit else None

    @property
    def wanted(self) -> int:
        """How many items to read: one more says that there is a next page."""
        return self.limit + 1


def paged(most: int, usual: int) -> dict[str, Field]:
    """The two parameters of a list of which a page has *usual* items, and at most *most*."""
    return {
        "limit": whole(f"at most so many items; default: {usual}", least=1, most=most),
        "continue": Token(
            required=False,
            allow_blank=True,
            trim_whitespace=False,
            max_length=LONGEST_TOKEN,
            help_text="`continue` of the page before",
        ),
    }


def page_of(asked: Mapping[str, Any], usual: int, kind: type[Place] = int) -> Page:
    """The page that a query asks for. Raises ValidationError for another `continue` than was given out."""
    token = asked["continue"]
    return Page(asked["limit"] or usual, None if token is None else _read(token, kind))


def written(place: Place) -> str:
    """The text for `continue` that stands for *place*."""
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def _read(token: str, kind: type[Place]) -> Place:
    place: Any
    try:
        place = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except ValueError:
        place = None
    if not _is_place(place, kind) or written(place) != token:
        words = gettext("{token} is not from a page of this list")
        raise serializers.ValidationError({"continue": [words.format(token=repr(token))]})
    return cast("Place", place)


def _is_place(found: object, kind: type[Place]) -> bool:
    if type(found) is not kind:
        return False
    # No table holds a text with NUL, and no column a number beyond 63 bits.
    return "\0" not in found if isinstance(found, str) else found in range(2**63)


def page_schema(item: type[serializers.Serializer], name: str, **more: Field) -> Field:
    """The description of a page of *item*, with *more* beside it."""
    fields: dict[str, Any] = {
        "items": item(many=True),
        "continue": serializers.CharField(
            allow_null=True, help_text="for the next page, unchanged; null: this is the last one"
        ),
    }
    doc = f"A page of a list. Each of its items is a {item.__name__}."
    return type(name, (serializers.Serializer,), {**fields, **more, "__doc__": doc})()
