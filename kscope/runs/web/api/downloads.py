"""A scenario as a file that can be read again."""

import re
from typing import Any

import orjson
import yaml
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from engine.input.scenario import Scenario as Loaded
from engine.input.written import documents_of
from kscope.accounts.access import visitor_of
from kscope.runs.access import found_scenario
from kscope.runs.aside import Question
from kscope.runs.hidden_values import without_hidden
from kscope.runs.models import KeptEvidence, Scenario
from kscope.runs.stream.export import CONTENT_TYPES
from kscope.runs.web.answers import EngineAnswer, EngineView
from kscope.runs.web.contract.media import ExportRenderer

SECONDS = 300.0


class ScenarioDownload(EngineView):
    """A scenario as YAML."""

    renderer_classes = (ExportRenderer.of("yaml"),)

    @extend_schema(
        operation_id="scenarios_download", responses={(200, "application/yaml"): OpenApiTypes.STR}
    )
    def get(self, request: Request, scenario_id: int) -> HttpResponse:
        """Its header and objects; an upload of it is the same scenario: docs/scenario-format.md.

        Values that may be secret are in it for those who may change the scenario.
        """
        scenario, visitor = found_scenario(request, scenario_id), visitor_of(request)
        sees_values = scenario.is_demo or visitor.may_change(scenario)
        arguments = {"scenario_id": scenario.pk, "sees_values": sees_values}
        question = Question(scenario_written, arguments, 0, seconds=SECONDS)
        answer = EngineAnswer(question, lambda text: (orjson.loads(text), CONTENT_TYPES["yaml"]))
        # A name may hold what a header may not.
        name = re.sub(r"[^\w.-]+", "-", scenario.name, flags=re.ASCII)
        answer["Content-Disposition"] = f'attachment; filename="{name}.yaml"'
        return answer


def scenario_written(scenario_id: int, sees_values: bool) -> str:
    """The YAML of a scenario. For a process beside the web process."""
    scenario = Scenario.objects.get(pk=scenario_id)
    kept = KeptEvidence.objects.filter(pk=scenario_id).first()
    loaded = Loaded.from_dict(scenario.document)
    documents: list[Any] = [*documents_of(loaded, kept.objects_aside if kept else ())]
    shown = documents if sees_values else without_hidden(documents)
    # YAML knows no texts that remember their pattern.
    plain = orjson.loads(orjson.dumps(shown))
    return yaml.dump_all(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
