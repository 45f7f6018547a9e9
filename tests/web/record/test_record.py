"""The record of events: what is written is read again, however slices cut it, in few rows."""

import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q

from kscope.runs.drive.forks import fork_begun, history_borrow
from kscope.runs.models import Checkpoint, EventChunk, EventRecord, Run, RunEvent
from kscope.runs.record.chunks import BLOCK, FEW, events_add, mark_of
from kscope.runs.selectors import run_seqs_before

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., Run]
Row = tuple[Any, ...]

NAMES = ("seq", "at", "kind", "object", "component", "cause", "message", "data", "changes")
KINDS = ("PodCreated", "PodBound", "Odd", "NULL")
# What an array, JSON or a pattern might trip over.
WORDS = ("", "NULL", '"', "\\", '\\\\"', "{a,b}", "é\n\t\u2028", "a, b", "%s", " ")
COUNT = 3 * BLOCK + 150


@cache
def made(count: int = COUNT) -> list[Row]:
    """Events with JSON as text, half of them at the time of the one before."""
    chance, at = random.Random(count), 0
    rows: list[Row] = []
    for seq in range(1, count + 1):
        at += chance.choice((0, 0, 1, 5))
        entity = f"pod/default/{chance.choice(WORDS)}{seq // 50}"
        data = json.dumps({"b": chance.random(), "a": [chance.choice(WORDS), None]})
        changes = json.dumps({entity: {"n": 2**70}})
        told = (chance.choice(KINDS), entity, "test")
        cause = chance.choice((None, chance.randint(1, seq)))
        texts = (chance.choice(WORDS), *(chance.choice((None, each)) for each in (data, changes)))
        rows.append((seq, at, *told, cause, *texts))
    return rows


def write(run: Run, rows: list[Row], *sizes: int) -> None:
    """*rows* as slices, whose *sizes* come again and again."""
    connection.ensure_connection()
    start = turn = 0
    while start < len(rows):
        size = sizes[turn % len(sizes)]
        events_add(connection.connection, run.pk, rows[start : start + size])
        start, turn = start + size, turn + 1
    Run.objects.filter(pk=run.pk).update(head_seq=len(rows), head_at=rows[-1][1])
    run.refresh_from_db()


def read(run: Run) -> list[Row]:
    return [*RunEvent.objects.filter(run=run).order_by("seq").values_list(*NAMES)]


def loaded(rows: list[Row]) -> list[Row]:
    return [(*row[:7], *(text and json.loads(text) for text in row[7:])) for row in rows]


@pytest.fixture
def run(start: Start) -> Run:
    """A run that has not begun."""
    return start()


@pytest.fixture
def written(run: Run) -> tuple[Run, list[Row]]:
    """A run of some blocks and small rows."""
    rows = made()
    write(run, rows, 40, 3, 200)
    return run, rows


@pytest.mark.parametrize(
    "sizes", [(1,), (3, 1, 2), (FEW,), (FEW - 1, 2), (700, 5), (BLOCK,), (BLOCK + 1, 1), (9_000,)]
)
def test_what_slices_wrote_is_read(run: Run, sizes: tuple[int, ...]) -> None:
    rows = made()
    write(run, rows, *sizes)
    assert read(run) == loaded(rows)
    chunks = EventChunk.objects.filter(run=run).order_by("last_seq")
    ranges = [*chunks.values_list("first_seq", "last_seq")]
    assert ranges[:3] == [(1 + i * BLOCK, (i + 1) * BLOCK) for i in range(3)]
    assert all(one[1] + 1 == other[0] for one, other in pairwise(ranges))
    # Beside the large rows of what is left there are at most as many small ones as make a large one.
    assert len(ranges) <= 3 + 150 // FEW + FEW


