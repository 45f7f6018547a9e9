"""The REST API of the small picture of a run, as lists of runs and the gallery show it."""

import orjson
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request

from engine.diagnosis.story.thumbnail import FAILURES, HEIGHT, WIDTH, shapes_of
from kscope.runs.access import found_run
from kscope.runs.models import RunEvent
from kscope.runs.web.rest import RestView
from scheduling.timeline.kept import TRACES

# As many as a picture of that width can show; more would lie over each other.
_MOST_FAILURES = 1_000


class RunDrawing(RestView):
    """A run as a small picture."""

    @extend_schema(
        operation_id="runs_drawing",
        responses=inline_serializer(
            "RunDrawing",
            {
                "width": serializers.IntegerField(),
                "height": serializers.IntegerField(),
                "shapes": serializers.ListField(
                    child=serializers.ListField(child=serializers.JSONField())
                ),
            },
        ),
    )
    def get(self, request: Request, run_id: int) -> HttpResponse:
        """Rectangles in a picture of `width` × `height`: each is what it stands for, x, y, width, height.

        Rows are the pods and claims that waited longest, from left to right in time: w waits, b
        backs off, g is gated, t is tried, p is promised, s starts, r runs, e ends, f is a failure.
        """
        run = found_run(request, run_id)
        with TRACES.of(run) as trace:
            failed = RunEvent.objects.filter(run=run, seq__lte=trace.seq, kind__in=FAILURES)
            failures = failed.order_by("seq").values_list("object", "at")[:_MOST_FAILURES]
            shapes = [[*shape] for shape in shapes_of(trace, failures)]
        answer = {"width": WIDTH, "height": HEIGHT, "shapes": shapes}
        return HttpResponse(orjson.dumps(answer), content_type="application/json")
