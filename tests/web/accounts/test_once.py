"""A request of the REST API with an `Idempotency-Key` is carried out once."""

import hashlib
import json
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import get_resolver
from rest_framework.permissions import SAFE_METHODS
from rest_framework.views import APIView

from kscope.operations.tasks import forget_write_keys
from kscope.runs import services, write_keys
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Command, Run, Scenario, WriteKey
from kscope.runs.web.api import once
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)
DELETE = {"verb": "delete", "object": "node/nowhere"}


def send(path: str, body: Any, key: str = "k", method: str = "post") -> Any:
    client = cast("Any", Client(raise_request_exception=False))
    headers = {"Idempotency-Key": key} if key else {}
    return getattr(client, method)(path, body, "application/json", headers=headers)


def new_run(scenario: Scenario, key: str = "k", **options: Any) -> Any:
    return send("/api/v1/runs/", {"scenario": scenario.pk, **options}, key)


def test_two_equal_bodies_without_key_are_two_writes(scenario: Scenario) -> None:
    made = [new_run(scenario, "").json()["id"] for _ in range(2)]
    assert len(set(made)) == Run.objects.count() == 2


def test_a_repetition_gets_the_first_answer(scenario: Scenario) -> None:
    first, again = new_run(scenario), new_run(scenario)
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert Run.objects.count() == 1


def test_quoted_key_is_the_same_as_bare(scenario: Scenario) -> None:
    assert new_run(scenario, "k").content == new_run(scenario, '"k"').content


@pytest.mark.parametrize("key", ["", " ", "é", '"', "x" * 256])
def test_a_malformed_key_is_refused(scenario: Scenario, key: str) -> None:
    headers = {"Idempotency-Key": key}
    body = {"scenario": scenario.pk}
    answer = Client().post("/api/v1/runs/", body, "application/json", headers=headers)
    assert (answer.status_code, answer.json()["detail"]) == (400, write_keys.MALFORMED)


def test_another_request_with_the_same_key_is_refused(scenario: Scenario, start: Any) -> None:
    new_run(scenario)
    for answer in (
        new_run(scenario, seed=7),
        send(f"/api/v1/runs/{start().pk}/fork/", {}),
    ):
        assert (answer.status_code, answer.json()["detail"]) == (422, write_keys.REUSED)


def test_lasting_refusal_is_kept_and_others_are_not(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert new_run(scenario, profile="v0").status_code == 400
    assert new_run(scenario, profile="v0").status_code == 400
    assert WriteKey.objects.get().status == 400

    def busy(**_: Any) -> Run:
        Run.objects.create(scenario=scenario, name="undone")
        raise ApplicationError("busy", status=503, retry_after=2)

    with monkeypatch.context() as patched:
        patched.setattr(services, "run_create", busy)
        refused = new_run(scenario, "other")
        assert (refused.status_code, refused["Retry-After"]) == (503, "2")
    assert new_run(scenario, "other").status_code == 201
    assert Run.objects.count() == 1


def test_command_is_carried_out_once_and_answered_again(start: Callable[..., Run]) -> None:
    run = start()
    with driving(run):
        answers = [send(f"/api/v1/runs/{run.pk}/commands/", DELETE) for _ in range(2)]
    assert [each.status_code for each in answers] == [409, 409]
    assert answers[0].content == answers[1].content
    assert Command.objects.count() == 1


def test_repetition_waits_for_commands_of_lost_processes(
    start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, path = start(), "commands"

    def lost(**_: Any) -> Command:
        raise KeyError("the process is killed")

    with monkeypatch.context() as patched:
        patched.setattr(services, "command_wait", lost)
        assert send(f"/api/v1/runs/{run.pk}/{path}/", DELETE).status_code == 500
    with driving(run):
        assert send(f"/api/v1/runs/{run.pk}/{path}/", DELETE).status_code == 409
    assert Command.objects.count() == 1


def test_what_is_not_committed_leaves_no_key(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> Any:
        raise KeyError("the process is killed before it commits")

    with monkeypatch.context() as patched:
        patched.setattr(once._Once, "_answered", killed)
        assert new_run(scenario).status_code == 500
    assert (WriteKey.objects.count(), Run.objects.count()) == (0, 0)


def test_a_repetition_does_not_wait_for_ever(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(once, "WAIT", "10ms")
    done = threading.Event()

    def first() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(write_keys.TAKE, columns)
            taken.set()
            done.wait(60)
            transaction.set_rollback(True)
        connection.close()

    columns = {"owner": "address 127.0.0.1", "key": "k", "method": "", "path": "", "digest": ""}
    taken = threading.Event()
    thread = threading.Thread(target=first)
    thread.start()
    taken.wait(60)
    answer = new_run(scenario)
    done.set()
    thread.join()
    assert (answer.status_code, answer.json()["detail"]) == (409, write_keys.OPEN)
    assert answer["Retry-After"] == "1"
    assert new_run(scenario).status_code == 201


def test_an_old_key_is_free_and_is_deleted(scenario: Scenario) -> None:
    new_run(scenario)
    age()
    assert new_run(scenario).status_code == 201
    assert Run.objects.count() == 2
    forget_write_keys()
    assert WriteKey.objects.count() == 1
    age()
    forget_write_keys()
    assert WriteKey.objects.count() == 0


def age() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runs_writekey SET created = created - interval '10 minutes'")


def test_a_client_keeps_so_many_keys_only(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = write_keys.TAKE.replace(f"< {write_keys.MOST_KEYS}", "< 1")
    monkeypatch.setattr(write_keys, "TAKE", few)
    assert [new_run(scenario, key).status_code for key in "aba"] == [201, 429, 201]


def test_digests_of_bodies_need_the_installation_key(scenario: Scenario, settings: Any) -> None:
    new_run(scenario)
    digest = WriteKey.objects.get().digest
    parts = (b"application/json", json.dumps({"scenario": scenario.pk}).encode())
    assert digest == write_keys.digest_of(*parts)
    plain = b"".join(len(part).to_bytes(8) + part for part in parts)
    assert digest != hashlib.sha256(plain).hexdigest()
    settings.SECRET_KEY = "another"
    assert digest != write_keys.digest_of(*parts)


def test_every_write_but_an_upload_takes_a_key() -> None:
    missing = [
        f"{method} {view.__name__}"
        for view in _views(get_resolver().url_patterns)
        for method in view().allowed_methods
        if method not in SAFE_METHODS
        and not getattr(getattr(view, method.lower()), "is_once", False)
    ]
    # A text is only read. What is uploaded is kept by its content, so that sending it twice keeps it once.
    assert missing == ["POST RunEdits", "POST ScenarioList"]


def _views(patterns: Any) -> Any:
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from _views(pattern.url_patterns)
        elif issubclass(getattr(pattern.callback, "cls", object), APIView):
            yield pattern.callback.cls
