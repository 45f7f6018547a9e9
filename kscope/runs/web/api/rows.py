"""Windows of the rows of a run's lists: searched, filtered and sorted by the server."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kscope.runs.access import found_run
from kscope.runs.rows.kept import SHEETS
from kscope.runs.rows.sheet import SORTS
from kscope.runs.rows.table import Wanted, Window
from kscope.runs.selectors import check_seq
from kscope.runs.web.contract.queries import one_of, query, whole, words
from kscope.runs.web.rest import RestView

USUAL_ROWS = 50
MOST_ROWS = 500
# Names are shorter.
LONGEST_SEARCH = 300
_ALL_SORTS = sorted({sort for sorts in SORTS.values() for sort in sorts})
_QUERY = query(
    "RowQuery",
    {
        "seq": whole("after this event; the newest when absent"),
        "search": words("part of the names wanted", most=LONGEST_SEARCH),
        "state": words("states, separated by commas"),
        "sort": one_of(_ALL_SORTS, "docs/browser-model.md says which kind has which"),
        "order": one_of(("asc", "desc"), "default: asc"),
        "from": whole("the first row wanted, from 0"),
        "count": whole(f"how many; default: {USUAL_ROWS}", least=1, most=MOST_ROWS),
        "around": words("or the window with this entity id"),
    },
)
_ROW: dict[str, Any] = {
    "id": serializers.CharField(help_text="the entity id: pod/shop/web-1"),
    "state": serializers.CharField(help_text="in which state of its list it is"),
}
_WINDOW = {
    "seq": serializers.IntegerField(help_text="the event after which the rows are so"),
    "read": serializers.IntegerField(
        help_text="how far the history was read; until it is `seq` there are no rows: ask again"
    ),
    "first": serializers.IntegerField(help_text="the place of the first row, from 0"),
    "found": serializers.IntegerField(help_text="how many rows match"),
    "total": serializers.IntegerField(help_text="how many there are"),
    "counts": serializers.DictField(
        child=serializers.IntegerField(), help_text="by state, how many match the search"
    ),
    "rows": inline_serializer("ListRow", _ROW, many=True),
}


class RunRows(RestView):
    """A window of the pods, nodes, volumes or objects of a run after an event."""

    @extend_schema(
        operation_id="runs_rows",
        parameters=[OpenApiParameter("kind", str, OpenApiParameter.PATH, enum=[*SORTS]), _QUERY],
        responses=inline_serializer("RowWindow", _WINDOW),
    )
    def get(self, request: Request, run_id: int, kind: str) -> Response:
        """Rows in a stable order, how many match, and how many of them are in each state."""
        run = found_run(request, run_id)
        if kind not in SORTS:
            raise Http404
        wanted = _wanted(self.asked, kind)
        seq = run.head_seq if self.asked["seq"] is None else self.asked["seq"]
        check_seq(run, seq)
        at = run.head_at if seq == run.head_seq else 0
        with SHEETS.of(run, seq) as sheet:
            window = sheet.window(kind, wanted, at) if sheet.seq == seq else NOTHING_YET
            return Response(_answer(seq, sheet.seq, window))


NOTHING_YET = Window(0, [], 0, 0)


def _answer(seq: int, read: int, window: Window) -> dict[str, Any]:
    return {
        "seq": seq,
        "read": read,
        "first": window.first,
        "found": window.found,
        "total": window.total,
        "counts": window.counts,
        "rows": [{"id": row.id, "state": row.state} for row in window.rows],
    }


def _wanted(asked: dict[str, Any], kind: str) -> Wanted:
    known = tuple(SORTS[kind])
    sort = one_of(known).run_validation(asked["sort"] or known[0])
    return Wanted(
        search=asked["search"] or "",
        states=frozenset(filter(None, (asked["state"] or "").split(","))),
        sort=sort,
        is_descending=asked["order"] == "desc",
        first=asked["from"] or 0,
        count=asked["count"] or USUAL_ROWS,
        around=asked["around"] or "",
    )
