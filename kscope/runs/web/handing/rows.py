"""What an export reads of the database, piece by piece: events, evidence, objects."""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.models import QuerySet

from engine.kernel.recorder import EventRow, encode
from kscope.exports.manifests import is_written, rank
from kscope.runs.app_registry import registry
from kscope.runs.models import Command, OtherObject, Run, RunEvent

BATCH = 1_000
_EVENTS = (
    "SELECT seq, at, kind, object, component, cause, message, data_text, changes_text"
    " FROM events_between(%s, %s, %s) ORDER BY seq"
)


def event_rows(run_id: int, upto: int) -> Iterator[list[EventRow]]:
    """The events up to *upto*, encoded as the engine did it: the database orders keys its own way."""
    after = 0
    while after < upto:
        with connection.cursor() as cursor:
            cursor.execute(_EVENTS, [run_id, after, min(upto, after + BATCH)])
            rows = [_row(each) for each in cursor.fetchall()]
        if not rows:
            return
        yield rows
        after = rows[-1].seq


def _row(found: Sequence[Any]) -> EventRow:
    seq, at, kind, entity, component, cause, message, *texts = found
    data, changes = (encode(orjson.loads(text)) if text else None for text in texts)
    return EventRow(seq, at, kind, entity, component, cause, message, data, changes)


def extender_answers(run_id: int, upto: int) -> list[dict[str, Any]]:
    """What scheduler extenders answered, which a replay does not ask again."""
    called = RunEvent.objects.filter(run_id=run_id, kind="ExtenderCalled", seq__lte=upto)
    return [*called.order_by("seq").values_list("data", flat=True)]


def recorded_commands(run: Run) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The steps, the time and the body of each command that the run has carried out."""
    done = Command.objects.filter(run=run, ordinal__lte=run.head_commands).order_by("ordinal")
    for steps, at, body in done.values_list("position", "at", "body").iterator(BATCH):
        yield steps or 0, at or 0, body


def newest_manifests(run_id: int) -> Iterator[dict[str, Any]]:
    """The objects as they are now, kind by kind in the order in which they need each other."""
    with transaction.atomic():
        for _, rows in sorted(_kinds(run_id), key=lambda each: rank(each[0])):
            found = rows.order_by("created_seq", "key").values_list("manifest", flat=True)
            yield from found.iterator(BATCH)


def _kinds(run_id: int) -> Iterator[tuple[str, QuerySet[Any]]]:
    """The kinds of objects that are written, each with its rows."""
    for model in registry.projections.values():
        rows = model.objects.filter(run_id=run_id)
        first = rows.values_list("manifest", flat=True).first()
        if first is not None:
            yield first["kind"], rows
    others = OtherObject.objects.filter(run_id=run_id)
    for kind in others.order_by("kind").values_list("kind", flat=True).distinct():
        if is_written(kind):
            yield kind, others.filter(kind=kind)
