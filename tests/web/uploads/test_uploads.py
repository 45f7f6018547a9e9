"""Uploads: what was understood, what is wrong and where, and that nothing is half saved."""

import asyncio
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import AsyncClient, Client
from django.utils import timezone

from kscope.runs import aside
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, Scenario
from kscope.runs.web import uploads
from kscope.runs.web.spool import content_of
from tests.serving import application
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.django_db

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '2'}}\n"
BAD = NODE.replace("'2'", "two")
STEPS = (
    "apiVersion: kscope.dev/v1\nkind: Scenario\nspec: {steps: [{at: 1s, cordon: node/n1}]}\n---\n"
)


def upload(client: Client, *files: tuple[str, str], **fields: str) -> Any:
    given = [SimpleUploadedFile(name, text.encode()) for name, text in files]
    return client.post("/scenarios/upload/", {"files": given, **fields})


def test_good_files_become_one_scenario(client: Client) -> None:
    upload(client, ("a.yaml", NODE), ("b.yaml", NODE.replace("n1", "n2")), name="mine")
    scenario = Scenario.objects.get()
    assert (scenario.name, scenario.summary) == ("mine", {"Node": 2})
    assert [(each["name"], each["kinds"]) for each in scenario.report["files"]] == [
        ("a.yaml", {"Node": 1}),
        ("b.yaml", {"Node": 1}),
    ]


@pytest.mark.parametrize("header", ["", STEPS])
def test_good_files_lead_to_a_first_look(client: Client, header: str) -> None:
    answer = upload(client, ("a.yaml", header + NODE))
    run = Run.objects.get()
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/runs/{run.pk}/first-look/")
    assert run.status == Run.Status.PAUSED
    page = client.get(answer.headers["Location"])
    assert 'id="first-look"' in page.content.decode()


@pytest.mark.parametrize("path", ["/scenarios/upload/", "/api/v1/scenarios/"])
def test_a_scenario_of_steps_alone_is_kept(client: Client, path: str) -> None:
    steps = "[{at: 1s, create: {apiVersion: v1, kind: Node, metadata: {name: n1}}}]"
    header = f"apiVersion: kscope.dev/v1\nkind: Scenario\nspec: {{steps: {steps}}}\n"
    given = SimpleUploadedFile("steps.yaml", header.encode())
    assert client.post(path, {"files": [given]}).status_code in (302, 201)
    assert Scenario.objects.get().summary == {}


def test_a_bad_quantity_is_reported_and_nothing_saved(
    client: Client,
) -> None:
    answer = upload(client, ("good.yaml", NODE.replace("n1", "n2")), ("bad.yaml", BAD))
    page = answer.content.decode()
    assert answer.status_code == 422
    for told in ("bad.yaml", "status.allocatable.cpu", "two", 'data-name="Line">4</td>'):
        assert told in page
    assert not Scenario.objects.exists()
    assert not Run.objects.exists()


def test_too_much_is_refused_before_it_is_read(client: Client, settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = settings.UPLOAD_MAX_ADMIN_BYTES = 100
    answer = upload(client, ("big.yaml", NODE + "#" * 200))
    assert answer.status_code == 422
    assert "an upload may hold" in answer.content.decode()
    assert not Scenario.objects.exists()


class Sender:
    """Sends a body in parts of 64 KiB, and counts those that were taken."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.taken = 0

    async def receive(self) -> dict[str, Any]:
        self.taken += 1
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": self.taken < self.parts}


async def answered(sender: Sender, path: str, **headers: str) -> tuple[int, str]:
    """Status and body of what the ASGI application answers to a POST."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    named = {"host": "localhost", "content_type": "multipart/form-data; boundary=b", **headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in named.items()],
    }
    await asyncio.wait_for(application(scope, sender.receive, send), HANG_SECONDS)
    return sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:]).decode()


@pytest.mark.parametrize("path", ["/scenarios/upload/", "/api/v1/scenarios/"])
async def test_a_body_declared_too_long_is_refused_unread(path: str) -> None:
    sender = Sender(3_200)
    status, body = await answered(sender, path, content_length=str(2_100 * 1_048_576))
    assert (status, sender.taken) == (413, 0)
    assert "2100.0 MiB were sent; an upload may hold 2048 MiB in all" in body


