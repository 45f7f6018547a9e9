"""What a run recorded: its state at an instant, its events, objects, differences and statistics."""

import json
from typing import Any

import orjson
from django.db import connection
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from engine.objects.yaml_text import yaml_text
from kscope.accounts.access import visitor_of
from kscope.runs import selectors
from kscope.runs.access import found_run, may_see_values
from kscope.runs.aside import Question
from kscope.runs.capacity import requests_at_once
from kscope.runs.errors import ApplicationError
from kscope.runs.history.chunks import Part
from kscope.runs.stream.counters import run_counters
from kscope.runs.stream.export import CONTENT_TYPES, event_json, event_lines, event_query
from kscope.runs.stream.snapshots import parted, with_more
from kscope.runs.web.answers import EngineAnswer, EngineView, lines_sent, saved_as
from kscope.runs.web.contract.answer_schema import answer_class, answer_schema
from kscope.runs.web.contract.document import IF_NONE_MATCH
from kscope.runs.web.contract.media import ExportRenderer, accepting
from kscope.runs.web.contract.paging import Page, page_of, page_schema, paged
from kscope.runs.web.contract.queries import SEQ, Field, one_of, query, switch, whole, words
from kscope.runs.web.past import as_shown, object_at, object_now
from kscope.runs.web.rest import RestView
from kscope.runs.web.shapes.events import Counters, Event, Mark, StateAt, StateChange

MOST_EVENTS, USUAL_EVENTS = 1_000, 100


class RunState(RestView):
    """The view state at any instant."""

    @extend_schema(
        parameters=[
            query(
                "StateQuery",
                {
                    "seq": whole(SEQ),
                    "at": whole("or at this virtual time, in nanoseconds"),
                    "from": whole(
                        "only what differs from the state after this event, before or after the other"
                    ),
                    "to": whole("the same as seq"),
                    "only": words(
                        "kinds and ids of the entities wanted, separated by commas; default: all"
                    ),
                    "parts": switch("1: in parts, each a line of JSON"),
                },
            ),
            IF_NONE_MATCH,
        ],
        responses={
            (200, "application/json"): PolymorphicProxySerializer(
                component_name="StateAnswer",
                serializers=[answer_class(StateAt), answer_class(StateChange)],
                resource_type_field_name=None,
            ),
            (200, "application/x-ndjson"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request, run_id: int) -> HttpResponseBase:
        """The whole state; with `from` a merge patch that makes it of the state after that event."""
        run = found_run(request, run_id)
        seq, at, origin = self._wanted_seq(), self.asked["at"], self.asked["from"]
        self.lasts(run, seq)
        if seq is None:
            seq = run.head_seq if at is None else selectors.run_seq_at(run, at=at)
        place = {
            "seq": seq,
            "at": selectors.run_time_of(run, seq),
            "events": selectors.run_newest_events(run, seq=seq),
        }
        only = _names(self.asked["only"])
        part = Part.of(only) if only else None
        if origin is None:
            name, found = "state", selectors.run_state_texts(run, seq=seq, part=part)
        else:
            place["origin"] = origin
            name = "changes"
            found = selectors.run_state_patch(run, origin=origin, seq=seq, part=part)
        if self.asked["parts"]:
            later = b'{"%b":' % name.encode()
            first = orjson.dumps(place)[:-1] + b"," + later[1:]
            return lines_sent(with_more(parted(found), first, later))
        return HttpResponse(
            orjson.dumps({**place, name: found}), content_type=CONTENT_TYPES["json"]
        )

    def _wanted_seq(self) -> int | None:
        """The event that `seq` or `to` names. Raises ApplicationError where they differ."""
        seq, to = self.asked["seq"], self.asked["to"]
        if None not in (seq, to) and seq != to:
            raise ApplicationError(gettext("Give either seq or to: they name the same event."))
        return to if seq is None else seq


_FILTER: dict[str, Field] = {
    "after": whole("only events with a higher seq"),
    "before": whole("only events with a lower seq"),
    "kind": words("kinds, separated by commas"),
    "object": words("entity id; one that ends in / or * is a prefix"),
    "changes": words("entity id whose attributes the event changed"),
    "component": words("components, separated by commas"),
    "from": whole("virtual nanoseconds, included"),
    "to": whole("virtual nanoseconds, included"),
    "text": words("part of the message"),
    "kubernetes": switch("1: only Kubernetes Events"),
    "order": one_of(("asc", "desc"), "of seq; default: asc"),
}
_PAGE = page_schema(
    answer_class(Event),
    "EventPage",
    run=serializers.IntegerField(),
    lowest=serializers.IntegerField(help_text="seq of the oldest event of the run"),
    highest=serializers.IntegerField(help_text="seq of its newest event"),
)


def _event_filter(asked: dict[str, Any]) -> selectors.EventFilter:
    return selectors.EventFilter(
        after=asked["after"],
        before=asked["before"],
        kinds=_names(asked["kind"]),
        object=asked["object"] or "",
        changes=asked["changes"] or "",
        components=_names(asked["component"]),
        from_at=asked["from"],
        to_at=asked["to"],
        text=asked["text"] or "",
        kubernetes=bool(asked["kubernetes"]),
    )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (text or "").split(",")))


