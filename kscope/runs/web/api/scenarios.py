"""Scenarios: list, upload, show, download, share and delete them."""

from dataclasses import asdict
from typing import Any, cast

from django.http import HttpResponse, JsonResponse
from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from engine.input.options import NAMES
from engine.input.scenario import DEFAULT_UNTIL
from kscope.accounts.access import visitor_of
from kscope.runs import selectors, services
from kscope.runs.access import found_scenario, readable_runs, readable_scenarios
from kscope.runs.contents import items_count
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, Scenario
from kscope.runs.web.answers import EngineView, refused
from kscope.runs.web.api.once import once
from kscope.runs.web.api.sharing import Sharing, wanted_visibility
from kscope.runs.web.contract.answer_schema import answer_class, answer_schema
from kscope.runs.web.contract.fields import Body, refuse_unknown_fields
from kscope.runs.web.contract.paging import page_of, page_schema, paged
from kscope.runs.web.contract.queries import query
from kscope.runs.web.contract.schema import RUN
from kscope.runs.web.rest import RestView
from kscope.runs.web.shapes.scenarios import ListedScenario, ScenarioDetail, UploadedScenario
from kscope.runs.web.upload_report import stored_report
from kscope.runs.web.uploads import Outcome, UploadAnswer, upload_ask

MOST_SCENARIOS, USUAL_SCENARIOS = 500, 100
_LISTED = answer_class(ListedScenario)
_DETAIL = answer_class(ScenarioDetail)
_UPLOADED = answer_schema(
    UploadedScenario,
    run=RUN(allow_null=True, help_text="that came as a file, and is being played again"),
)


@extend_schema_field({"type": "string", "format": "binary"})
class SentFile(serializers.FileField):
    """A file of a form."""


class Upload(Body):
    """Files that are read into one scenario: docs/scenario-format.md."""

    files = serializers.ListField(child=SentFile(), min_length=1, help_text="files and archives")
    name = serializers.CharField(
        required=False, allow_blank=True, help_text="default: that of the first file"
    )

    def get_fields(self) -> dict[str, Any]:
        """See rest_framework. The choices of an intake are those of the command line."""
        choices = {each: _choice() for each in NAMES}
        return {**super().get_fields(), **choices}


def _choice() -> serializers.CharField:
    return serializers.CharField(
        required=False, allow_blank=True, help_text="as on the command line: docs/command-line.md"
    )


class ScenarioList(EngineView):
    """The scenarios, from which runs start."""

    parser_classes = (MultiPartParser,)

    @extend_schema(
        operation_id="scenarios_list",
        parameters=[query("ScenarioQuery", paged(MOST_SCENARIOS, USUAL_SCENARIOS))],
        responses=page_schema(_LISTED, "ScenarioPage"),
    )
    def get(self, request: Request) -> Response:
        """The scenarios that the visitor may see, demos first."""
        page = page_of(self.asked, USUAL_SCENARIOS)
        begin = int(page.after or 0)
        readable = readable_scenarios(visitor_of(request)).filter(is_of_lessons=False)
        found = [*enumerate(readable[begin : begin + page.wanted], begin + 1)]
        items, more = page.cut(found, lambda each: each[0])
        return Response({"items": [_listed(each) for _, each in items], "continue": more})

    @extend_schema(
        request={"multipart/form-data": Upload},
        responses={201: _UPLOADED},
    )
    def post(self, request: Request) -> HttpResponse:
        """Read files; with any problem nothing is saved and all problems are reported."""
        files = request.FILES.getlist("files")
        if not files:
            raise ApplicationError(gettext("No files were sent; they go into the field `files`."))
        refuse_unknown_fields(request.data, ("files", "name", *NAMES))
        question = upload_ask(
            files,
            visitor_of(request),
            name=str(request.data.get("name") or ""),
            choices={each: str(request.data.get(each) or "") for each in NAMES},
        )
        if isinstance(question, Outcome):
            return _upload_response(question)
        return UploadAnswer(question, _upload_response)


def _upload_response(end: Outcome | ApplicationError) -> HttpResponse:
    if isinstance(end, ApplicationError):
        return refused(end)
    if end.scenario_id is not None:
        scenario = Scenario.objects.select_related("owner").get(pk=end.scenario_id)
        told = {**_listed(scenario), "report": asdict(end.report), "run": _run_of(end)}
        return JsonResponse(told, status=201)
    problems = [asdict(each) for file in end.report.files for each in file.problems]
    told = {"problems": problems, "skipped": end.report.skipped}
    return refused(ApplicationError(gettext("Nothing was saved."), told, 422))


def _run_of(end: Outcome) -> dict[str, Any] | None:
    """The run that came as a file, which is being played again; None for any other upload."""
    if end.run_id is None:
        return None
    return selectors.run_dict(Run.described().get(pk=end.run_id))


class ScenarioView(RestView):
    """One scenario."""

    @extend_schema(operation_id="scenarios_retrieve", responses=_DETAIL)
    def get(self, request: Request, scenario_id: int) -> Response:
        """What runs of it start from, and how its files were read."""
        return Response(_detail(request, found_scenario(request, scenario_id)))

    @extend_schema(operation_id="scenarios_partial_update", request=Sharing, responses=_DETAIL)
    @once()
    def patch(self, request: Request, scenario_id: int) -> Response:
        """Change who may see it."""
        scenario = found_scenario(request, scenario_id, to_change=True)
        services.owned_share(thing=scenario, visibility=wanted_visibility(request))
        return Response(_detail(request, scenario))

    @extend_schema(operation_id="scenarios_destroy", responses={204: None})
    @once()
    def delete(self, request: Request, scenario_id: int) -> Response:
        """Delete an uploaded scenario that has no run."""
        services.scenario_delete(scenario=found_scenario(request, scenario_id, to_change=True))
        return Response(status=204)


def _listed(scenario: Scenario) -> ListedScenario:
    return {
        "id": scenario.pk,
        "name": scenario.name,
        "question": scenario.question,
        "is_demo": scenario.is_demo,
        "owner": scenario.owner.get_username() if scenario.owner else "",
        "visibility": cast("Any", scenario.visibility),
        "bytes": scenario.bytes,
        "summary": scenario.summary,
    }


def _detail(request: Request, scenario: Scenario) -> ScenarioDetail:
    header = scenario.header
    return {
        **_listed(scenario),
        "digest": scenario.digest,
        "created": scenario.created.isoformat(),
        "as_brought": scenario.as_brought,
        "instant": scenario.instant,
        "title": header.get("title") or "",
        "profile": header.get("profile") or "",
        "seed": int(header.get("seed") or 0),
        "until": header.get("until", DEFAULT_UNTIL),
        "steps": items_count(scenario.pk, "steps"),
        "not_modelled": scenario.not_modelled,
        "report": cast("Any", stored_report(scenario.report)),
        "runs": readable_runs(visitor_of(request)).filter(scenario=scenario).count(),
    }