@pytest.mark.parametrize("path", ["/scenarios/upload/", "/api/v1/scenarios/"])
async def test_a_body_of_unknown_length_is_limited(path: str, settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = settings.UPLOAD_MAX_ADMIN_BYTES = 1_048_576
    sender = Sender(3_200)
    status, body = await answered(sender, path, transfer_encoding="chunked")
    assert status == 413
    assert sender.taken == 2 * 16 + 1
    assert "more than 1 MiB were sent" in body


def test_an_upload_without_times_has_its_own(client: Client) -> None:
    upload(client, ("a.yaml", NODE.replace("n1", "n1, resourceVersion: '7'")))
    instant = datetime.fromisoformat(Scenario.objects.get().instant)
    assert timedelta() <= timezone.now() - instant < timedelta(hours=1)


def test_the_refusal_needs_no_form_token() -> None:
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post("/scenarios/upload/", b"", CONTENT_LENGTH=str(2**33), content_type="x/y")
    assert answer.status_code == 413
    assert "csrftoken" in answer.cookies


def test_an_upload_without_files_says_so(client: Client) -> None:
    assert client.post("/scenarios/upload/", {}).status_code == 400


def test_a_hostile_name_is_shown_as_text(client: Client) -> None:
    page = upload(client, ("<script>.yaml", BAD)).content.decode()
    assert "<script>.yaml" not in page
    assert "&lt;script&gt;.yaml" in page


def test_starting_a_scenario_leads_to_its_board(client: Client) -> None:
    upload(client, ("a.yaml", STEPS + NODE))
    scenario = Scenario.objects.get()
    answer = client.post(f"/scenarios/{scenario.pk}/start/")
    run = Run.objects.order_by("-pk")[0]
    assert answer.headers["Location"] == f"/runs/{run.pk}/"
    assert run.status == Run.Status.PLAYING
    assert client.get(f"/runs/{run.pk}/").status_code == 200


def test_the_api_shows_the_same_problems_as_data(client: Client) -> None:
    given = SimpleUploadedFile("bad.yaml", BAD.encode())
    answer = client.post("/api/v1/scenarios/", {"files": [given]})
    assert answer.status_code == 422
    problem = answer.json()["problems"][0]
    assert (problem["file"], problem["line"], problem["field"]) == (
        "bad.yaml",
        4,
        "status.allocatable.cpu",
    )


@pytest.mark.parametrize("path", ["/scenarios/upload/", "/api/v1/scenarios/"])
def test_too_many_files_are_refused_with_the_limit(
    client: Client, settings: Any, path: str
) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 3
    strict = Client(enforce_csrf_checks=True)
    strict.get("/scenarios/upload/")
    token = strict.cookies["csrftoken"].value
    given = [SimpleUploadedFile(f"{place}.yaml", NODE.encode()) for place in range(4)]
    for sender in (client, strict):
        answer = sender.post(path, {"files": given, "csrfmiddlewaretoken": token})
        assert answer.status_code == 413
        assert "more than 3 files were sent; an upload may hold 3" in answer.content.decode()
    assert not Scenario.objects.exists()


def test_files_of_300_namespaces_are_read(client: Client) -> None:
    text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: n%d}\n"
    files = [("all.yaml", text % place) for place in range(300)]
    assert upload(client, ("nodes.yaml", NODE), *files).status_code == 302
    assert Scenario.objects.get().summary == {"Namespace": 300, "Node": 1}


def test_a_good_file_beside_a_broken_one_counts(client: Client) -> None:
    page = upload(client, ("good.yaml", NODE), ("bad.yaml", "a: [1\nb: }")).content.decode()
    assert "<li>Node <b>1</b></li>" in page
    assert page.count("No supported object.") == 1


