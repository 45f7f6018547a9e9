"""Sheets of runs, kept in this process and read on, or back, to the event that is asked about.

An answer reads at most AT_ONCE events, so that it takes bounded work however long the history is;
the next answer reads on. A sheet keeps a few attributes of each object. The longest unused are
dropped beyond MOST objects of all of them together.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from django.db import connection

from kscope.runs.history.changes import changes_between, time_of
from kscope.runs.history.states import base_before, state_of
from kscope.runs.models import Keyframe, Run
from kscope.runs.record.parts import in_history
from kscope.runs.rows.sheet import Sheet

AT_ONCE = 20_000
MOST = 1_000_000
# A run may be looked at by several at several of its events.
OF_A_RUN = 3

_NEWEST = "SELECT at, kind, object, message FROM event_at(%s, %s)"


@dataclass(slots=True)
class _Kept:
    """The sheets of a run, the one used last at the end."""

    sheets: list[Sheet] = field(default_factory=list)
    # Identifies the history of each: the database may have been set back to an earlier moment.
    newest: list[tuple[object, ...] | None] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)


class Sheets:
    """The sheets that are kept."""

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        self._lock = Lock()

    @contextmanager
    def of(self, run: Run, seq: int) -> Iterator[Sheet]:
        """A sheet of *run*, read on towards event *seq*; nobody else changes it meanwhile."""
        kept = self._take(run.pk)
        with kept.lock:
            sheet = _taken_out(kept, run.pk, seq) or _begun(run.pk, seq)
            _read(run.pk, sheet, seq)
            kept.sheets.append(sheet)
            kept.newest.append(_newest(run.pk, sheet.seq))
            del kept.sheets[:-OF_A_RUN], kept.newest[:-OF_A_RUN]
            yield sheet
        self._drop()

    def of_run(self, run_id: int) -> list[Sheet]:
        """The sheets of a run that are kept, the one used last at the end."""
        kept = self._kept.get(run_id)
        return list(kept.sheets) if kept else []

    def objects(self) -> int:
        """How many objects all sheets have together."""
        return sum(len(sheet) for kept in self._kept.values() for sheet in kept.sheets)

    def _take(self, run_id: int) -> _Kept:
        with self._lock:
            kept = self._kept.pop(run_id, None) or _Kept()
            self._kept[run_id] = kept
            return kept

    def _drop(self) -> None:
        """Forget the runs that were longest unused, and at last all sheets but one of the newest."""
        with self._lock:
            while len(self._kept) > 1 and self.objects() > MOST:
                del self._kept[next(iter(self._kept))]
            for kept in self._kept.values():
                while len(kept.sheets) > 1 and self.objects() > MOST:
                    del kept.sheets[0], kept.newest[0]


def _taken_out(kept: _Kept, run_id: int, seq: int) -> Sheet | None:
    """The nearest sheet that reaches event *seq* sooner than a keyframe does; None without one."""
    near = [i for i, sheet in enumerate(kept.sheets) if sheet.oldest <= seq]
    if not near:
        return None
    place = min(near, key=lambda i: abs(kept.sheets[i].seq - seq))
    if kept.sheets[place].seq + AT_ONCE < seq:
        found = Keyframe.objects.filter(in_history(run_id)).filter(seq__lte=seq).order_by("-seq")
        if (found.values_list("seq", flat=True).first() or 0) > kept.sheets[place].seq:
            return None
    sheet, newest = kept.sheets.pop(place), kept.newest.pop(place)
    return sheet if newest == _newest(run_id, sheet.seq) else None


def _begun(run_id: int, seq: int) -> Sheet:
    """A sheet of the newest keyframe before event *seq*, or of an empty run."""
    base = base_before(run_id, seq)
    return Sheet(base.seq, time_of(run_id, base.seq), state_of(base.texts()))


def _newest(run_id: int, seq: int) -> tuple[object, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [run_id, seq])
        return cursor.fetchone()


def _read(run_id: int, sheet: Sheet, seq: int) -> None:
    if sheet.seq > seq:
        sheet.go_back(seq)
        return
    for number, at, changes in changes_between(run_id, sheet.seq, min(seq, sheet.seq + AT_ONCE)):
        sheet.take(number, at, changes)


SHEETS = Sheets()