class RunEvents(RestView):
    """The event timeline, in pages."""

    @extend_schema(
        operation_id="runs_events_list",
        parameters=[
            query("EventQuery", {**_FILTER, **paged(MOST_EVENTS, USUAL_EVENTS)}),
            IF_NONE_MATCH,
        ],
        responses=_PAGE,
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Events that match, in order of seq. With `before` the answer never changes."""
        run, page = found_run(request, run_id), page_of(self.asked, USUAL_EVENTS)
        before: int | None = self.asked["before"]
        self.lasts(run, None if before is None else max(before - 1, 0))
        is_descending = self.asked["order"] == "desc"
        events, more = _page(run, _within(self.asked, page, is_descending), page, is_descending)
        shown = selectors.with_evictors(run, events)
        bounds = selectors.run_bounds(run)
        return Response({"run": run.pk, **bounds, "items": shown, "continue": more})


def _within(asked: dict[str, Any], page: Page, is_descending: bool) -> dict[str, Any]:
    """What is asked, from where the page before ended."""
    if page.after is None:
        return asked
    place, bound = int(page.after), asked["before" if is_descending else "after"]
    if is_descending:
        return {**asked, "before": place if bound is None else min(bound, place)}
    return {**asked, "after": place if bound is None else max(bound, place)}


def _page(
    run: Any, asked: dict[str, Any], page: Page, is_descending: bool
) -> tuple[list[dict[str, Any]], str | None]:
    wanted = _event_filter(asked)
    sql = event_query(run, wanted, descending=is_descending, limit=page.wanted)
    rows: list[tuple[Any, ...]] = []
    if sql is not None:
        with connection.cursor() as cursor:
            cursor.execute(*sql)
            rows = cursor.fetchall()
    found, more = page.cut(rows, lambda row: row[0])
    return [orjson.loads(event_json(row)) for row in found], more


class EventExport(RestView):
    """The whole event timeline, as a stream."""

    renderer_classes = (ExportRenderer.of("ndjson"), ExportRenderer.of("csv"))

    @extend_schema(
        operation_id="runs_events_export",
        parameters=[
            query(
                "ExportQuery",
                {
                    **_FILTER,
                    "limit": whole("at most so many events"),
                    "format": one_of(("ndjson", "csv"), "default: what Accept names, else ndjson"),
                },
            )
        ],
        responses={
            (200, "application/x-ndjson"): OpenApiTypes.STR,
            (200, "text/csv"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request, run_id: int) -> StreamingHttpResponse:
        """Events that match, in order of seq, one a line: docs/events.md."""
        run, form = found_run(request, run_id), self.asked["format"] or accepting(request)
        is_descending = self.asked["order"] == "desc"
        wanted, limit = _event_filter(self.asked), self.asked["limit"]
        sql = event_query(run, wanted, descending=is_descending, limit=limit)
        lines = event_lines(sql, form, requests_at_once.asker())
        response = StreamingHttpResponse(lines, content_type=CONTENT_TYPES[form])
        response["Content-Disposition"] = saved_as(run.name, f"-{run.pk}-events.{form}")
        return response


class RunHistogram(RestView):
    """How busy the run was when."""

    @extend_schema(
        parameters=[
            query("HistogramQuery", {"buckets": whole("default: 120", least=1, most=1_000)})
        ],
        responses=type(
            "Histogram",
            (serializers.Serializer,),
            {
                "from": serializers.IntegerField(help_text="virtual nanoseconds"),
                "to": serializers.IntegerField(help_text="virtual nanoseconds"),
                "counts": serializers.ListField(child=serializers.IntegerField()),
                "marks": answer_class(Mark)(many=True),
            },
        ),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Events per equal part of its time."""
        buckets = self.asked["buckets"] or 120
        return Response(selectors.run_histogram(found_run(request, run_id), buckets=buckets))


class RunCounters(RestView):
    """How many pods waited where, and how many were bound, in the seconds before an event."""

    @extend_schema(
        parameters=[query("CountersQuery", {"seq": whole(SEQ)}), IF_NONE_MATCH],
        responses=answer_schema(Counters),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Samples of the last 21 seconds of virtual time, on a grid of a tenth of a second."""
        run, seq = found_run(request, run_id), self.asked["seq"]
        self.lasts(run, seq)
        return Response(run_counters(run, seq=run.head_seq if seq is None else seq))


class RunObject(EngineView):
    """One object's manifest, now or at any event."""

    renderer_classes = (ExportRenderer.of("json"), ExportRenderer.of("yaml"))

    @extend_schema(
        parameters=[
            query(
                "ObjectQuery",
                {
                    "seq": whole(SEQ),
                    "format": one_of(("json", "yaml"), "default: what Accept names, else json"),
                },
            ),
            IF_NONE_MATCH,
        ],
        responses={
            (200, "application/json"): {"$ref": "#/components/schemas/Manifest"},
            (200, "application/yaml"): {"$ref": "#/components/schemas/Manifest"},
        },
    )
    def get(self, request: Request, run_id: int, entity: str) -> HttpResponse:
        """The manifest as the simulated API server held it, without managed fields."""
        run, seq = found_run(request, run_id), self.asked["seq"]
        form = self.asked["format"] or accepting(request)
        sees_values = may_see_values(visitor_of(request), run)
        self.lasts(run, seq)

        def show(manifest: Any) -> tuple[bytes | str, str]:
            if manifest is None:
                words = gettext("{entity} does not exist after event {seq}")
                if seq is None:
                    words = gettext("{entity} does not exist now")
                raise ApplicationError(words.format(entity=entity, seq=seq), status=404)
            shown = as_shown(manifest, sees_values=sees_values)
            if form == "json":
                return orjson.dumps(shown), CONTENT_TYPES["json"]
            return yaml_text(shown), CONTENT_TYPES["yaml"]

        found = object_now(run, entity) if seq is None else object_at(run, entity, seq=seq)
        if isinstance(found, Question):
            return EngineAnswer(found, lambda text: show(json.loads(text)))
        content, content_type = show(found)
        return HttpResponse(content, content_type=content_type)