@pytest.mark.parametrize("name", ["n" * 201, "a\0b"])
def test_a_name_that_no_column_holds_is_refused(client: Client, name: str) -> None:
    for path in ("/scenarios/upload/", "/api/v1/scenarios/"):
        given = SimpleUploadedFile("a.yaml", NODE.encode())
        answer = client.post(path, {"files": [given], "name": name})
        assert answer.status_code == 422
        assert (
            "at most 200 are kept" in answer.content.decode() or "U+0000" in answer.content.decode()
        )
    assert not Scenario.objects.exists()


@pytest.mark.parametrize(
    ("header", "field"),
    [("metadata: {name: LONG}", "metadata.name"), ("spec: {title: LONG}", "spec.title")],
)
def test_an_overlong_name_in_a_header_is_refused(client: Client, header: str, field: str) -> None:
    text = f"apiVersion: kscope.dev/v1\nkind: Scenario\n{header}\n".replace("LONG", "n" * 300)
    given = SimpleUploadedFile("a.yaml", f"{text}---\n{NODE}".encode())
    answer = client.post("/api/v1/scenarios/", {"files": [given]})
    assert answer.status_code == 422
    (problem,) = answer.json()["problems"]
    assert problem["field"] == field
    assert "300 characters" in problem["message"]


def test_a_long_file_name_is_cut_to_fit(client: Client) -> None:
    assert upload(client, ("n" * 250 + ".yaml", NODE)).status_code == 302
    assert len(Scenario.objects.get().name) == 200


async def told(*files: tuple[str, str]) -> list[dict[str, Any]]:
    """The lines that a page gets, which accepts them."""
    given = [SimpleUploadedFile(name, text.encode()) for name, text in files]
    accept = {"Accept": "application/x-ndjson"}
    answer = await AsyncClient().post("/scenarios/upload/", {"files": given}, headers=accept)
    lines = b"".join([piece async for piece in answer])
    await sync_to_async(connections.close_all)()
    return [json.loads(line) for line in lines.splitlines()]


@pytest.mark.django_db(transaction=True)
async def test_page_hears_what_is_being_done() -> None:
    *doing, last = await told(("a.yaml", NODE), ("b.yaml", NODE.replace("n1", "n2")))
    assert doing == [
        {"doing": "waiting"},
        {"doing": "reading", "file": "a.yaml", "number": 1, "of": 2},
        {"doing": "reading", "file": "b.yaml", "number": 2, "of": 2},
        {"doing": "checking"},
        {"doing": "storing"},
    ]
    run = await Run.objects.aget()
    assert last == {"status": 302, "location": f"/runs/{run.pk}/first-look/"}


@pytest.mark.django_db(transaction=True)
async def test_page_hears_why_nothing_was_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(*_: Any) -> bytes:
        raise ApplicationError("That takes too much.", status=503)

    monkeypatch.setattr(aside, "ask", ask)
    *_, last = await told(("a.yaml", NODE))
    assert (last["status"], "That takes too much." in last["page"]) == (503, True)


@pytest.mark.parametrize("status", [503, 504])
def test_an_upload_that_takes_too_much_is_reported(
    client: Client, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    async def ask(*_: Any) -> bytes:
        raise ApplicationError("That takes too much.", status=status, retry_after=3)

    monkeypatch.setattr(aside, "ask", ask)
    words = "Reading the files takes longer" if status == 504 else "That takes too much."
    given = SimpleUploadedFile("a.yaml", NODE.encode())
    answer = client.post("/api/v1/scenarios/", {"files": [given]})
    assert answer.status_code == status
    assert answer.json()["detail"].startswith(f"Nothing was saved. {words}")
    page = upload(client, ("a.yaml", NODE))
    assert (page.status_code, words in page.content.decode()) == (status, True)
    assert not Scenario.objects.exists()


def test_file_lies_on_disk_until_it_was_read(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[str, bytes]] = []

    def note(pieces: Any, **_: Any) -> Iterator[dict[str, Any]]:
        found.extend((path, content_of((path, *place))) for _, path, *place in pieces)
        yield {"report": {"files": [], "warnings": []}, "scenario": None}

    monkeypatch.setattr(uploads, "upload_read", note)
    upload(client, ("a.yaml", NODE), ("b.yaml", BAD))
    assert [content for _, content in found] == [NODE.encode(), BAD.encode()]
    assert not any(Path(path).exists() for path, _ in found)
