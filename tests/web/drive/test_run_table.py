"""Rows that are added to tables of runs, a few in one statement and many by COPY."""

from typing import Any

import pytest
from django.db import connection, transaction

from kscope.runs.drive.tables import run_table
from kscope.runs.drive.tables.run_table import RunTable

pytestmark = pytest.mark.django_db(transaction=True)

ROWS: list[tuple[Any, ...]] = [
    (1, 'quotes " and \\ and\ttabs\nlines', None, b"\x00\xff\\x41", None),
    (2, "", '{"b":[1,2.50,null],"a":"\\"é"}', b"", -(2**40)),
    (3, "{not json}", '"text"', None, 2**40),
]


@pytest.fixture
def table() -> RunTable:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE added"
            " (run_id bigint, number integer, words text, facts jsonb, blob bytea, at bigint)"
        )
    return RunTable(
        "added",
        {
            "number": "integer",
            "words": "text",
            "facts": "jsonb",
            "blob": "bytea",
            "at": "bigint",
        },
    )


@pytest.mark.parametrize("few", [0, 100])
def test_rows_are_kept_as_given_few_or_many(
    table: RunTable, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_table, "FEW_ROWS", few)
    with transaction.atomic():
        table.add(connection.connection, 7, ROWS)
    assert kept() == [
        (7, 1, 'quotes " and \\ and\ttabs\nlines', None, b"\x00\xff\\x41", None),
        (7, 2, "", '{"a": "\\"é", "b": [1, 2.50, null]}', b"", -(2**40)),
        (7, 3, "{not json}", '"text"', None, 2**40),
    ]


def test_a_few_are_sent_together_with_other_statements(table: RunTable) -> None:
    with transaction.atomic(), connection.connection.pipeline():
        table.add(connection.connection, 7, ROWS[:1])
        table.add(connection.connection, 8, ROWS[1:])
    assert [row[0] for row in kept()] == [7, 8, 8]


def test_no_rows_are_no_statement() -> None:
    RunTable("is_not_there", {"number": "integer"}).add(connection.connection, 7, [])


def kept() -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT run_id, number, words, facts::text, blob, at FROM added ORDER BY 2")
        rows = cursor.fetchall()
        cursor.execute("DROP TABLE added")
    return rows
