"""What all REST views share: they refuse what they do not know, and name what may be meant."""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.utils.translation import gettext
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.views import APIView

from kscope.runs.models import Run
from kscope.runs.web.contract.etags import mark, tag_of
from kscope.runs.web.contract.fields import refuse_unknown
from kscope.runs.web.contract.queries import Query


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
        refuse_unknown(words, request.query_params, names)
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


@cache
def _described(
    view: type[APIView], handler: Callable[..., Any]
) -> tuple[list[str], list[type[Query]]]:
    """The parameters in the query that the description of *handler* has: their names, and what reads them."""
    describe = getattr(handler, "kwargs", {}).get("schema")
    if describe is None:
        return [], []
    description = describe()
    # What is described is the same for all requests.
    described: Any = view()
    described.request, described.kwargs = None, {}
    description.view = described
    names: list[str] = []
    queries: list[type[Query]] = []
    for one in description.get_override_parameters():
        if isinstance(one, OpenApiParameter):
            names += [one.name] if one.location == OpenApiParameter.QUERY else []
        elif issubclass(one, Query):
            names += one().fields
            queries.append(one)
    return names, queries
