"""What goes when a run is deleted: of a history that forks read, what none of them reads."""

from collections.abc import Sequence

from django.db import connection

from kscope.runs.app_registry import registry
from kscope.runs.history.keyframes import chunks_forget
from kscope.runs.models import (
    Checkpoint,
    Keyframe,
    ManifestDictionary,
    RemovedObject,
    Run,
    ViewChunk,
)
from kscope.runs.record.chunks import events_cut
from kscope.runs.record.parts import Part, last_read, sources_lock

_TABLES = (Checkpoint, Keyframe, ManifestDictionary, RemovedObject)


def histories_release(run_id: int, read: Sequence[Part]) -> None:
    """Delete what nobody reads any more of the run *run_id*, which is gone, and of what it *read*.

    In the transaction that deletes it.
    """
    sources = [part.source for part in read]
    sources_lock(sources)
    there = set(Run.objects.filter(pk__in=sources).values_list("pk", flat=True))
    for part in read:
        last = last_read(part.source)
        # Of what was deleted before, nothing beyond what was read is left.
        is_as_before = part.source != run_id and last is not None and part.upto <= last
        if part.source not in there and not is_as_before:
            _release(part.source, last)


def _release(source: int, last: int | None) -> None:
    # Before the first event there may be rows of the first state.
    upto = -1 if last is None else last
    events_cut(source, upto)
    for table in (*(each._meta.db_table for each in _TABLES), *registry.histories):
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table} WHERE run_id = %s AND seq > %s", [source, upto])
    if last is None:
        ViewChunk.objects.filter(run_id=source).delete()
    else:
        chunks_forget(source)
