"""Of which parts the history of a run consists: a fork reads its ancestors' rows up to its own.

    run 3:   1 ────────────────────── 900
    run 5:          └ 401 ──── 700            parts: (3, up to 400), (5, from there on)
    run 8:                └ 601 ─── 650       parts: (3, up to 400), (5, up to 600), (8, …)

Rows keep the number of the run that wrote them, also when that run is deleted: they stay as far as
a fork reads them, and go with the last one that does. The view `runs_runpart` has the parts of all
runs there are, their own ones too. See docs/adr/0048.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Q

END = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of the run *source* after event *after* up to event *upto*."""

    source: int
    after: int
    upto: int


def parts_of(run_id: int) -> list[Part]:
    """The parts of the history of a run, the oldest first; none of a run that is gone."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTS, [run_id])
        return [Part(*row) for row in cursor.fetchall()]


_PARTS = "SELECT source, after, upto FROM runs_runpart WHERE run_id = %s ORDER BY upto"


def in_history(run_id: int) -> Q:
    """The condition that finds the rows, by their run and seq, which are of the history of a run."""
    found = Q(run_id__in=())
    for part in parts_of(run_id):
        rows = Q(run_id=part.source)
        found |= rows if part.upto == END else rows & Q(seq__gt=part.after, seq__lte=part.upto)
    return found


def parts_borrow(fork: Any, parent: Any, upto: int) -> None:
    """Let *fork* read the history of the run *parent* up to event *upto*; -1 for nothing.

    What it is made of is remembered in any case, with the owners.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _BORROW,
            {
                "fork": fork.pk,
                "parent": parent.pk,
                "owner": parent.owner_id,
                "created": parent.created,
                "upto": upto,
            },
        )


_BORROW = """
INSERT INTO runs_historypart (run_id, source, after, upto, owner, created)
SELECT %(fork)s, source, least(after, %(upto)s), least(upto, %(upto)s), owner, created
FROM runs_historypart WHERE run_id = %(parent)s
UNION ALL
SELECT %(fork)s, %(parent)s, least(borrowed, %(upto)s), %(upto)s, %(owner)s, %(created)s
FROM (SELECT coalesce(max(upto), -1) AS borrowed FROM runs_historypart
      WHERE run_id = %(parent)s) AS parent
"""


def readers_of(source: int) -> list[int]:
    """The forks that read rows of the run *source*."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT run_id FROM runs_historypart WHERE source = %s AND upto > after", [source]
        )
        return [row[0] for row in cursor.fetchall()]


def sources_lock(sources: Iterable[int]) -> None:
    """Until this transaction ends, nobody else decides what of these runs goes.

    Two who delete the last two forks would each find that the other one still reads.
    """
    with connection.cursor() as cursor:
        for source in sorted(sources):
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, source % 2**31])


_LOCK = 0x4B53  # that nothing else locks by


def last_read(source: int) -> int | None:
    """The last event that a fork reads of *source*; None where there is no such fork."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT max(upto) FROM runs_historypart WHERE source = %s AND upto > after", [source]
        )
        return cursor.fetchone()[0]
