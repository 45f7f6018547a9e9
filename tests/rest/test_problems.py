"""Every refusal below /api/ is problem details, RFC 9457, whoever gives it."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.db import IntegrityError
from django.test import Client

from kscope.accounts import limits
from kscope.env import Rate
from kscope.runs import selectors, services
from kscope.runs.errors import PROBLEM_JSON
from kscope.runs.models import Run
from tests.contract import document
from tests.serving import application

pytestmark = pytest.mark.django_db(transaction=True)


def checked(answer: Any, status: int) -> dict[str, Any]:
    """The problem details of an answer with this status."""
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, PROBLEM_JSON)
    told: dict[str, Any] = json.loads(answer.content)
    assert (told["status"], bool(told["title"]), bool(told["detail"])) == (status, True, True)
    assert told["type"] == "about:blank" or told["type"].startswith("/api/docs/#")
    return told


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
def test_an_unknown_address_is_a_problem(client: Client, method: str) -> None:
    checked(getattr(client, method)("/api/v1/nothing/at/all/"), 404)


def test_an_address_without_its_slash_has_moved(client: Client, driven: Run) -> None:
    answer = client.post(f"/api/v1/runs/{driven.pk}/transport?a=1", {})
    assert answer.status_code == 308
    assert answer.headers["Location"] == f"/api/v1/runs/{driven.pk}/transport/?a=1"
    checked(client.get("/api/v1/nothing"), 404)


@pytest.mark.parametrize("path", ["runs/999999/", "runs/999999/events/", "lessons/none/"])
def test_what_is_not_there_is_a_problem(client: Client, path: str) -> None:
    checked(client.get(f"/api/v1/{path}"), 404)


def test_another_method_is_a_problem(client: Client, driven: Run) -> None:
    answer = client.put("/api/v1/runs/", {}, "application/json")
    checked(answer, 405)
    assert "POST" in answer.headers["Allow"]


@pytest.mark.parametrize("kind", ["text/html", "application/xml", "image/png"])
def test_an_unknown_media_type_is_not_acceptable(client: Client, driven: Run, kind: str) -> None:
    for path in ("", "events/export/", "objects/node/n1/"):
        path = f"/api/v1/runs/{driven.pk}/{path}"
        checked(client.get(path, headers={"accept": kind}), 406)


def test_a_body_of_another_kind_is_a_problem(client: Client, driven: Run) -> None:
    for path in ("runs/", f"runs/{driven.pk}/commands/", "scenarios/"):
        checked(client.post(f"/api/v1/{path}", "a", content_type="text/plain"), 415)


def test_a_body_too_long_is_a_problem(client: Client, driven: Run) -> None:
    text = "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    path = f"/api/v1/runs/{driven.pk}/commands/"
    checked(client.post(path, text, content_type="application/json"), 413)


def test_too_many_requests_are_a_problem(client: Client, monkeypatch: Any) -> None:
    monkeypatch.setitem(settings.RATE_LIMITS, "read", Rate(1, 3_600))
    for alias in ("default", "process"):
        limits.caches[alias].clear()
    client.get("/api/v1/faults/")
    answer = client.get("/api/v1/faults/")
    assert answer.headers["Retry-After"] == str(checked(answer, 429)["detail"].split()[-2])


def test_a_wrong_token_is_a_problem(client: Client) -> None:
    for word in ("Token", "Bearer"):
        answer = client.get("/api/v1/runs/", headers={"authorization": f"{word} nonsense"})
        checked(answer, 401)
        assert answer.headers["WWW-Authenticate"] == word


def test_a_mistake_of_ours_is_a_problem(driven: Run, monkeypatch: Any) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(selectors, "run_histogram", fail)
    client = Client(raise_request_exception=False)
    told = checked(client.get(f"/api/v1/runs/{driven.pk}/histogram/"), 500)
    assert "secret" not in str(told)


def test_faults_of_fields_are_named(client: Client, driven: Run) -> None:
    path = f"/api/v1/runs/{driven.pk}/events/?after=x&order=up&limit=0"
    told = checked(client.get(path), 400)
    assert {each["name"] for each in told["errors"]} == {"after", "order", "limit"}
    assert "after: 'x' is not a whole number of at least 0" in told["detail"]
    body = {"action": "play", "trial": {"order": "a", "at": -1}, "sped": "1"}
    path = f"/api/v1/runs/{driven.pk}/transport/"
    told = checked(client.post(path, body, content_type="application/json"), 400)
    assert {each["name"] for each in told["errors"]} == {"trial.at", "sped"}


def test_a_rejected_command_says_why(client: Client, driven: Run, driver: None) -> None:
    body = {"verb": "delete", "object": "node/nowhere"}
    path = f"/api/v1/runs/{driven.pk}/commands/"
    told = checked(client.post(path, body, content_type="application/json"), 409)
    assert told["command"]["reason"] == told["detail"]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_old_addresses_lead_to_those_of_today(client: Client, driven: Run, method: str) -> None:
    answer = client.generic(method, f"/api/runs/{driven.pk}/state/?seq=3")
    assert answer.status_code == 308
    assert answer.headers["Location"] == f"/api/v1/runs/{driven.pk}/state/?seq=3"


@pytest.mark.parametrize("fault", [Run.DoesNotExist, IntegrityError])
def test_run_deleted_while_asked_is_absent(
    client: Client, driven: Run, monkeypatch: Any, fault: type[Exception]
) -> None:
    def deleted(run_id: int, *_: object, **__: object) -> None:
        Run.objects.filter(pk=driven.pk).delete()
        raise fault

    monkeypatch.setattr(selectors, "run_histogram", deleted)
    told = checked(client.get(f"/api/v1/runs/{driven.pk}/histogram/"), 404)
    assert told["detail"] == f"Run {driven.pk} is gone."


@pytest.mark.parametrize("part", ["commands", "fork"])
def test_write_whose_run_is_deleted_learns_it(
    client: Client, driven: Run, monkeypatch: Any, part: str
) -> None:
    """The run of a command, and a fork that its parent outlives."""

    def moments(_: float) -> Iterator[None]:
        Run.objects.filter(pk=Run.objects.latest("pk").pk).delete()
        yield

    monkeypatch.setattr(services, "moments", moments)
    body = {"verb": "cordon", "object": "node/n1"} if part == "commands" else {"seq": 3}
    path = f"/api/v1/runs/{driven.pk}/{part}/"
    told = checked(client.post(path, body, content_type="application/json"), 404)
    assert told["detail"] in (f"Run {driven.pk} is gone.", "The run was deleted meanwhile.")


async def test_an_old_address_needs_no_body(monkeypatch: Any) -> None:
    headers = [(b"content-length", b"100000000"), (b"host", b"localhost")]
    parts = {"path": "/api/scenarios/", "query_string": b"", "headers": headers}
    scope = {"type": "http", "method": "POST", "http_version": "1.1", **parts}
    asked = ApplicationCommunicator(application, scope)
    await asked.send_input({"type": "http.request", "body": b"x", "more_body": True})
    start = await asked.receive_output(10)
    assert start["status"] == 308
    await asked.wait(10)


HOSTILE = (
    *(
        "é",
        "٣",
        "-1",
        "1.5",
        "9" * 18,
        "9" * 40,
        "[]",
        "x" * 5_000,
        "\0",
        "a\0b",
        "\ud800",
        "%_'\\",
    ),
)
# What an operation asks for beside the parameter that makes no sense.
NEEDED = {"kind": "Pod", "from": "3", "to": "5"}


def questions() -> list[tuple[str, str, set[str]]]:
    """Each operation that reads with each of its parameters: address, name, what it needs."""
    found: list[tuple[str, str, set[str]]] = []
    for path, methods in document()["paths"].items():
        asked = [
            each for each in methods.get("get", {}).get("parameters", []) if each["in"] == "query"
        ]
        needed = {each["name"] for each in asked if each.get("required")}
        found += [(path, each["name"], needed) for each in asked]
    return found


def test_parameters_without_sense_are_refused_by_name(client: Client, driven: Run) -> None:
    there = {"run_id": driven.pk, "scenario_id": driven.scenario_id, "attempt_id": 1}
    named = {"kind": "pods", "entity": "pod/default/web", "namespace": "default", "name": "web"}
    for path, name, needed in questions():
        others = {each: NEEDED.get(each, str(driven.pk)) for each in needed - {name}}
        for text in HOSTILE:
            query = urlencode({**others, name: text.encode("utf-8", "surrogatepass")})
            answer = client.get(f"{path.format(**there, **named)}?{query}")
            assert answer.status_code < 500, (path, name, text)
            if answer.status_code == 400 and (faults := checked(answer, 400).get("errors")):
                assert [each["name"] for each in faults] == [name]
