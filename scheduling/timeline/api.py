"""The REST API of the timeline."""

from typing import Any

import orjson
from django.http import HttpResponse
from django.utils.translation import gettext
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from engine.diagnosis.trace.answer import Timeline
from engine.diagnosis.trace.layout import Asked
from engine.diagnosis.trace.timeline import Head, View, timeline_of
from kscope.runs.access import found_run
from kscope.runs.errors import ApplicationError
from kscope.runs.languages.reader import said
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import check_seq
from kscope.runs.web.api.answer_schema import answer_schema
from kscope.runs.web.api.parameters import whole_number
from kscope.runs.web.rest import RestView
from scheduling.paths import StoredRecord
from scheduling.timeline.kept import TRACES

WIDEST = 4_000
MOST_ROWS = 200
_USUAL_WIDTH, _USUAL_ROWS = 1_000, 60
_BY = ("objects", "components")


class RunTimeline(RestView):
    """What each object was when, for a window of time and of rows."""

    @extend_schema(
        operation_id="runs_timeline",
        parameters=[
            OpenApiParameter("from", int, description="begin, in virtual ns; 0 when absent"),
            OpenApiParameter("to", int, description="end, in virtual ns; the head when absent"),
            OpenApiParameter("width", int, description=f"in pixels, at most {WIDEST}"),
            OpenApiParameter("by", str, enum=_BY, description="what a row is"),
            OpenApiParameter("q", str, description="part of the names wanted"),
            OpenApiParameter("seq", int, description="sums up to this event; newest when absent"),
            OpenApiParameter("pod", str, description="NS/NAME: its path comes first, with arrows"),
            OpenApiParameter("open", str, description="keys of open rows, separated by commas"),
            OpenApiParameter("wait", int, description="only pods that waited so many ns or more"),
            OpenApiParameter("kubernetes", int, enum=[0, 1], description="1: Kubernetes Events"),
            OpenApiParameter("first", int, description="the first row wanted, from 0"),
            OpenApiParameter("rows", int, description=f"how many rows, at most {MOST_ROWS}"),
        ],
        responses=answer_schema(Timeline, "Timeline"),
    )
    def get(self, request: Request, run_id: int) -> HttpResponse:
        """Rows with bars or areas; docs/timeline.md says how they are read."""
        run = found_run(request, run_id)
        head, asked, view = _head(request, run), _asked(request), _view(request, run)
        with TRACES.of(run) as trace:
            record = StoredRecord(run, head.shown_seq)
            answer = timeline_of(trace, record, asked, view, head)
        return HttpResponse(orjson.dumps(said(answer)), content_type="application/json")


def _head(request: Request, run: Run) -> Head:
    seq = whole_number(request, "seq")
    if seq is None or seq == run.head_seq:
        return Head(run.head_seq, run.head_at, run.head_seq, run.head_at)
    check_seq(run, seq)
    at = RunEvent.objects.filter(run_id=run.pk, seq=seq).values_list("at", flat=True).first()
    return Head(run.head_seq, run.head_at, seq, at or 0)


def _asked(request: Request) -> Asked:
    texts = request.query_params
    by = texts.get("by", "objects")
    if by not in _BY:
        raise ApplicationError(
            gettext("by is {by}; it must be objects or components").format(by=repr(by))
        )
    return Asked(
        by_components=by == "components",
        text=texts.get("q", "").strip(),
        open_rows=frozenset(filter(None, texts.get("open", "").split(","))),
        least_wait=whole_number(request, "wait") or 0,
        only_events=bool(whole_number(request, "kubernetes")),
    )


def _view(request: Request, run: Run) -> View:
    start = whole_number(request, "from") or 0
    end = whole_number(request, "to")
    if end is None:
        end = max(run.head_at, start + 1)
    if end <= start:
        raise ApplicationError(
            gettext("to is {end}; it must be later than from, which is {start}").format(
                end=end, start=start
            )
        )
    return View(
        start,
        end,
        width=_within(request, "width", _USUAL_WIDTH, WIDEST),
        first=whole_number(request, "first") or 0,
        rows=_within(request, "rows", _USUAL_ROWS, MOST_ROWS),
        pod=_pod(request),
    )


def _within(request: Request, name: str, usual: int, most: int) -> int:
    given = whole_number(request, name)
    if given is not None and not 1 <= given <= most:
        raise ApplicationError(
            gettext("{name} is {given}; it must be between 1 and {most}").format(
                name=name, given=given, most=most
            )
        )
    return usual if given is None else given


def _pod(request: Request) -> str:
    key: Any = request.query_params.get("pod", "").removeprefix("pod/")
    return f"pod/{key}" if key else ""
