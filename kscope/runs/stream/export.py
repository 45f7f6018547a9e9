"""The event timeline as JSON, NDJSON or CSV, streamed from a server-side cursor.

Whole runs are exported by kscope/runs/web/handing; this is for a choice of events, as a table shows them.
"""

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncIterator
from typing import Any
from weakref import WeakKeyDictionary

from django.core.exceptions import EmptyResultSet
from django.db import connection

from engine.kernel.recorder import EventRow
from engine.run_file.writing import event_line
from kscope.exports.encoder import Heading
from kscope.exports.registry import FORMATS
from kscope.runs.capacity.fair_queue import Key
from kscope.runs.capacity.places import Places
from kscope.runs.capacity.requests_at_once import NOBODY
from kscope.runs.models import Run
from kscope.runs.selectors import EventFilter
from kscope.runs.stream.streaming import connect

COLUMNS = ("seq", "at", "kind", "object", "component", "cause", "message", "data", "changes")
CONTENT_TYPES = {
    **{name: FORMATS[name].media_type for name in ("ndjson", "csv")},
    "json": "application/json",
    "yaml": "application/yaml",
}
_NAMELESS = Heading(name="", profile="")
_BATCH = 1_000
AT_ONCE = 8  # each has a connection of its own for as long as its reader takes; others wait
WAIT_SECONDS = 3_600.0  # A slow reader waits no less than those before it take.
_places: "WeakKeyDictionary[AbstractEventLoop, Places]" = WeakKeyDictionary()


def event_query(
    run: Run, wanted: EventFilter, *, descending: bool, limit: int | None
) -> tuple[str, tuple[Any, ...]] | None:
    """SQL and parameters of the events, JSON columns as text; None when nothing can match."""
    from django.db.models import TextField
    from django.db.models.functions import Cast

    events = (
        wanted.apply(run)
        .order_by("-seq" if descending else "seq")
        .annotate(data_text=Cast("data", TextField()), changes_text=Cast("changes", TextField()))
        .values_list(*COLUMNS[:7], "data_text", "changes_text")
    )
    if limit is not None:
        events = events[:limit]
    try:
        return events.query.get_compiler(connection=connection).as_sql()
    except EmptyResultSet:
        return None


async def event_lines(
    query: tuple[str, tuple[Any, ...]] | None, form: str, asker: Key = NOBODY
) -> AsyncIterator[bytes]:
    """The export, some hundred events at a time. An async generator: nothing piles up in memory.

    *asker* is who takes turns with others.
    """
    encoder = FORMATS[form].encoder(_NAMELESS)
    if head := encoder.begin():
        yield head
    if query is None:
        return
    async with (
        _turns().hold(asker),
        await connect() as link,
        link.transaction(),
        link.cursor(name="export") as cursor,
    ):
        await cursor.execute(query[0].encode(), query[1])
        while rows := await cursor.fetchmany(_BATCH):
            yield encoder.take([EventRow(*row) for row in rows])


def _turns() -> Places:
    return _places.setdefault(get_running_loop(), Places(AT_ONCE, wait_seconds=WAIT_SECONDS))


def event_json(row: tuple[Any, ...]) -> bytes:
    """One event as JSON."""
    return event_line(EventRow(*row))
