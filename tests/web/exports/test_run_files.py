"""A run leaves a kscope as one file, and comes back by every door: the form and REST."""

import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from engine.input.loader import load_files
from engine.run_file.reading import read_run_file
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Command, ImportedRun, Run
from kscope.runs.web.handing.making import export_made

Start = Callable[..., Run]
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "asked", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "app:1"}]},
}


async def _joined(answer: Any) -> bytes:
    return b"".join([part async for part in answer.streaming_content])


def exported(client: Client, run: Run, query: str = "") -> bytes:
    """The export of a run."""
    answer = client.get(f"/api/v1/runs/{run.pk}/export/{query}")
    assert answer.status_code == 200, answer.content
    return async_to_sync(_joined)(answer)


def brought(client: Client, data: bytes) -> dict[str, Any]:
    """What REST answers to an upload."""
    file = SimpleUploadedFile("run.kscope", data)
    answer = client.post("/api/v1/scenarios/", {"files": file})
    assert answer.status_code == 201, answer.content
    return answer.json()


@pytest.fixture
def changed(driven: Run) -> Run:
    """A run that somebody has changed twice, once in vain."""
    for body in (
        {"verb": "create", "manifest": POD},
        {"verb": "cordon", "object": "node/n1"},
        {"verb": "delete", "object": "pod/default/nobody"},
    ):
        services.command_submit(run=driven, body=body)
        runner.run_drive(driven.pk)
        services.run_transport(run=driven, action="play", speed="max")
        runner.run_drive(driven.pk)
    driven.refresh_from_db()
    assert driven.head_commands == 3
    return driven


@pytest.mark.parametrize("query", ["", "?history=1"])
def test_an_imported_run_has_the_same_digest(client: Client, changed: Run, query: str) -> None:
    told = brought(client, exported(client, changed, query))["run"]
    assert told["imported"]["verdict"] == "playing"
    runner.run_drive(told["id"])
    run = Run.objects.get(pk=told["id"])
    assert (run.head_digest, run.head_at) == (changed.head_digest, changed.head_at)
    assert (run.goal_at, run.imported.verdict) == (None, "same")
    assert run.scenario_id == changed.scenario_id
    bodies = [each.body for each in Command.objects.filter(run=run).order_by("ordinal")]
    assert bodies == [each.body for each in Command.objects.filter(run=changed).order_by("ordinal")]


def test_an_imported_run_can_be_played_on(client: Client, changed: Run) -> None:
    told = brought(client, exported(client, changed))["run"]
    runner.run_drive(told["id"])
    run = Run.objects.get(pk=told["id"])
    services.command_submit(run=run, body={"verb": "uncordon", "object": "node/n1"})
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert run.head_commands == 4


def _with_event(data: bytes, seq: int, message: str) -> bytes:
    """The file with another message in one of its events, and another trail from there on."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename == "events.ndjson":
                lines = content.splitlines()
                lines[seq - 1] = json.dumps(
                    {**json.loads(lines[seq - 1]), "message": message}
                ).encode()
                content = b"\n".join(lines) + b"\n"
            if info.filename == "trail":
                content = content[: 2 * (seq - 1)] + bytes(b ^ 1 for b in content[2 * (seq - 1) :])
            new.writestr(info, content)
    return out.getvalue()


def test_a_run_that_parts_says_where(client: Client, changed: Run) -> None:
    data = _with_event(exported(client, changed, "?history=1"), 7, "another message")
    told = brought(client, data)["run"]
    runner.run_drive(told["id"])
    run = Run.objects.get(pk=told["id"])
    file = run.imported
    assert (file.verdict, file.parted_seq, run.goal_at) == ("parted", 7, None)
    assert file.theirs is not None
    assert "another message" in file.theirs
    assert file.mine != file.theirs
    assert not Command.objects.filter(run=run, status="pending").exists()
    assert client.get(f"/api/v1/runs/{run.pk}/").json()["imported"]["parted_seq"] == 7


def test_without_history_only_one_text_is_known(client: Client, changed: Run) -> None:
    # Another seed: the scenario is the same, and uids of objects are not.
    data = exported(client, changed)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename == "run.json":
                content = content.replace(b'"seed": 0', b'"seed": 5')
            new.writestr(info, content)
    told = brought(client, out.getvalue())["run"]
    runner.run_drive(told["id"])
    file = ImportedRun.objects.get(run_id=told["id"])
    assert (file.verdict, file.parted_seq, file.theirs) == ("parted", 1, None)
    assert "RunCreated" in file.mine


def run_with_pods(count: int) -> Run:
    """A run of a scenario with so many pods, which say what cannot be packed."""
    pods = [
        {
            **POD,
            "metadata": {"name": f"p{n}", "annotations": {"is": Random(n).randbytes(1_500).hex()}},
        }
        for n in range(count)
    ]
    loaded = load_files([("pods.json", orjson.dumps({"kind": "List", "items": pods}))])
    return services.run_create(scenario=services.scenario_store(name="large", result=loaded))


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize("sees_values", [True, False])
def test_memory_does_not_grow_with_the_scenario(tmp_path: Path, *, sees_values: bool) -> None:
    path = tmp_path / "run.kscope"
    wanted = {"format": "kscope", "seq": None, "sees_values": sees_values}
    peaks: list[int] = []
    for count in (1_000, 4_000):
        run = run_with_pods(count)
        tracemalloc.start()
        try:
            for _ in export_made(run.pk, str(path), wanted):
                pass
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    names = [each["metadata"]["name"] for each in read_run_file(path).document["objects"]]
    assert names == [f"p{n}" for n in range(4_000)]
    assert peaks[1] < 1.25 * peaks[0]


def test_the_form_leads_to_the_run(client: Client, driven: Run) -> None:
    file = SimpleUploadedFile("run.kscope", exported(client, driven))
    answer = client.post("/scenarios/upload/", {"files": file})
    newest = Run.objects.order_by("-pk").first()
    assert newest is not None
    assert newest.pk != driven.pk
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/runs/{newest.pk}/")


@pytest.mark.parametrize(
    ("member", "old", "new", "words"),
    [
        ("run.json", b'"format": 1', b'"format": 2', "a newer version wrote it"),
        ("run.json", b'"format": 1', b'"format": 0', "the version that wrote it reads it"),
        ("run.json", b"v1.36", b"v1.99", "run.profile"),
        ("scenario.json", b'"kind": "Node"', b'"kind": 5', "the scenario: objects[0].kind"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    client: Client, driven: Run, member: str, old: bytes, new: bytes, words: str
) -> None:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(exported(client, driven))) as given,
        zipfile.ZipFile(out, "w") as made,
    ):
        for info in given.infolist():
            content = given.read(info)
            if info.filename == member:
                assert old in content
                content = content.replace(old, new)
            made.writestr(info, content)
    file = SimpleUploadedFile("run.kscope", out.getvalue())
    answer = client.post("/api/v1/scenarios/", {"files": file})
    assert answer.status_code == 422
    assert words in answer.json()["problems"][0]["message"]
    assert Run.objects.count() == 1