def test_json_reads_as_jsonb_writes_it(run: Run) -> None:
    write(run, [(1, 0, "A", "b", "c", None, "", '{"bb":1.50,"a":1e2}', "[]")], 1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT data_text, data::text, changes_text FROM runs_runevent")
        assert cursor.fetchall() == [('{"a": 100, "bb": 1.50}', '{"a": 100, "bb": 1.50}', "[]")]


def test_marks_are_those_of_the_database(run: Run) -> None:
    with connection.cursor() as cursor:
        for word in WORDS:
            cursor.execute("SELECT event_marks(ARRAY[%s], '{}')", [word])
            assert cursor.fetchone()[0] == [mark_of(word)]


CONDITIONS = {
    "one event": (Q(seq=1500), lambda row: row[0] == 1500),
    "the last of a row": (Q(seq=BLOCK), lambda row: row[0] == BLOCK),
    "later": (Q(seq__gt=3000), lambda row: row[0] > 3000),
    "not later": (~Q(seq__gt=1024), lambda row: row[0] <= 1024),
    "before": (Q(seq__lt=BLOCK + 1), lambda row: row[0] < BLOCK + 1),
    "between": (Q(seq__gte=1024, seq__lte=1025), lambda row: 1024 <= row[0] <= 1025),
    "a range": (Q(seq__range=(1020, 2100)), lambda row: 1020 <= row[0] <= 2100),
    "some": (Q(seq__in=[3100, 7, 2048]), lambda row: row[0] in (7, 2048, 3100)),
    "all but some": (~Q(seq__in=[7, 2048]), lambda row: row[0] not in (7, 2048)),
    "of a kind": (Q(kind="PodBound"), lambda row: row[2] == "PodBound"),
    "of no kind": (Q(kind="Nothing"), lambda row: False),
    "not of a kind": (~Q(kind="PodBound"), lambda row: row[2] != "PodBound"),
    "of kinds": (Q(kind__in=["NULL", "Odd"]), lambda row: row[2] in ("NULL", "Odd")),
    "of an object": (Q(object="pod/default/%s9"), lambda row: row[3] == "pod/default/%s9"),
    "of a prefix": (Q(object__startswith='pod/default/"'), lambda row: row[3][12] == '"'),
    "at a time": (Q(at=made()[2_000][1]), lambda row: row[1] == made()[2_000][1]),
    "in a time": (Q(at__range=(900, 2_500)), lambda row: 900 <= row[1] <= 2_500),
    "since": (Q(at__gte=4_000), lambda row: row[1] >= 4_000),
    "until": (Q(at__lte=50) | Q(at__gt=4_500), lambda row: not 50 < row[1] <= 4_500),
    "either": (
        Q(seq=5) | Q(kind="Odd", at__lt=99),
        lambda r: r[0] == 5 or (r[2], r[1] < 99) == ("Odd", True),
    ),
    "changed": (
        Q(changes__has_key='pod/default/"9'),
        lambda row: 'default/\\"9"' in (row[8] or ""),
    ),
}


@pytest.mark.parametrize("model", [RunEvent, EventRecord])
def test_conditions_find_what_they_say(written: tuple[Run, list[Row]], model: Any) -> None:
    run, rows = written
    found: dict[str, list[int]] = {}
    right: dict[str, list[int]] = {}
    for name, (condition, holds) in CONDITIONS.items():
        events = model.objects.filter(condition, run=run).order_by("-seq")
        found[name] = [*events.values_list("seq", flat=True)]
        right[name] = [row[0] for row in reversed(rows) if holds(row)]
        assert events.count() == len(right[name])
    assert found == right
    assert sum(map(bool, right.values())) == len(right) - 1


def test_events_are_counted_run_by_run(written: tuple[Run, list[Row]], start: Start) -> None:
    run, rows = written
    other = start()
    write(other, made(10), 4)
    assert RunEvent.objects.count() == len(rows) + 10
    assert RunEvent.objects.filter(run=other).count() == 10
    assert RunEvent.objects.exclude(run=other).count() == len(rows)
    assert RunEvent.objects.filter(run=run)[5:9].count() == 4
    assert RunEvent.objects.filter(run_id=run.pk, seq__lt=4).count() == 3


def opened(events: Any) -> int:
    """How many rows of the record PostgreSQL opens for the answer."""
    [plan] = json.loads(events.explain(format="json", analyze=True))
    return max(_loops(plan["Plan"]))


def _loops(node: dict[str, Any]) -> Iterator[int]:
    if node["Node Type"] == "Function Scan" and node.get("Alias") == "event":
        yield node["Actual Loops"]
    for child in node.get("Plans", ()):
        yield from _loops(child)


def test_few_rows_are_opened_for_few_events(run: Run) -> None:
    write(run, made(8 * BLOCK), BLOCK)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE runs_eventchunk")
    events = RunEvent.objects.filter(run=run)
    assert opened(events.order_by("-seq")[:50]) <= 2
    assert opened(events.filter(kind="PodBound").order_by("seq")[:5]) <= 2
    assert opened(events.filter(seq=3 * BLOCK)) == 1
    assert opened(events.filter(object="pod/default/%s9")) <= 1
    assert opened(events.filter(at__range=(2_000, 2_001))) <= 2
    assert opened(events.filter(kind="PodBound")) == 8


def test_moments_are_found_in_each_row(written: tuple[Run, list[Row]]) -> None:
    run, rows = written
    moments = [0, 1, 7, *range(500, rows[-1][1] + 20, 250)]
    right = [sum(row[1] < moment for row in rows) for moment in moments]
    assert run_seqs_before(run, moments=moments) == right


@pytest.mark.parametrize("seq", [1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, COUNT - 1, COUNT])
def test_a_fork_has_what_came_before(
    written: tuple[Run, list[Row]], start: Start, seq: int
) -> None:
    run, rows = written
    at = {"at": rows[seq - 1][1], "steps": seq, "commands": 0, "digest": ""}
    Checkpoint.objects.create(run=run, seq=seq, engine=b"", view=b"", view_digest="", **at)
    fork = start()
    begun = fork_begun(run, seq)
    Run.objects.filter(pk=fork.pk).update(**begun.columns)
    history_borrow(run, fork, begun)
    fork.refresh_from_db()
    assert read(fork) == loaded(rows[:seq])
    assert run_seqs_before(fork, moments=[2**60]) == [seq]
    if seq < COUNT:
        write(fork, rows[seq:], 100)
    assert read(fork) == loaded(rows)
