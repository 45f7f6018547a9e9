"""Two runs compared."""

from django.utils.translation import gettext
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from kscope.runs.access import found_run
from kscope.runs.aside import Question
from kscope.runs.aside.question import QUERY_SECONDS
from kscope.runs.compare.answer import Comparison
from kscope.runs.compare.comparing import runs_compared
from kscope.runs.errors import ApplicationError
from kscope.runs.web.answers import EngineAnswer, EngineView
from kscope.runs.web.api.answer_schema import answer_schema
from kscope.runs.web.api.parameters import whole_number


class RunCompare(EngineView):
    """Two runs beside each other."""

    @extend_schema(
        parameters=[
            OpenApiParameter("with", int, required=True, description="the other run"),
            OpenApiParameter("at", int, description="virtual ns; default: what both have reached"),
            OpenApiParameter("seq", int, description="or after this event of this run"),
            OpenApiParameter("with_seq", int, description="and after this one of the other"),
            OpenApiParameter("after", int, description="events after this one of this run"),
            OpenApiParameter("with_after", int, description="and after this one of the other"),
        ],
        responses=answer_schema(Comparison, "Compared"),
    )
    def get(self, request: Request, run_id: int) -> EngineAnswer:
        """Where they part, which pods are elsewhere, and both in numbers: docs/compare.md."""
        other = whole_number(request, "with")
        if other is None:
            raise ApplicationError(gettext("with is missing: the run to compare with"))
        names = ("at", "seq", "with_seq", "after", "with_after")
        instants = {name: whole_number(request, name) for name in names}
        for each in (run_id, other):
            found_run(request, each)
        arguments = {"run_id": run_id, "with_id": other, "instants": instants}
        return EngineAnswer(Question(runs_compared, arguments, run_id, seconds=QUERY_SECONDS))
