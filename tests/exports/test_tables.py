"""Events as rows: CSV that Python reads, Parquet that DuckDB reads."""

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest

from engine.kernel.units import SECOND
from kscope.exports.lines import COLUMNS
from kscope.exports.parquet import Parquet
from tests.exports.plays import played


def test_csv_has_every_event() -> None:
    run = played("local-volumes")
    rows = list(csv.DictReader(io.StringIO(run.written("csv").decode(), newline="")))
    assert [int(row["seq"]) for row in rows] == [event.seq for event in run.rows]
    assert [float(row["t_seconds"]) for row in rows] == [event.at / SECOND for event in run.rows]
    assert [row["changes"] or None for row in rows] == [event.changes for event in run.rows]


def test_ndjson_holds_the_events_themselves() -> None:
    run = played("local-volumes")
    events = [json.loads(line) for line in run.written("ndjson").splitlines()]
    assert [(each["seq"], each["at"], each["kind"]) for each in events] == [
        (row.seq, row.at, row.kind) for row in run.rows
    ]


def test_duckdb_reads_parquet_without_quotes(tmp_path: Path) -> None:
    run = played("checkout-surge")
    path = tmp_path / "surge.parquet"
    path.write_bytes(run.written("parquet"))
    names = ", ".join(COLUMNS)
    found = duckdb.sql(f"SELECT {names} FROM '{path}' ORDER BY seq").fetchall()
    assert found == [(row.seq, row.at / SECOND, row.at, *row[2:]) for row in run.rows]
    [(count,)] = duckdb.sql(
        f"SELECT count(*) FROM '{path}' WHERE kind = 'PodEvicted' AND t_seconds < 20"
    ).fetchall()
    assert count == sum(row.kind == "PodEvicted" and row.at < 20 * SECOND for row in run.rows) > 0


def test_parquet_comes_in_groups_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kscope.exports.parquet._GROUP", 500)
    run = played("checkout-surge")
    encoder = Parquet(run.heading)
    pieces = [encoder.begin()]
    pieces += [encoder.take(run.rows[i : i + 250]) for i in range(0, len(run.rows), 250)]
    # What is written leaves at once, so that memory holds one group.
    assert sum(map(bool, pieces)) >= len(run.rows) // 500
    path = tmp_path / "surge.parquet"
    path.write_bytes(b"".join([*pieces, encoder.end()]))
    [(rows,)] = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()
    groups = duckdb.sql(f"SELECT count(DISTINCT row_group_id) FROM parquet_metadata('{path}')")
    assert (rows, groups.fetchall()) == (len(run.rows), [(4,)])


def test_a_cell_is_no_formula() -> None:
    row = played("local-volumes").rows[0]._replace(message="=1+1")
    encoder_text = played("local-volumes").written("csv")
    from kscope.exports.lines import Csv

    text = Csv(played("local-volumes").heading).take([row]).decode()
    assert "'=1+1" in text
    assert b"'=" not in encoder_text
