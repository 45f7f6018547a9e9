"""/healthz, /readyz: what they say when a part is away."""

import threading

import pytest
import redis
from django.db import connection
from django.test import Client

from kscope import database_format
from kscope.celery import role_of
from kscope.operations import health, presence

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


def test_readyz_tells_the_state_of_each_part(client: Client) -> None:
    presence.Reporter("worker").report()
    status, parts = ready(client)
    assert status == 200
    assert {name: part["detail"] for name, part in parts.items()} == {
        "database": "reachable and migrated",
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
    refused = client.get("/readyz?parts=disk")
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("parts is 'disk'")


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
