"""The REST API of the timeline."""

from typing import Any

import orjson
from django.http import HttpResponse
from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from engine.diagnosis.trace.answer import Timeline
from engine.diagnosis.trace.layout import Asked
from engine.diagnosis.trace.timeline import Head, View, timeline_of
from kscope.runs.access import found_run
from kscope.runs.errors import ApplicationError
from kscope.runs.languages.reader import said
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import check_seq
from kscope.runs.web.contract.answer_schema import answer_schema
from kscope.runs.web.contract.queries import entity_name, one_of, query, switch, whole, words
from kscope.runs.web.rest import RestView
from scheduling.paths import StoredRecord
from scheduling.timeline.kept import TRACES

WIDEST = 4_000
MOST_ROWS = 200
_USUAL_WIDTH, _USUAL_ROWS = 1_000, 60
_BY = ("objects", "components")


_QUERY = query(
    "TimelineQuery",
    {
        "from": whole("begin, in virtual ns; 0 when absent"),
        "to": whole("end, in virtual ns; the head when absent"),
        "width": whole(f"in pixels; default: {_USUAL_WIDTH}", least=1, most=WIDEST),
        "by": one_of(_BY, "what a row is; default: objects"),
        "q": words("part of the names wanted"),
        "seq": whole("sums up to this event; newest when absent"),
        "pod": words("NAMESPACE/NAME: its path comes first, with arrows"),
        "open": words("keys of open rows, separated by commas"),
        "wait": whole("only pods that waited so many ns or more"),
        "kubernetes": switch("1: only Kubernetes Events"),
        "first": whole("the first row wanted, from 0"),
        "rows": whole(f"how many rows; default: {_USUAL_ROWS}", least=1, most=MOST_ROWS),
    },
)


class RunTimeline(RestView):
    """What each object was when, for a window of time and of rows."""

    @extend_schema(
        operation_id="runs_timeline",
        parameters=[_QUERY],
        responses=answer_schema(Timeline, "Timeline"),
    )
    def get(self, request: Request, run_id: int) -> HttpResponse:
        """Rows with bars or areas; docs/timeline.md says how they are read."""
        run = found_run(request, run_id)
        head, asked = _head(self.asked, run), _asked(self.asked)
        view = _view(self.asked, run)
        with TRACES.of(run) as trace:
            record = StoredRecord(run, head.shown_seq)
            answer = timeline_of(trace, record, asked, view, head)
        return HttpResponse(orjson.dumps(said(answer)), content_type="application/json")


def _head(given: dict[str, Any], run: Run) -> Head:
    seq = given["seq"]
    if seq is None or seq == run.head_seq:
        return Head(run.head_seq, run.head_at, run.head_seq, run.head_at)
    check_seq(run, seq)
    at = RunEvent.objects.filter(run_id=run.pk, seq=seq).values_list("at", flat=True).first()
    return Head(run.head_seq, run.head_at, seq, at or 0)


def _asked(given: dict[str, Any]) -> Asked:
    return Asked(
        by_components=given["by"] == "components",
        text=(given["q"] or "").strip(),
        open_rows=frozenset(filter(None, (given["open"] or "").split(","))),
        least_wait=given["wait"] or 0,
        only_events=bool(given["kubernetes"]),
    )


def _view(given: dict[str, Any], run: Run) -> View:
    start, end = given["from"] or 0, given["to"]
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
        width=given["width"] or _USUAL_WIDTH,
        first=given["first"] or 0,
        rows=given["rows"] or _USUAL_ROWS,
        pod=f"pod/{pod}" if (pod := entity_name(given, "pod")) else "",
    )
