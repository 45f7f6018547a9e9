"""What a run recorded: its state at an instant, its events, objects and statistics."""

import json
import re
from typing import Any

import orjson
import yaml
from django.db import connection
from django.http import HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from kscope.accounts.access import visitor_of
from kscope.runs import selectors
from kscope.runs.access import found_run, may_see_values
from kscope.runs.aside import Question
from kscope.runs.capacity import requests_at_once
from kscope.runs.errors import ApplicationError
from kscope.runs.hidden_values import without_hidden
from kscope.runs.manifest_edits import without_managers
from kscope.runs.models import Run
from kscope.runs.stream.counters import run_counters
from kscope.runs.stream.export import CONTENT_TYPES, event_json, event_lines, event_query
from kscope.runs.web.answers import EngineAnswer, EngineView
from kscope.runs.web.api.parameters import whole_number
from kscope.runs.web.past import object_at, object_now
from kscope.runs.web.rest import RestView

MOST_EVENTS = 1_000


class RunState(RestView):
    """The view state at any instant."""

    @extend_schema(
        parameters=[
            OpenApiParameter("seq", int, description="after this event; the head when absent"),
            OpenApiParameter("at", int, description="or at this virtual time, in nanoseconds"),
        ],
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "{seq, at, state, events}"),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Folded from the nearest checkpoint."""
        run = found_run(request, run_id)
        seq, at = whole_number(request, "seq"), whole_number(request, "at")
        if seq is None:
            seq = run.head_seq if at is None else selectors.run_seq_at(run, at=at)
        instant = selectors.run_state_at(run, seq=seq)
        return Response(
            {
                "seq": instant.seq,
                "at": instant.at,
                "state": instant.state,
                "events": selectors.run_newest_events(run, seq=seq),
            }
        )


_EVENT_PARAMETERS = [
    OpenApiParameter("after", int, description="only events with a higher seq"),
    OpenApiParameter("before", int, description="only events with a lower seq"),
    OpenApiParameter("limit", int, description=f"at most so many; {MOST_EVENTS} for json"),
    OpenApiParameter("kind", str, description="kinds, separated by commas"),
    OpenApiParameter("object", str, description="entity id; one that ends in / or * is a prefix"),
    OpenApiParameter("changes", str, description="entity id whose attributes the event changed"),
    OpenApiParameter("component", str, description="components, separated by commas"),
    OpenApiParameter("from", int, description="virtual nanoseconds, included"),
    OpenApiParameter("to", int, description="virtual nanoseconds, included"),
    OpenApiParameter("text", str, description="part of the message"),
    OpenApiParameter("kubernetes", int, enum=[0, 1], description="1: only Kubernetes Events"),
    OpenApiParameter("order", str, enum=["asc", "desc"]),
    OpenApiParameter("format", str, enum=["json", "ndjson", "csv"]),
]


class RunEvents(RestView):
    """The event timeline: a page of JSON with a cursor, or the whole of it as a stream."""

    @extend_schema(
        parameters=_EVENT_PARAMETERS,
        responses=OpenApiResponse(
            OpenApiTypes.OBJECT, "{run, lowest, highest, events, next}, or a stream of events"
        ),
    )
    def get(self, request: Request, run_id: int) -> Response | StreamingHttpResponse:
        """Events that match, in order of seq."""
        run = found_run(request, run_id)
        form = request.query_params.get("format", "json")
        if form not in CONTENT_TYPES:
            raise ApplicationError(
                gettext("format is {format}; it must be json, ndjson or csv").format(
                    format=repr(form)
                )
            )
        order = request.query_params.get("order", "asc")
        if order not in ("asc", "desc"):
            raise ApplicationError(
                gettext("order is {order}; it must be asc or desc").format(order=repr(order))
            )
        wanted = _event_filter(request)
        limit = whole_number(request, "limit")
        descending = order == "desc"
        if form == "json":
            return Response(_event_page(run, wanted, descending=descending, limit=limit))
        query = event_query(run, wanted, descending=descending, limit=limit)
        lines = event_lines(query, form, requests_at_once.asker())
        response = StreamingHttpResponse(lines, content_type=CONTENT_TYPES[form])
        # A name may hold what a header may not.
        name = re.sub(r"[^\w.-]+", "-", f"{run.name}-{run.pk}-events.{form}")
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response


def _event_filter(request: Request) -> selectors.EventFilter:
    texts = request.query_params
    return selectors.EventFilter(
        after=whole_number(request, "after"),
        before=whole_number(request, "before"),
        kinds=tuple(filter(None, texts.get("kind", "").split(","))),
        object=texts.get("object", ""),
        changes=texts.get("changes", ""),
        components=tuple(filter(None, texts.get("component", "").split(","))),
        from_at=whole_number(request, "from"),
        to_at=whole_number(request, "to"),
        text=texts.get("text", ""),
        kubernetes=bool(whole_number(request, "kubernetes")),
    )


def _event_page(
    run: Run, wanted: selectors.EventFilter, *, descending: bool, limit: int | None
) -> dict[str, Any]:
    """A page; `next` is the `after` (or, newest first, the `before`) of the page that follows."""
    size = min(limit or 100, MOST_EVENTS)
    query = event_query(run, wanted, descending=descending, limit=size + 1)
    rows: list[tuple[Any, ...]] = []
    if query is not None:
        with connection.cursor() as cursor:
            cursor.execute(*query)
            rows = cursor.fetchall()
    page = rows[:size]
    return {
        "run": run.pk,
        **selectors.run_bounds(run),
        "events": selectors.with_evictors(run, [orjson.loads(event_json(row)) for row in page]),
        "next": page[-1][0] if len(rows) > size else None,
    }


class RunHistogram(RestView):
    """How busy the run was when."""

    @extend_schema(
        parameters=[OpenApiParameter("buckets", int)],
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "{from, to, counts, marks}"),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Events per equal part of its time."""
        buckets = min(max(whole_number(request, "buckets") or 120, 1), 1_000)
        return Response(selectors.run_histogram(found_run(request, run_id), buckets=buckets))


