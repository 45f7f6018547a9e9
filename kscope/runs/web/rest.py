"""What all REST views share: they refuse what they do not know, and name what may be meant."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any

from django.utils.translation import gettext
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run
from kscope.runs.web.contract.etags import mark, tag_of
from kscope.runs.web.contract.queries import Query


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
    """A view that takes no other parameters in the query than its description names.

    `asked` has their values, as the description says how they are read.
    """

    asked: dict[str, Any]
    _tag = ""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """See APIView. Raises ApplicationError for a parameter that is not known."""
        super().initial(request, *args, **kwargs)
        handler = getattr(self, str(request.method).lower(), None)
        self.asked = {}
        if handler is None:  # the method is refused in a moment
            return
        names, queries = _described(type(self), handler.__func__)
        words = gettext("unknown parameter {name}; {known}")
        _refuse_unknown(words, request.query_params, names)
        for query in queries:
            self.asked |= query.read(request.query_params.dict())

    def lasts(self, run: Run, seq: int | None) -> None:
        """Say that the answer is about the run after event *seq*, and never changes; None: it may.

        Called once it is known that the visitor may see the run. Raises NotModified.
        """
        if seq is not None and 0 <= seq <= run.head_seq:
            self._tag = tag_of(self.request, run, seq)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """See APIView."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        if self._tag and answer.status_code == 200:
            mark(answer, self._tag)
        return answer


def refuse_unknown_fields(given: Iterable[str], known: Iterable[str]) -> None:
    """Raises ApplicationError when one of the *given* fields is not *known*."""
    _refuse_unknown(gettext("unknown field {name}; {known}"), given, known)


def _refuse_unknown(words: str, given: Iterable[str], known: Iterable[str]) -> None:
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


@cache
def _described(
    view: type[APIView], handler: Callable[..., Any]
) -> tuple[list[str], list[type[Query]]]:
    """The parameters in the query that the description of *handler* has: their names, and what reads them."""
    describe = getattr(handler, "kwargs", {}).get("schema")
    if describe is None:
        return [], []
    description = describe()
    description.view = view()
    # What is described is the same for all requests.
    description.view.request, description.view.kwargs = None, {}
    names: list[str] = []
    queries: list[type[Query]] = []
    for one in description.get_override_parameters():
        if isinstance(one, OpenApiParameter):
            names += [one.name] if one.location == OpenApiParameter.QUERY else []
        elif issubclass(one, Query):
            names += one().fields
            queries.append(one)
    return names, queries
