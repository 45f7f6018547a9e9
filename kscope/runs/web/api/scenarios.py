"""Scenarios: list, upload, show, share and delete them."""

from dataclasses import asdict
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.utils.translation import gettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from engine.input.options import NAMES
from kscope.accounts.access import visitor_of
from kscope.runs import services
from kscope.runs.access import found_scenario, readable_scenarios
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Scenario
from kscope.runs.web.answers import EngineView, refused
from kscope.runs.web.api.once import once
from kscope.runs.web.api.sharing import Sharing, wanted_visibility
from kscope.runs.web.parsers import JSONParser
from kscope.runs.web.rest import RestView, refuse_unknown_fields
from kscope.runs.web.uploads import Outcome, UploadAnswer, upload_ask


class ScenarioList(EngineView):
    """The scenarios, from which runs start."""

    parser_classes = (MultiPartParser, JSONParser)

    @extend_schema(
        operation_id="scenarios_list",
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "{scenarios: […]}"),
    )
    def get(self, request: Request) -> Response:
        """All scenarios that the visitor may see, demos first."""
        scenarios = readable_scenarios(visitor_of(request)).filter(is_of_lessons=False)
        return Response({"scenarios": [_scenario_dict(each) for each in scenarios]})

    @extend_schema(
        request={
            "multipart/form-data": inline_serializer(
                "Upload",
                {
                    "files": serializers.ListField(child=serializers.FileField()),
                    "name": serializers.CharField(required=False),
                    **{each: serializers.CharField(required=False) for each in NAMES},
                },
            )
        },
        responses={201: OpenApiResponse(OpenApiTypes.OBJECT, "the scenario, with its `report`")},
    )
    def post(self, request: Request) -> HttpResponse:
        """Read files; with any problem nothing is saved and all problems are reported."""
        files = request.FILES.getlist("files")
        if not files:
            raise ApplicationError(gettext("No files were sent; they go into the field `files`."))
        refuse_unknown_fields(request.data, ("files", "name", *NAMES))
        question = upload_ask(
            files,
            name=str(request.data.get("name") or ""),
            owner_id=visitor_of(request).account_id,
            choices={each: str(request.data.get(each) or "") for each in NAMES},
        )
        if isinstance(question, Outcome):
            return _upload_response(question)
        return UploadAnswer(question, _upload_response)


def _upload_response(end: Outcome | ApplicationError) -> HttpResponse:
    if isinstance(end, ApplicationError):
        return refused(end)
    if end.scenario_id is not None:
        scenario = (
            Scenario.objects.select_related("owner").defer("document").get(pk=end.scenario_id)
        )
        return JsonResponse({**_scenario_dict(scenario), "report": asdict(end.report)}, status=201)
    problems = [
        {
            "file": each.file,
            "document": each.document,
            "line": each.line,
            "field": each.field,
            "value": each.value,
            "message": each.message,
        }
        for file in end.report.files
        for each in file.problems
    ]
    told = {"problems": problems, "skipped": end.report.skipped}
    return refused(ApplicationError(gettext("Nothing was saved."), told, 422))


class ScenarioDetail(RestView):
    """One scenario."""

    @extend_schema(responses=OpenApiResponse(OpenApiTypes.OBJECT, "the scenario"))
    def get(self, request: Request, scenario_id: int) -> Response:
        """The scenario, without its objects."""
        return Response(_scenario_dict(found_scenario(request, scenario_id)))

    @extend_schema(request=Sharing, responses=OpenApiResponse(OpenApiTypes.OBJECT, "the scenario"))
    @once()
    def patch(self, request: Request, scenario_id: int) -> Response:
        """Change who may see it."""
        scenario = found_scenario(request, scenario_id, to_change=True)
        services.owned_share(thing=scenario, visibility=wanted_visibility(request))
        return Response(_scenario_dict(scenario))

    @extend_schema(responses={204: None})
    @once()
    def delete(self, request: Request, scenario_id: int) -> Response:
        """Delete an uploaded scenario that has no run."""
        services.scenario_delete(scenario=found_scenario(request, scenario_id, to_change=True))
        return Response(status=204)


def _scenario_dict(scenario: Scenario) -> dict[str, Any]:
    return {
        "id": scenario.pk,
        "name": scenario.name,
        "question": scenario.question,
        "is_demo": scenario.is_demo,
        "owner": scenario.owner.get_username() if scenario.owner else "",
        "visibility": scenario.visibility,
        "bytes": scenario.bytes,
        "summary": scenario.summary,
    }