class RunCounters(RestView):
    """How many pods waited where, and how many were bound, in the seconds before an event."""

    @extend_schema(
        parameters=[
            OpenApiParameter("seq", int, description="up to this event; the newest when absent")
        ],
        responses=OpenApiResponse(
            OpenApiTypes.OBJECT, "{seq, since, samples}, see docs/streaming.md"
        ),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Samples of the last 21 seconds of virtual time, on a grid of a tenth of a second."""
        run = found_run(request, run_id)
        seq = whole_number(request, "seq")
        return Response(run_counters(run, seq=run.head_seq if seq is None else seq))


class RunObject(EngineView):
    """One object's manifest, now or at any event."""

    @extend_schema(
        parameters=[
            OpenApiParameter("seq", int, description="after this event; newest when absent"),
            OpenApiParameter("format", str, enum=["json", "yaml"]),
        ],
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "the manifest"),
    )
    def get(self, request: Request, run_id: int, entity: str) -> HttpResponse:
        """The manifest as the simulated API server held it, without managed fields."""
        form = request.query_params.get("format", "json")
        if form not in ("json", "yaml"):
            raise ApplicationError(
                gettext("format is {format}; it must be json or yaml").format(format=repr(form))
            )
        run, seq = found_run(request, run_id), whole_number(request, "seq")
        sees_values = may_see_values(visitor_of(request), run)

        def show(manifest: Any) -> tuple[bytes | str, str]:
            if manifest is None:
                words = gettext("{entity} does not exist after event {seq}")
                if seq is None:
                    words = gettext("{entity} does not exist now")
                raise ApplicationError(words.format(entity=entity, seq=seq), status=404)
            manifest = without_managers(manifest)
            if not sees_values:
                manifest = without_hidden(manifest)
            if form == "json":
                return JSONRenderer().render(manifest), CONTENT_TYPES["json"]
            # Sorted, as kubectl does it.
            return yaml.safe_dump(manifest, allow_unicode=True), "text/plain; charset=utf-8"

        found = object_now(run, entity) if seq is None else object_at(run, entity, seq=seq)
        if isinstance(found, Question):
            return EngineAnswer(found, lambda text: show(json.loads(text)))
        content, content_type = show(found)
        return HttpResponse(content, content_type=content_type)
