"""Windows of the rows of a run's lists: searched, filtered and sorted by the server."""

from typing import Any

from django.http import Http404
from django.utils.translation import gettext
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kscope.runs.access import found_run
from kscope.runs.errors import ApplicationError
from kscope.runs.rows.kept import SHEETS
from kscope.runs.rows.sheet import SORTS
from kscope.runs.rows.table import Wanted, Window
from kscope.runs.selectors import check_seq
from kscope.runs.web.api.parameters import whole_number
from kscope.runs.web.rest import RestView

USUAL_ROWS = 50
MOST_ROWS = 500
# Names are shorter.
LONGEST_SEARCH = 300
_ORDERS = ("asc", "desc")

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
        parameters=[
            OpenApiParameter("kind", str, OpenApiParameter.PATH, enum=[*SORTS]),
            OpenApiParameter("seq", int, description="after this event; the newest when absent"),
            OpenApiParameter("search", str, description="part of the names wanted"),
            OpenApiParameter("state", str, description="states, separated by commas"),
            OpenApiParameter("sort", str, description="docs/browser-model.md has them"),
            OpenApiParameter("order", str, enum=_ORDERS),
            OpenApiParameter("from", int, description="the first row wanted, from 0"),
            OpenApiParameter("count", int, description=f"how many, at most {MOST_ROWS}"),
            OpenApiParameter("around", str, description="or the window with this entity id"),
        ],
        responses=inline_serializer("RowWindow", _WINDOW),
    )
    def get(self, request: Request, run_id: int, kind: str) -> Response:
        """Rows in a stable order, how many match, and how many of them are in each state."""
        run = found_run(request, run_id)
        if kind not in SORTS:
            raise Http404
        wanted = _wanted(request, kind)
        given = whole_number(request, "seq")
        seq = run.head_seq if given is None else given
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


def _wanted(request: Request, kind: str) -> Wanted:
    texts = request.query_params
    search = texts.get("search", "")
    if len(search) > LONGEST_SEARCH:
        raise ApplicationError(
            gettext("search is longer than {most} characters").format(most=LONGEST_SEARCH)
        )
    return Wanted(
        search=search,
        states=frozenset(filter(None, texts.get("state", "").split(","))),
        sort=_one_of(request, "sort", tuple(SORTS[kind])),
        is_descending=_one_of(request, "order", _ORDERS) == "desc",
        first=whole_number(request, "from") or 0,
        count=_count(request),
        around=texts.get("around", ""),
    )


def _count(request: Request) -> int:
    count = whole_number(request, "count")
    if count is not None and not 1 <= count <= MOST_ROWS:
        raise ApplicationError(
            gettext("{name} is {given}; it must be between 1 and {most}").format(
                name="count", given=count, most=MOST_ROWS
            )
        )
    return USUAL_ROWS if count is None else count


def _one_of(request: Request, name: str, known: tuple[str, ...]) -> str:
    """A parameter that must be one of the *known*; the first of them when absent."""
    given = request.query_params.get(name, "") or known[0]
    if given not in known:
        raise ApplicationError(
            gettext("{name} is {given}; it must be one of {known}").format(
                name=name, given=repr(given), known=", ".join(known)
            )
        )
    return given
