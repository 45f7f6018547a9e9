"""Runs that an older version recorded: they open and go on, or say that they cannot.

The database in tests/data was written by the version that its name tells, see record.py.
"""

import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from psycopg import sql

from engine.cluster.source import fingerprint
from kscope.runs import services
from kscope.runs.app_registry import registry
from kscope.runs.drive import driver, engines, replay, runner
from kscope.runs.drive.replay import engine_at_head
from kscope.runs.drive.same_database import database_use
from kscope.runs.drive.slices import run_needs_driver
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Checkpoint, Command, Run, RunEvent
from kscope.runs.selectors import run_dict, run_state_at
from kscope.runs.web import past
from kscope.runs.web.past import object_replayed
from scheduling.findings.record_checks import _row_differences
from tests.record import events_change
from tests.web.conftest import answer_here

RECORDED = Path(__file__).resolve().parents[1] / "data" / "runs-of-cfaca9f.sql.xz"
MINUTE = 60 * 10**9
RUNS = range(1, 8)
FINISHED, MIDWAY, FORK, PLAYING = 1, 2, 3, 7


class Databases:
    """Makes and drops databases on the server of the tests, and has Django use them."""

    def __init__(self) -> None:
        parameters = connection.get_connection_params()
        names = ("host", "port", "user", "password")
        self._link = {name: parameters[name] for name in names if name in parameters}
        self.usual = connection.settings_dict["NAME"]

    def make(self, name: str, template: str = "template0") -> None:
        self.drop(name)
        self._do("CREATE DATABASE {} TEMPLATE {}", name, template)

    def drop(self, name: str) -> None:
        self._do("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def fill(self, name: str, statements: str) -> None:
        with psycopg.connect(**self._link, dbname=name) as fresh:
            fresh.execute(statements.encode())

    def _do(self, statement: str, *names: str) -> None:
        words = (sql.Identifier(name) for name in names)
        with psycopg.connect(**self._link, dbname="postgres", autocommit=True) as server:
            server.execute(sql.SQL(statement).format(*words))


@pytest.fixture(scope="module")
def migrated(django_db_blocker: Any) -> Iterator[str]:
    """The recorded database with its old schema, then migrated; tests work on copies."""
    with django_db_blocker.unblock():
        databases = Databases()
        name = f"{databases.usual}_older"
        databases.make(name)
        text = lzma.decompress(RECORDED.read_bytes()).decode()
        # What begins with a backslash is for psql.
        kept = (line for line in text.splitlines() if not line.startswith("\\"))
        databases.fill(name, "\n".join(kept))
        database_use(name)
        before, told = rows_of_tables(), events_digest()
        call_command("migrate", interactive=False, verbosity=0)
        after = rows_of_tables()
        assert events_digest() == told
        database_use(databases.usual)
        assert {table: after.get(table) for table in before} == before
        yield name
        databases.drop(name)


@pytest.fixture(scope="module")
def shared(migrated: str, django_db_blocker: Any) -> Iterator[str]:
    """One copy for all tests that do not change what others look at."""
    yield from _copy(migrated, f"{migrated}_shared", django_db_blocker)


@pytest.fixture
def older(shared: str, django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The migrated database; a test may play a run on, but not change what is on record."""
    yield from _used(shared, django_db_blocker, monkeypatch)


@pytest.fixture
def tampered(
    migrated: str, django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """A copy of the migrated database, for a test that changes what is on record."""
    for name in _copy(migrated, f"{migrated}_tampered", django_db_blocker):
        yield from _used(name, django_db_blocker, monkeypatch)


def _copy(template: str, name: str, blocker: Any) -> Iterator[str]:
    with blocker.unblock():
        databases = Databases()
        databases.make(name, template)
    yield name
    with blocker.unblock():
        databases.drop(name)


def _used(name: str, blocker: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "enqueue", lambda run_id: None)
    monkeypatch.setattr(driver, "LINGER_SECONDS", 0.0)
    answer_here(monkeypatch)
    with blocker.unblock():
        usual = connection.settings_dict["NAME"]
        database_use(name)
        try:
            yield
        finally:
            database_use(usual)
            engines._live.clear()
            replay._known.clear()
            past._stretches.clear()


def rows_of_tables() -> dict[str, int]:
    """How many rows every table and view of runs, pods, nodes and volumes has."""
    found = {}
    with connection.cursor() as cursor:
        for name in connection.introspection.table_names(cursor, include_views=True):
            if name.startswith(("runs_", "scheduling_", "volumes_")):
                cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name)))
                found[name] = cursor.fetchone()[0]
    return found


def events_digest() -> str:
    """Over every event of every run, as it is read."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT md5(string_agg(ROW(run_id, seq, at, kind, object, component, cause, message,"
            " data, changes)::text, '' ORDER BY run_id, seq)) FROM runs_runevent"
        )
        return str(cursor.fetchone()[0])


def schema() -> list[tuple[Any, ...]]:
    """Every column, index and constraint of the database in use, and every view."""
    questions = (
        "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable,"
        " column_default, generation_expression FROM information_schema.columns"
        " WHERE table_schema = 'public'",
        "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace",
        "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'",
    )
    with connection.cursor() as cursor:
        found = [row for each in questions for row in _rows(cursor, each)]
    return sorted(found, key=str)


def _rows(cursor: Any, question: str) -> list[tuple[Any, ...]]:
    cursor.execute(question)
    return cursor.fetchall()


def history(run: Run) -> list[tuple[Any, ...]]:
    events = RunEvent.objects.filter(run=run).order_by("seq")
    return list(events.values_list("seq", "at", "kind", "message", "data", "changes"))


def play_on(pk: int) -> Run:
    """Let the run play for twenty more minutes."""
    run = Run.objects.get(pk=pk)
    Run.objects.filter(pk=pk).update(until=run.head_at + 20 * MINUTE, speed="max")
    services.run_transport(run=run, action="play")
    runner.run_drive(pk)
    run.refresh_from_db()
    return run


def decide_otherwise(pk: int, seq: int) -> Run:
    """As if the engine of today did not do what is on record as event *seq*."""
    events_change(pk, [seq], message="done differently today")
    return Run.objects.get(pk=pk)


def test_migrations_keep_every_row_of_a_populated_database(older: None) -> None:
    assert set(RUNS) <= set(Run.objects.values_list("pk", flat=True))
    assert RunEvent.objects.count() == sum(Run.objects.values_list("head_seq", flat=True))


def test_older_database_becomes_what_a_new_one_is(migrated: str, django_db_blocker: Any) -> None:
    """A new one has its tables made at once, an older one step by step."""
    with django_db_blocker.unblock():
        databases = Databases()
        new = f"{databases.usual}_new"
        databases.make(new)
        database_use(migrated)
        of_older = schema()
        database_use(new)
        call_command("migrate", interactive=False, verbosity=0)
        of_new = schema()
        database_use(databases.usual)
        databases.drop(new)
    assert len(of_new) > 100
    assert of_older == of_new


@pytest.mark.parametrize("pk", RUNS)
def test_an_older_run_is_shown_at_its_events(older: None, pk: int) -> None:
    run = Run.objects.get(pk=pk)
    for seq in (1, run.head_seq // 2, run.head_seq):
        assert run_state_at(run, seq=seq).state


@pytest.mark.parametrize("pk", RUNS)
def test_an_older_run_continues_or_gives_reasons(older: None, pk: int) -> None:
    older_run = Run.objects.get(pk=pk)
    # An older version wrote the rows of objects with each slice.
    assert older_run.rows_seq is None
    before = history(older_run)
    run = play_on(pk)
    assert history(run)[: len(before)] == before
    assert run.status != Run.Status.FAILED
    assert not Command.objects.filter(run=run, status="pending").exists()
    if run.cannot_continue_after is None:
        assert run.status == Run.Status.FINISHED
        assert run.head_seq > len(before) or run.next_at is None
        assert run.rows_seq is None
        assert [*_row_differences(run, engine_at_head(run))] == []
    else:
        assert history(run) == before
        with pytest.raises(ApplicationError, match="recorded by another version of kscope"):
            services.run_transport(run=run, action="play")


def test_a_continued_run_has_a_new_checkpoint(tampered: None) -> None:
    run = services.run_fork(run=Run.objects.get(pk=FINISHED), afresh=True)
    runner.run_drive(run.pk)
    Run.objects.filter(pk=run.pk).update(engine_digest="", status="paused")
    Checkpoint.objects.filter(run=run).update(engine=b"of another version", engine_digest="")
    engines._live.clear()
    play_on(run.pk)
    assert Checkpoint.objects.filter(run=run, engine_digest=fingerprint()).exists()


def test_a_different_history_is_read_not_continued(tampered: None) -> None:
    before = history(decide_otherwise(MIDWAY, 20))
    run = play_on(MIDWAY)
    assert (run.status, run.error, run.differs_from) == (Run.Status.PAUSED, "", 20)
    assert run_dict(run)["differs_from"] == 20
    assert history(run) == before
    assert run_state_at(run, seq=30).state
    with pytest.raises(ApplicationError, match="From event 20 on, this version decides differ"):
        services.command_submit(run=run, body={"verb": "cordon", "object": "node/n1"})


def test_a_stopped_run_refuses_its_pending_command(tampered: None) -> None:
    run = decide_otherwise(PLAYING, 5)
    runner.run_drive(PLAYING)
    command = Command.objects.filter(run=run).latest("id")
    assert command.status == Command.Status.REJECTED
    assert command.reason.startswith("Run 7 was recorded by another version of kscope.")


def test_no_worker_takes_a_stopped_run(tampered: None) -> None:
    decide_otherwise(MIDWAY, 20)
    run = play_on(MIDWAY)
    Run.objects.filter(pk=run.pk).update(status="playing")
    with connection.cursor() as cursor:
        assert MIDWAY not in run_needs_driver(cursor)
        # Another version may continue it again.
        Run.objects.filter(pk=run.pk).update(differs_for="of another version")
        assert MIDWAY in run_needs_driver(cursor)


def test_a_stopped_run_is_repeated_with_its_commands(tampered: None) -> None:
    decide_otherwise(MIDWAY, 20)
    run = play_on(MIDWAY)
    with pytest.raises(ApplicationError, match="Repeat it"):
        services.run_fork(run=run, seq=10)
    repeated = services.run_fork(run=run, afresh=True)
    runner.run_drive(repeated.pk)
    repeated.refresh_from_db()
    assert (repeated.head_at, repeated.goal_at) == (run.head_at, None)
    verbs = [
        list(Command.objects.filter(run=each).order_by("id").values_list("verb", "status"))
        for each in (run, repeated)
    ]
    assert verbs[0] == verbs[1]


def test_a_fork_among_different_events_says_why(tampered: None) -> None:
    run = decide_otherwise(MIDWAY, 20)
    Checkpoint.objects.filter(run=run).delete()
    fork = services.run_fork(run=run, seq=30)
    runner.run_drive(fork.pk)
    fork.refresh_from_db()
    assert fork.status == Run.Status.FAILED
    assert fork.error == (
        "Run 2 was recorded by another version of kscope, which decided differently from event 20 "
        "on. It cannot be forked there; start a new run."
    )


def test_a_fork_before_events_decided_otherwise_is_made(tampered: None) -> None:
    run = decide_otherwise(MIDWAY, 30)
    fork = services.run_fork(run=run, seq=20)
    runner.run_drive(fork.pk)
    fork.refresh_from_db()
    assert (fork.goal_at, fork.error) == (None, "")
    assert fork.head_seq >= 20


def test_the_past_is_shown_until_histories_differ(
    tampered: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "AHEAD", 0)
    decide_otherwise(MIDWAY, 30)
    assert object_replayed(MIDWAY, "node/n1", 15)
    with pytest.raises(ApplicationError, match="From event 30 on"):
        object_replayed(MIDWAY, "node/n1", 35)


def test_an_unreadable_checkpoint_costs_only_time(older: None) -> None:
    digest = fingerprint()
    run = services.run_fork(run=Run.objects.get(pk=MIDWAY), afresh=True)
    runner.run_drive(run.pk)
    engines._live.clear()
    broken = zlib.compress(b"\x80\x05cno.such.module\nNothing\n.")
    Checkpoint.objects.filter(run=run).update(engine=broken, engine_digest=digest)
    run.refresh_from_db()
    assert engine_at_head(run).digest() == run.head_digest
