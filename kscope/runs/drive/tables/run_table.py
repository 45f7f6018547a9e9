"""A table of rows that belong to runs: few are added in one statement, many by COPY.

COPY takes half the time for thousands of rows. But it waits for an answer before it sends the first
of them, so it cannot be sent together with other statements.
"""

from collections.abc import Mapping, Sequence
from typing import LiteralString

import orjson
from psycopg import Connection, Cursor, sql
from psycopg.rows import TupleRow

# From more rows on, COPY is worth its two round trips to the database.
FEW_ROWS = 400

Column = int | str | bytes | None
Row = Sequence[Column]


class RunTable:
    """The table *name*, with the SQL types of those of its columns that are written, but run_id."""

    def __init__(self, name: str, types: Mapping[str, LiteralString]) -> None:
        self._names = [*types]
        self._encoded = [place for place, kind in enumerate(types.values()) if kind == "jsonb"]
        table, columns = sql.Identifier(name), sql.SQL(", ").join(map(sql.Identifier, types))
        self._copy = sql.SQL("COPY {} (run_id, {}) FROM STDIN").format(table, columns).as_bytes()
        self._insert = (
            sql.SQL(
                "INSERT INTO {table} (run_id, {columns}) SELECT %s, {columns}"
                " FROM jsonb_to_recordset(%s::jsonb) AS added ({typed})"
            )
            .format(table=table, columns=columns, typed=typed(types))
            .as_bytes()
        )

    def add(self, link: Connection[TupleRow], run_id: int, rows: Sequence[Row]) -> None:
        """Add *rows* of the run. Values of jsonb are given as JSON text, which is not "null".

        In a pipeline there may be no more than FEW_ROWS of them.
        """
        if len(rows) > FEW_ROWS:
            with Cursor(link) as cursor, cursor.copy(self._copy) as copy:
                for row in rows:
                    copy.write_row((run_id, *row))
        elif rows:
            Cursor(link).execute(self._insert, [run_id, self._records(rows)], prepare=True)

    def _records(self, rows: Sequence[Row]) -> str:
        objects: list[dict[str, Column | orjson.Fragment]] = []
        for row in rows:
            values: list[Column | orjson.Fragment] = [*row]
            for place in self._encoded:
                text = row[place]
                if isinstance(text, str):
                    values[place] = orjson.Fragment(text)
            objects.append(dict(zip(self._names, values, strict=True)))
        return records(objects)


def records(objects: Sequence[object]) -> str:
    """*objects* for jsonb_to_recordset; bytes among their values become bytea.

    One JSON parameter: quoting each value into arrays took longer than the scheduling.
    """
    return orjson.dumps(objects, default=_bytea).decode()


def typed(types: Mapping[str, LiteralString]) -> sql.Composable:
    """The columns with their types, as jsonb_to_recordset takes them."""
    columns = [
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in types.items()
    ]
    return sql.SQL(", ").join(columns)


def _bytea(value: object) -> str:
    assert isinstance(value, bytes)
    return f"\\x{value.hex()}"
