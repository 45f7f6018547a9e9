"""Traces of runs, kept in this process and read on as the runs grow.

An answer reads at most AT_ONCE events, so that it takes bounded work however long the history is;
the next answer reads on. A trace takes some 25 bytes for each event. The longest unused are dropped
beyond MOST events of all of them together.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

import orjson
from django.db import connection

from engine.diagnosis.trace.trace import Trace
from kscope.runs.models import Run

AT_ONCE = 20_000
MOST = 4_000_000
_FETCHED = 2_000

_EVENTS = """
SELECT at, kind, object, component, coalesce(data @> '{"event": true}', false), changes_text
FROM events_between(%s, %s, %s) ORDER BY seq
"""
_NEWEST = "SELECT at, kind, object, message FROM event_at(%s, %s)"


@dataclass(slots=True)
class _Kept:
    trace: Trace = field(default_factory=Trace)
    # Identifies the history: the database may have been set back to an earlier moment.
    newest: tuple[object, ...] | None = None
    lock: Lock = field(default_factory=Lock)


class Traces:
    """The traces that are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def of(self, run: Run) -> Iterator[Trace]:
        """The trace of *run*, read on towards its head; nobody else changes it meanwhile."""
        kept = self._take(run.pk)
        with kept.lock:
            if kept.newest != _newest(run.pk, kept.trace.seq):
                kept.trace = Trace()
            _read(run, kept.trace)
            kept.newest = _newest(run.pk, kept.trace.seq)
            yield kept.trace

    def _take(self, run_id: int) -> _Kept:
        with self._lock:
            kept = self._kept.setdefault(run_id, _Kept())
            self._kept.move_to_end(run_id)
            while len(self._kept) > 1 and sum(one.trace.seq for one in self._kept.values()) > MOST:
                self._kept.popitem(last=False)
            return kept


def _newest(run_id: int, seq: int) -> tuple[object, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [run_id, seq])
        return cursor.fetchone()


def _read(run: Run, trace: Trace) -> None:
    last = min(run.head_seq, trace.seq + AT_ONCE)
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS, [run.pk, trace.seq, last])
        while rows := cursor.fetchmany(_FETCHED):
            for at, kind, entity, component, is_event, changes in rows:
                patch = orjson.loads(changes) if changes else None
                trace.take(at, kind, entity, component, is_event, patch)


TRACES = Traces()
