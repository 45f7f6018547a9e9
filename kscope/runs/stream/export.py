"""The event timeline as JSON, NDJSON or CSV, streamed from a server-side cursor."""

import csv
import io
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncIterator
from typing import Any
from weakref import WeakKeyDictionary

import orjson
from django.core.exceptions import EmptyResultSet
from django.db import connection

from kscope.runs.capacity.fair_queue import Key
from kscope.runs.capacity.places import Places
from kscope.runs.capacity.requests_at_once import NOBODY
from kscope.runs.models import Run
from kscope.runs.selectors import EventFilter
from kscope.runs.stream.streaming import connect

COLUMNS = ("seq", "at", "kind", "object", "component", "cause", "message", "data", "changes")
CONTENT_TYPES = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "yaml": "application/yaml",
}
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
    if form == "csv":
        yield _csv_rows([COLUMNS])
    if query is None:
        return
    encode = _csv_rows if form == "csv" else _ndjson_rows
    async with (
        _turns().hold(asker),
        await connect() as link,
        link.transaction(),
        link.cursor(name="export") as cursor,
    ):
        await cursor.execute(query[0].encode(), query[1])
        while rows := await cursor.fetchmany(_BATCH):
            yield encode(rows)


def _turns() -> Places:
    return _places.setdefault(get_running_loop(), Places(AT_ONCE, wait_seconds=WAIT_SECONDS))


def event_json(row: tuple[Any, ...]) -> bytes:
    """One event as JSON."""
    event: dict[str, Any] = dict(zip(COLUMNS[:7], row[:7], strict=True))
    event["data"] = orjson.Fragment(row[7]) if row[7] else None
    event["changes"] = orjson.Fragment(row[8]) if row[8] else None
    return orjson.dumps(event)


def _ndjson_rows(rows: list[tuple[Any, ...]]) -> bytes:
    return b"".join(event_json(row) + b"\n" for row in rows)


def _csv_rows(rows: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(
        [_harmless(cell) for cell in row] for row in rows
    )
    return text.getvalue().encode()


def _harmless(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets a quote in front."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") else cell
