"""What an event takes in the database: a run of some 60,000 events, as a worker writes it.

Sizes are those of whole tables with their indexes and their compressed parts, as they stand when
the run is over: rows that were written again have left room behind. Baselines: the events in a row
each, with the indexes that pages ask for; and every other table with each of its rows written once.
"""

from bench.servers import servers, store_run, wait_until_finished
from bench.size import usual
from bench.table import Row
from engine.input.generate import synthetic

NODES = usual(1_000, least=10)
PODS = usual(7_000, least=30)
PATIENCE_S = 900.0
RECORD = "runs_eventchunk"
# As events were kept before they had rows of a thousand.
_PLAIN = (
    "CREATE TABLE bench_plain AS SELECT run_id, seq, at, kind, object, component, cause, message,"
    " data, changes FROM runs_runevent",
    "ALTER TABLE bench_plain ADD PRIMARY KEY (run_id, seq)",
    "CREATE INDEX ON bench_plain (run_id, object, seq)",
    "CREATE INDEX ON bench_plain (run_id, kind, seq)",
    "CREATE INDEX ON bench_plain (run_id, seq) WHERE data @> '{\"event\": true}'",
)
_SIZES = (
    "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
)


def bench(full: bool = False) -> list[Row]:
    """Bytes by table, and all together."""
    with servers() as stack:
        from kscope.runs.models import Run

        before = _sizes()
        run = store_run(synthetic(NODES, PODS * (4 if full else 1)))
        worker = stack.start_worker(run, "--again")
        Run.objects.filter(pk=run.pk).update(status=Run.Status.PLAYING)
        try:
            wait_until_finished(run, PATIENCE_S)
        finally:
            worker.stop()
        after = _sizes()
        _execute(*_PLAIN)
        plain = _sizes()["bench_plain"]
        _execute("DROP TABLE bench_plain", "VACUUM FULL")
        once = _sizes()
        run.refresh_from_db()
    grown = {table: size - before[table] for table, size in after.items()}
    baselines = {**{table: once[table] - before[table] for table in grown}, RECORD: plain}
    largest = sorted(grown, key=lambda table: -grown[table])[:6]
    events = run.head_seq
    rows = [
        Row(
            name=f"database bytes per event, {events:,} events",
            figure=sum(grown.values()) / events,
            unit="B",
            baseline=sum(baselines.values()) / events,
            against="events in a row each, other rows once",
            aim=100,
            at_least=False,
        )
    ]
    for table in largest:
        against = "a row each" if table == RECORD else "each row written once"
        rows.append(
            Row(
                name=f"of these {table}",
                figure=grown[table] / events,
                unit="B",
                baseline=baselines[table] / events,
                against=against,
            )
        )
    return rows


def _sizes() -> dict[str, int]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(_SIZES)
        return dict(cursor.fetchall())


def _execute(*statements: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
