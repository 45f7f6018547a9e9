"""What all REST views share: they refuse what they do not know, and name what may be meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from django.utils.translation import gettext
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

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


class RestView(APIView):
    """A view that takes no other parameters in the query than its description names."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """See APIView. Raises ApplicationError for a parameter that is not known."""
        super().initial(request, *args, **kwargs)
        handler = getattr(self, str(request.method).lower(), None)
        if handler is None:  # the method is refused in a moment
            return
        words = gettext("unknown parameter {name}; {known}")
        _refuse_unknown(words, request.query_params, _parameters(self, handler))


def refuse_unknown_fields(given: Iterable[str], known: Iterable[str]) -> None:
    """Raises ApplicationError when one of the *given* fields is not *known*."""
    _refuse_unknown(gettext("unknown field {name}; {known}"), given, known)


def _refuse_unknown(words: str, given: Iterable[str], known: Iterable[str]) -> None:
    unknown = unknown_names(given, known)
    if unknown:
        raise ApplicationError(
            ". ".join(words.format(name=repr(name), known=unknown[name]) for name in unknown)
        )


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


def _parameters(view: APIView, handler: Any) -> list[str]:
    """The names of the parameters in the query that the description of *handler* has."""
    describe = getattr(handler, "kwargs", {}).get("schema")
    if describe is None:
        return []
    description = describe()
    description.view = view
    found = description.get_override_parameters()
    return [one.name for one in found if one.location == OpenApiParameter.QUERY]
