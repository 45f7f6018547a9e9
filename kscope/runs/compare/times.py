"""From a pod's creation to its binding: in one run up to an event, and where two runs differ.

Times are virtual nanoseconds.
"""

from typing import TypedDict

from django.db import connection

from kscope.runs.models import Run

SLOWEST = 50  # pods whose time to bind differs

# A pod's name may come again: each binding counts from the creation just before it.
_TOOK = """
SELECT object, seq, took, row_number() OVER (PARTITION BY object ORDER BY seq) AS nth FROM (
    SELECT object, kind, seq, at - lag(at) OVER (PARTITION BY object ORDER BY seq) AS took
    FROM events_of_kinds(%s, 0, %s, ARRAY['PodCreated', 'PodBound'])) AS told
WHERE kind = 'PodBound'
"""
_OF_ONE = f"""
SELECT count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY took), max(took)
FROM ({_TOOK}) AS each
"""
_APART = f"""
WITH a AS ({_TOOK}), b AS ({_TOOK})
SELECT count(*) OVER (), a.object, a.took, b.took, a.seq, b.seq
FROM a JOIN b ON a.object = b.object AND a.nth = b.nth WHERE a.took <> b.took
ORDER BY abs(a.took - b.took) DESC, a.object, a.nth LIMIT %s
"""


class Wait(TypedDict):
    """A pod whose time to bind differs: both, and by which event it was bound.

    `ratio` is the longer time by the shorter; None where the shorter is 0.
    """

    pod: str
    a: int
    b: int
    difference: int
    ratio: float | None
    a_seq: int
    b_seq: int


class Waits(TypedDict):
    """How many pods took another time to bind, and those with the largest difference first."""

    count: int
    rows: list[Wait]


def bindings(run: Run, seq: int) -> tuple[int, int | None, int | None]:
    """How many bindings a run has up to event *seq*, and their median and longest time."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_ONE, [run.pk, seq])
        return cursor.fetchone()


def waits_apart(a: Run, b: Run) -> Waits:
    """The pods that took another time to bind in *b* than in *a*."""
    with connection.cursor() as cursor:
        cursor.execute(_APART, [a.pk, a.head_seq, b.pk, b.head_seq, SLOWEST])
        found = cursor.fetchall()
    rows = [
        Wait(
            pod=pod,
            a=left,
            b=right,
            difference=right - left,
            ratio=round(max(left, right) / min(left, right), 1) if min(left, right) else None,
            a_seq=a_seq,
            b_seq=b_seq,
        )
        for _, pod, left, right, a_seq, b_seq in found
    ]
    return Waits(count=found[0][0] if found else 0, rows=rows)
