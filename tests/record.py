"""Changes of what is on record, which kscope itself never makes: for tests of who reads it."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.models import F

from kscope.runs.models import EventChunk, HistoryPart, RunEvent
from kscope.runs.record.chunks import BLOCK, chunk_add

_NAMES = ("seq", "at", "kind", "object", "component", "cause", "message", "data", "changes")
_SELECT = (
    "SELECT seq, at, kind, object, component, cause, message, data_text, changes_text"
    " FROM runs_runevent WHERE run_id = %s ORDER BY seq"
)
_Row = dict[str, Any]


def events_put(run_id: int, events: Iterable[RunEvent]) -> None:
    """Put *events* after those that the run has."""
    added = [{name: getattr(event, name) for name in _NAMES} for event in events]
    for event in added:
        for name in ("data", "changes"):
            event[name] = _json(event[name])
    _rewrite(run_id, lambda rows: [*rows, *added])


def events_change(run_id: int, seqs: Sequence[int], **columns: Any) -> None:
    """Give those events other values."""

    def changed(rows: list[_Row]) -> list[_Row]:
        return [{**row, **columns} if row["seq"] in seqs else row for row in rows]

    _rewrite(run_id, changed)


def events_remove(run_id: int, are_gone: Callable[[int], bool]) -> None:
    """Remove the events for whose numbers *are_gone* is true."""
    _rewrite(run_id, lambda rows: [row for row in rows if not are_gone(row["seq"])])


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


def _rewrite(run_id: int, change: Callable[[list[_Row]], list[_Row]]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_SELECT, [run_id])
        rows = change([dict(zip(_NAMES, row, strict=True)) for row in cursor.fetchall()])
        # All events become the run's own: those that a fork reads belong to another run.
        EventChunk.objects.filter(run_id=run_id).delete()
        HistoryPart.objects.filter(run_id=run_id).update(upto=F("after"))
        # A row of the record has no gaps, and is of one block.
        places = {
            row["seq"]: (row["seq"] - i, (row["seq"] - 1) // BLOCK) for i, row in enumerate(rows)
        }
        for _, piece in groupby(rows, lambda row: places[row["seq"]]):
            chunk_add(connection.connection, run_id, [[*row.values()] for row in piece])
