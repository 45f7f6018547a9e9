"""Backup and restore, tried: what comes back is whole and goes on."""

import io
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg import sql

from kscope.operations import backup
from kscope.runs import services
from kscope.runs.drive import engines, runner
from kscope.runs.drive.same_database import database_use
from kscope.runs.models import Run, RunEvent
from tests.record import events_change

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., Run]


@pytest.fixture
def empty_database() -> Iterator[Callable[[], None]]:
    """Has Django use an empty database when called, and its own again in the end."""
    usual = connection.settings_dict["NAME"]
    name = f"{usual}_restored"
    parameters = connection.get_connection_params()
    link = {
        key: parameters[key] for key in ("host", "port", "user", "password") if key in parameters
    }

    def do(statement: str) -> None:
        with psycopg.connect(**link, dbname="postgres", autocommit=True) as server:
            server.execute(sql.SQL(statement).format(sql.Identifier(name)))

    do("DROP DATABASE IF EXISTS {} WITH (FORCE)")
    do("CREATE DATABASE {} TEMPLATE template0")
    yield lambda: database_use(name)
    database_use(usual)
    do("DROP DATABASE {} WITH (FORCE)")


def midway(start: Start) -> Run:
    """A run that stands between two moments, with a command on its way."""
    run = start()
    services.command_submit(run=run, body={"verb": "cordon", "object": "node/n1"})
    Run.objects.filter(pk=run.pk).update(until=3 * 10**9, status="playing", speed="max")
    runner.run_drive(run.pk)
    Run.objects.filter(pk=run.pk).update(until=None, status="paused")
    run.refresh_from_db()
    return run


def played_on(run: Run) -> str:
    """The digest of *run* after ten more minutes, from what is in the database alone."""
    engines._live.clear()
    Run.objects.filter(pk=run.pk).update(until=run.head_at + 600 * 10**9, status="playing")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    return run.head_digest


def test_a_restored_run_goes_on_as_before(
    start: Start, empty_database: Callable[[], None], tmp_path: Path
) -> None:
    run, said = midway(start), io.StringIO()
    file = tmp_path / "kscope.backup"
    call_command("backup", str(file), stdout=said)
    rows = list(RunEvent.objects.filter(run=run).order_by("seq").values())
    wanted = played_on(run)
    empty_database()
    call_command("restore", str(file), stdout=said)
    restored = Run.objects.get(pk=run.pk)
    assert "1 runs restored, 1 with the digest on record." in said.getvalue()
    assert list(RunEvent.objects.filter(run=restored).order_by("seq").values()) == rows
    assert played_on(restored) == wanted
    assert services.run_create(scenario=restored.scenario).pk > restored.pk


def test_a_backup_is_for_its_owner_alone(start: Start, tmp_path: Path) -> None:
    call_command("backup", str(tmp_path / "kscope.backup"), stdout=io.StringIO())
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_backup_overwrites_nothing_unasked(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "kscope.backup"
    file.write_text("precious")
    with pytest.raises(CommandError, match="exists; choose another name"):
        call_command("backup", str(file))
    assert file.read_text() == "precious"


def test_a_restore_never_overwrites_runs_unasked(driven: Run, tmp_path: Path) -> None:
    file = tmp_path / "kscope.backup"
    call_command("backup", str(file), stdout=io.StringIO())
    with pytest.raises(CommandError, match="holds 1 runs, which would be lost"):
        call_command("restore", str(file))
    assert Run.objects.filter(pk=driven.pk).exists()


def test_a_file_that_is_no_backup_changes_nothing(scenario: Any, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a backup")
    with pytest.raises(CommandError, match="pg_restore failed: .*not appear to be a valid archive"):
        call_command("restore", str(file))
    scenario.refresh_from_db()


def test_an_event_that_was_changed_is_noticed(driven: Run) -> None:
    assert [each.is_whole for each in backup.histories_checked()] == [True]
    events_change(driven.pk, [5], message="changed")
    assert [each.is_whole for each in backup.histories_checked()] == [False]


def test_a_backup_without_server_says_what_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
    with pytest.raises(CommandError, match="Start kscope, or set DATABASE_URL"):
        call_command("backup", str(tmp_path / "kscope.backup"))
