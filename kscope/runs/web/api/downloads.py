"""A scenario as a file that can be read again."""

import re
from typing import Any, Literal, TypedDict

import orjson
import yaml
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from engine.input.formats.written import list_of
from kscope.accounts.access import visitor_of
from kscope.runs.access import found_scenario
from kscope.runs.aside import Question
from kscope.runs.contents import items_of, loaded_of
from kscope.runs.hidden_values import without_hidden
from kscope.runs.models import Scenario
from kscope.runs.stream.export import CONTENT_TYPES
from kscope.runs.web.answers import EngineAnswer, EngineView
from kscope.runs.web.contract.answer_schema import answer_class
from kscope.runs.web.contract.media import ExportRenderer, accepting
from kscope.runs.web.contract.queries import one_of, query
from kscope.runs.web.shapes.open import Manifest

SECONDS = 300.0


class ManifestList(TypedDict):
    """Objects in one document, as `kubectl get` prints several."""

    apiVersion: str
    kind: Literal["List"]
    items: list[Manifest]


class ScenarioDownload(EngineView):
    """A scenario as one document."""

    renderer_classes = (ExportRenderer.of("json"), ExportRenderer.of("yaml"))

    @extend_schema(
        operation_id="scenarios_download",
        parameters=[
            query(
                "DownloadQuery",
                {"format": one_of(("json", "yaml"), "default: what Accept names, else json")},
            )
        ],
        responses={
            (200, "application/json"): answer_class(ManifestList),
            (200, "application/yaml"): answer_class(ManifestList),
        },
    )
    def get(self, request: Request, scenario_id: int) -> HttpResponse:
        """Its header and objects in a List; an upload of it is the same scenario: docs/scenario-format.md.

        Values that may be secret are in it for those who may change the scenario.
        """
        scenario, visitor = found_scenario(request, scenario_id), visitor_of(request)
        sees_values = scenario.is_demo or visitor.may_change(scenario)
        form = self.asked["format"] or accepting(request)
        function = scenario_listed if form == "json" else scenario_written
        arguments = {"scenario_id": scenario.pk, "sees_values": sees_values}

        def show(text: bytes) -> tuple[bytes | str, str]:
            return text if form == "json" else orjson.loads(text), CONTENT_TYPES[form]

        answer = EngineAnswer(Question(function, arguments, 0, seconds=SECONDS), show)
        # A name may hold what a header may not.
        name = re.sub(r"[^\w.-]+", "-", scenario.name, flags=re.ASCII)
        answer["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
        return answer


def scenario_listed(scenario_id: int, sees_values: bool) -> dict[str, Any]:
    """A scenario as a List. For a process beside the web process."""
    loaded = loaded_of(Scenario.objects.get(pk=scenario_id))
    written = list_of(loaded, items_of(scenario_id, "objects_aside"))
    return written if sees_values else without_hidden(written)


def scenario_written(scenario_id: int, sees_values: bool) -> str:
    """The same in YAML."""
    # YAML knows no texts that remember their pattern.
    plain = orjson.loads(orjson.dumps(scenario_listed(scenario_id, sees_values)))
    return yaml.dump(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
