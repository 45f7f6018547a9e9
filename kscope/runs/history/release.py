"""What goes when a run is deleted: of a history that forks read, what none of them reads."""

from collections.abc import Iterable

from django.db import connection

from kscope.runs.app_registry import registry
from kscope.runs.history.keyframes import chunks_forget
from kscope.runs.models import Checkpoint, Keyframe, RemovedObject, Run, ViewChunk
from kscope.runs.record.chunks import events_cut
from kscope.runs.record.parts import last_read, sources_lock

_TABLES = (Checkpoint, Keyframe, RemovedObject)


def histories_release(sources: Iterable[int]) -> None:
    """Delete what nobody reads any more of those of *sources* that are no runs any more.

    In the transaction that deletes the last run which may have read it.
    """
    sources = list(sources)
    sources_lock(sources)
    there = set(Run.objects.filter(pk__in=sources).values_list("pk", flat=True))
    for source in sources:
        if source not in there:
            _release(source)


def _release(source: int) -> None:
    last = last_read(source)
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
