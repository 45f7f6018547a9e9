"""A version of kscope and a database of another one: who stops, and what is said."""

import asyncio
import io
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

import manage
from kscope import celery, database_format, worker_steps
from kscope.database_format import FORMAT, TABLE, WrongFormat
from kscope.operations import backup
from kscope.runs.drive import runner, slices
from kscope.runs.models import Run
from kscope.runs.stream.stream_room import Links
from scheduling import tasks

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., Run]
# They were there before the format was.
UNNUMBERED = {"accounts": 1, "runs": 14, "scheduling": 2, "volumes": 2}


@pytest.fixture
def set_format() -> Iterator[Callable[[int], None]]:
    """Writes the number that a database of another version has."""

    def write(number: int) -> None:
        with psycopg.connect(**_parameters(), autocommit=True) as link:
            link.execute(f"UPDATE {TABLE} SET number = %s", [number])
        # As if a second had passed.
        database_format._looked_at.clear()

    yield write
    write(FORMAT)
    database_format._refusal = ""


@pytest.fixture
def newer(set_format: Callable[[int], None]) -> None:
    """The database is one that a newer version has migrated."""
    set_format(FORMAT + 1)


def _parameters() -> dict[str, Any]:
    found = connection.get_connection_params()
    return {
        key: found[key] for key in ("host", "port", "user", "password", "dbname") if key in found
    }


def test_migrations_lead_to_the_format_that_is_read() -> None:
    with database_format.connect() as link:
        assert database_format.why_refused(link) == ""
        assert link.execute(f"SELECT number FROM {TABLE}").fetchall() == [(FORMAT,)]


def test_each_migration_says_whether_older_versions_go_on() -> None:
    for app, name in sorted(database_format.known_migrations()):
        if app not in UNNUMBERED or int(name[:4]) <= UNNUMBERED[app]:
            continue
        package = "kscope." if app in ("accounts", "runs") else ""
        module = import_module(f"{package}{app}.migrations.{name}")
        says = getattr(module.Migration, "older_versions_go_on", False)
        assert says or "raise_format(" in Path(str(module.__file__)).read_text(), (app, name)


@pytest.mark.usefixtures("newer")
def test_readyz_names_both_formats_and_the_way_out(client: Client) -> None:
    answer = client.get("/readyz?parts=database")
    detail = answer.json()["parts"]["database"]["detail"]
    assert answer.status_code == 503
    assert f"has format {FORMAT + 1}" in detail
    assert f"reads format {FORMAT}" in detail
    assert "Start the newer version, or restore a backup" in detail


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize("path", ["/", "/api/v1/runs/", "/runs/1/"])
def test_pages_of_an_older_version_explain_their_refusal(path: str) -> None:
    connection.close()
    answer = Client(raise_request_exception=False).get(path)
    assert answer.status_code == 503
    assert f"has format {FORMAT + 1}" in answer.content.decode()


@pytest.mark.usefixtures("newer")
def test_process_of_an_older_version_does_not_start() -> None:
    for begin in (database_format.check_start, celery.begin_anew, celery.look_before_beat):
        with pytest.raises(SystemExit, match=f"kscope does not start.*format {FORMAT + 1}"):
            begin()


def test_a_newer_version_asks_for_the_missing_migrations(
    monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    known = frozenset({*database_format.known_migrations(), ("runs", "9999_of_tomorrow")})
    monkeypatch.setattr(database_format, "known_migrations", lambda: known)
    monkeypatch.setattr(database_format, "FORMAT", FORMAT + 1)
    with pytest.raises(SystemExit, match=r"such as runs.9999_of_tomorrow; run `manage.py prepare`"):
        database_format.check_start()
    assert (
        f"reads format {FORMAT + 1}" in client.get("/readyz").json()["parts"]["database"]["detail"]
    )


def test_a_database_that_is_away_ends_no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
    database_format.check_start()
    assert database_format.look() == ""


def test_worker_of_an_older_version_takes_no_run(
    start: Start, set_format: Callable[[int], None], caplog: pytest.LogCaptureFixture
) -> None:
    run = start()
    set_format(FORMAT + 1)
    runner.run_drive(run.pk)
    assert f"nothing is done: The database has format {FORMAT + 1}" in caplog.text
    run.refresh_from_db()
    assert (run.lease_epoch, run.lease_until, run.status) == (0, None, "paused")


@pytest.mark.usefixtures("newer")
def test_tasks_of_an_older_version_do_nothing(caplog: pytest.LogCaptureFixture) -> None:
    tasks.sweep_runs()
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert f"nothing is done: The database has format {FORMAT + 1}" in caplog.text


def test_worker_that_was_overtaken_gives_the_run_back(
    start: Start, set_format: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, take = start(), slices.lease_take

    def take_late(run_id: int, owner: str) -> int | None:
        set_format(FORMAT + 1)
        return take(run_id, owner)

    monkeypatch.setattr(slices, "lease_take", take_late)
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert (run.head_seq, run.lease_until) == (0, None)


def test_a_migration_takes_runs_from_older_workers(
    start: Start, set_format: Callable[[int], None]
) -> None:
    run = start()
    epoch = slices.lease_take(run.pk, "an older worker")
    assert epoch is not None
    with connection.schema_editor() as editor:
        database_format.raise_format(FORMAT + 1).code(None, editor)
    with pytest.raises(slices.LostLease):
        slices.lease_renew(run.pk, epoch)


@pytest.mark.usefixtures("newer")
def test_a_worker_stops_when_another_version_migrates(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(worker_steps.os, "kill", lambda _pid, number: sent.append(number))
    database_format._watch(worker_steps._stop_working)
    assert sent == [worker_steps.signal.SIGTERM]


@pytest.mark.usefixtures("newer")
def test_a_stream_reads_nothing_of_a_newer_database() -> None:
    database_format.look()

    async def read() -> None:
        async with Links().link():
            pass

    with pytest.raises(WrongFormat, match=f"has format {FORMAT + 1}"):
        asyncio.run(read())


@pytest.mark.usefixtures("newer")
def test_a_command_ends_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.close()
    monkeypatch.setattr(sys, "argv", ["manage.py", "compact", "--dry-run"])
    with pytest.raises(SystemExit, match=f"has format {FORMAT + 1}"):
        manage.main()


def test_a_backup_of_a_newer_version_is_refused(
    set_format: Callable[[int], None], tmp_path: Path
) -> None:
    file = tmp_path / "kscope.backup"
    set_format(FORMAT + 1)
    backup.backup_write(file)
    set_format(FORMAT)
    with pytest.raises(CommandError, match=f"It has format {FORMAT + 1}"):
        call_command("restore", str(file), stdout=io.StringIO())
    # What was there is there still.
    assert backup._format_in(file) == FORMAT + 1
    assert database_format.look() == ""
