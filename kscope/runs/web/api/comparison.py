"""Two runs compared."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from kscope.runs.access import found_run
from kscope.runs.aside import Question
from kscope.runs.aside.question import QUERY_SECONDS
from kscope.runs.compare.answer import Comparison
from kscope.runs.compare.comparing import runs_compared
from kscope.runs.web.answers import EngineAnswer, EngineView
from kscope.runs.web.contract.answer_schema import answer_schema
from kscope.runs.web.contract.queries import query, whole

_ASKED = query(
    "CompareQuery",
    {
        "with": whole("the other run", required=True),
        "at": whole("virtual ns; default: what both have reached"),
        "seq": whole("or after this event of this run"),
        "with_seq": whole("and after this one of the other"),
        "after": whole("events after this one of this run"),
        "with_after": whole("and after this one of the other"),
    },
)


class RunCompare(EngineView):
    """Two runs beside each other."""

    @extend_schema(
        parameters=[_ASKED],
        responses=answer_schema(Comparison, "Compared"),
    )
    def get(self, request: Request, run_id: int) -> EngineAnswer:
        """Where they part, which pods are elsewhere, and both in numbers: docs/compare.md."""
        instants = {**self.asked}
        other = instants.pop("with")
        for each in (run_id, other):
            found_run(request, each)
        arguments = {"run_id": run_id, "with_id": other, "instants": instants}
        return EngineAnswer(Question(runs_compared, arguments, run_id, seconds=QUERY_SECONDS))
