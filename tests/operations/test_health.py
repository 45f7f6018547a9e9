"""/healthz, /readyz: what they say when a part is away."""

import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import redis
from django.db import OperationalError, connection
from django.test import Client
from psycopg.errors import DiskFull

from kscope import database_format
from kscope.celery import role_of
from kscope.operations import health, presence
from kscope.runs.nudges import note_if_full, was_full

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nobody_reports")]


def ready(client: Client, parts: str = "") -> tuple[int, dict]:
    answer = client.get("/readyz", {"parts": parts} if parts else {})
    return answer.status_code, answer.json()["parts"]


def test_healthz_answers_while_every_server_is_away(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise redis.ConnectionError

    with monkeypatch.context() as patch, connection.execute_wrapper(lambda *_: 1 / 0):
        # Not 1 / 0: where an earlier test imported the web process, its reporter asks as well.
        patch.setattr(presence, "client", away)
        assert client.get("/healthz").content == b"ok"


def test_readyz_shows_the_state_of_each_part(client: Client) -> None:
    presence.Reporter("worker").report()
    status, parts = ready(client)
    assert status == 200
    assert {name: part["detail"] for name, part in parts.items()} == {
        "database": "reachable and migrated",
        "disk": "has room",
        "valkey": "reachable",
        "worker": "1 alive",
    }


def test_readyz_is_503_without_a_worker(client: Client) -> None:
    status, parts = ready(client)
    assert status == 503
    assert parts["worker"]["detail"] == "no worker was heard of for 15 s"
    assert parts["database"]["ok"]


def test_a_sweeper_is_no_worker(client: Client) -> None:
    assert role_of(["kscope"]) == "worker"
    assert role_of(["sweeps"]) == "sweeper"
    presence.Reporter("sweeper").report()
    assert not ready(client)[1]["worker"]["ok"]


def test_readyz_looks_only_at_the_parts_asked_for(client: Client) -> None:
    assert ready(client, "database,valkey")[0] == 200
    refused = client.get("/readyz?parts=disks")
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("parts is 'disks'")


def test_readyz_names_a_migration_that_is_missing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = frozenset({*database_format.known_migrations(), ("runs", "9999_of_tomorrow")})
    monkeypatch.setattr(database_format, "known_migrations", lambda: known)
    status, parts = ready(client, "database")
    assert status == 503
    assert "1 migrations are missing, such as runs.9999_of_tomorrow" in parts["database"]["detail"]


def test_readyz_says_that_postgresql_cannot_be_reached(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
    status, parts = ready(client, "database")
    assert (status, parts["database"]["detail"]) == (503, "cannot be reached")


def test_readyz_says_that_valkey_cannot_be_reached(client: Client, valkey_is_away: None) -> None:
    status, parts = ready(client)
    assert status == 503
    assert parts["valkey"]["detail"] == parts["worker"]["detail"] == "cannot be reached"


def test_readyz_waits_no_longer_than_its_patience(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def hang() -> str:
        over.wait(60)
        return "too late"

    monkeypatch.setattr(health, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setitem(health.CHECKS, "database", hang)
    try:
        status, parts = ready(client, "database")
    finally:
        over.set()
    assert (status, parts["database"]["detail"]) == (503, "no answer within 0.05 s")


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        ({"f_bavail": 100}, "0.4 MiB are free, 32 MiB are needed"),
        ({"f_favail": 0}, "it takes no more files"),
    ],
)
def test_readyz_says_which_disk_is_full(
    client: Client, monkeypatch: pytest.MonkeyPatch, figures: dict[str, int], why: str
) -> None:
    usual = {"f_bavail": 10**9, "f_frsize": 4096, "f_files": 10**6, "f_favail": 10**6}
    full = tempfile.gettempdir()

    def statvfs(folder: Path) -> SimpleNamespace:
        return SimpleNamespace(**(usual | figures if str(folder) == full else usual))

    monkeypatch.setattr(health.os, "statvfs", statvfs)
    status, parts = ready(client, "disk")
    assert status == 503
    assert parts["disk"]["detail"] == f"the disk of the temporary folder is full: {why}"


def test_disk_without_files_to_count_is_not_full(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SimpleNamespace(f_bavail=10**9, f_frsize=4096, f_files=0, f_favail=0)
    monkeypatch.setattr(health.os, "statvfs", lambda _folder: found)
    assert ready(client, "disk")[0] == 200


@pytest.mark.usefixtures("nobody_reports")
def test_readyz_reports_a_full_database_until_it_writes(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = OperationalError("could not extend file")
    problem.__cause__ = DiskFull("could not extend file")
    assert note_if_full(problem)
    with monkeypatch.context() as patch:
        refuse = "DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$"
        patch.setattr(health, "_WRITE", refuse)
        status, parts = ready(client, "database")
        assert (status, parts["database"]["detail"]) == (503, "the disk of the database is full")
    assert ready(client, "database")[0] == 200
    assert not was_full()
