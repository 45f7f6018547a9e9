"""A run as a file: for another kscope, or for another program."""

from django.utils.translation import gettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request

from kscope.accounts.access import visitor_of
from kscope.exports.page.recording import PARTS
from kscope.exports.registry import FORMATS
from kscope.runs.access import found_run, may_see_values
from kscope.runs.errors import ApplicationError
from kscope.runs.web.answers import EngineView
from kscope.runs.web.contract.queries import one_of, query, switch, whole, words
from kscope.runs.web.handing.answer import ExportAnswer, export_answer
from kscope.runs.web.handing.making import Wanted

_QUERY = query(
    "RunExportQuery",
    {
        "format": one_of(FORMATS, "default: kscope; docs/exports.md has them"),
        "seq": whole("up to this event; the newest when absent"),
        "at": whole("or up to this virtual time, in nanoseconds"),
        "pod": words("NAMESPACE/NAME; of a format that is about one pod"),
        "history": switch("1: kscope has every event, and the evidence"),
        "since": whole("html has events from this virtual time on, in nanoseconds"),
        "without": words(
            "html does without these, separated by commas: inside, evidence, data, why"
        ),
    },
)


class RunExport(EngineView):
    """The run in any of the formats that kscope writes."""

    @extend_schema(
        operation_id="runs_export",
        parameters=[_QUERY],
        responses={
            (200, form.media_type.partition(";")[0]): OpenApiResponse(OpenApiTypes.BINARY)
            for form in FORMATS.values()
        },
    )
    def get(self, request: Request, run_id: int) -> ExportAnswer:
        """What the visitor may see of the run; values that may be secret only where they may change it."""
        run = found_run(request, run_id)
        pod: str | None = self.asked["pod"]
        wanted = Wanted(
            format=self.asked["format"] or "kscope",
            seq=self.asked["seq"],
            pod=f"pod/{pod}" if pod else "",
            history=bool(self.asked["history"]),
            since=self.asked["since"] or 0,
            without=_parts(self.asked["without"]),
            sees_values=may_see_values(visitor_of(request), run),
        )
        return export_answer(run, wanted, self.asked["at"])


def _parts(text: str | None) -> tuple[str, ...]:
    """The parts of a page that are named. Raises ApplicationError."""
    named = tuple(filter(None, (text or "").split(",")))
    for each in named:
        if each not in PARTS:
            message = gettext("without is {part}; it must be of {known}")
            raise ApplicationError(message.format(part=repr(each), known=", ".join(PARTS)))
    return named
