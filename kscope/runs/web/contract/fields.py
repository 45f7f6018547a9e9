"""Bodies of requests: every field must be known, and what may be meant is named."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from django.utils.translation import gettext
from rest_framework import serializers

from kscope.runs.errors import ApplicationError


class Body(serializers.Serializer):
    """The body of a request, or a part of one, in which every field must be known."""

    def to_internal_value(self, data: Any) -> Any:
        """See rest_framework; unknown fields are named together with all other problems."""
        unknown = unknown_names(data, self.fields) if isinstance(data, dict) else {}
        problems = {
            name: [gettext("unknown field; {known}").format(known=known)]
            for name, known in unknown.items()
        }
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as refusal:
            if not isinstance(refusal.detail, dict):
                raise
            raise serializers.ValidationError({**refusal.detail, **problems}) from refusal
        if problems:
            raise serializers.ValidationError(problems)
        return value


def refuse_unknown_fields(given: Iterable[str], known: Iterable[str]) -> None:
    """Raises ApplicationError when one of the *given* fields is not *known*."""
    refuse_unknown(gettext("unknown field {name}; {known}"), given, known)


def refuse_unknown(words: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises ApplicationError, in *words* with places for `name` and `known`, for what is not *known*."""
    unknown = unknown_names(given, known)
    if not unknown:
        return
    texts = {name: words.format(name=repr(name), known=unknown[name]) for name in unknown}
    errors = [{"name": name, "detail": text} for name, text in texts.items()]
    raise ApplicationError(". ".join(texts.values()), {"errors": errors})


def unknown_names(given: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Those of the *given* names that are not *known*, each with the known ones, the nearest first."""
    known = list(known)
    return {name: _meant(name, known) for name in given if name not in known}


def _meant(name: str, known: list[str]) -> str:
    if not known:
        return gettext("there are none")
    names, near = ", ".join(known), get_close_matches(name, known, 1)
    if near:
        words = gettext("the nearest is {near}; known are {names}")
        return words.format(near=near[0], names=names)
    return gettext("known are {names}").format(names=names)
