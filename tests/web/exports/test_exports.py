"""Exports of runs by REST: what they hold, up to which event, and what is refused."""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from urllib.parse import unquote

import pytest
import yaml
from django.test import Client

from engine.run_file.reading import read_run_file
from kscope.exports.registry import FORMATS
from kscope.runs.drive import runner
from kscope.runs.models import Run, RunEvent
from tests.web.exports.test_run_files import brought, exported


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_comes_with_its_type(client: Client, driven: Run, name: str) -> None:
    query = f"?format={name}" + ("&pod=default/web" if FORMATS[name].of_pod else "")
    answer = client.get(f"/api/v1/runs/{driven.pk}/export/{query}")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == FORMATS[name].media_type
    assert answer.headers["Content-Disposition"].endswith(f'-{driven.pk}{FORMATS[name].ending}"')
    assert int(answer.headers["Content-Length"]) == len(exported(client, driven, query)) > 0


@pytest.mark.parametrize(
    ("path", "ending"),
    [("export/?format=html", ".html"), ("events/export/?format=csv", "-events.csv")],
)
def test_a_name_of_any_letters_is_saved(
    client: Client, driven: Run, path: str, ending: str
) -> None:
    Run.objects.filter(pk=driven.pk).update(name="日本 " + "ü" * 190)
    answer = client.get(f"/api/v1/runs/{driven.pk}/{path}")
    way, _, name = answer.headers["Content-Disposition"].partition("; filename*=utf-8''")
    assert (way, unquote(name)) == ("attachment", f"日本-{'ü' * 47}-{driven.pk}{ending}")


def test_events_end_at_the_event_named(client: Client, driven: Run) -> None:
    data = exported(client, driven, "?format=csv&seq=9").decode()
    rows = list(csv.DictReader(io.StringIO(data, newline="")))
    assert [int(row["seq"]) for row in rows] == list(range(1, 10))


def test_events_end_at_the_time_named(client: Client, driven: Run) -> None:
    at = RunEvent.objects.get(run=driven, seq=12).at
    data = exported(client, driven, f"?format=ndjson&at={at}")
    events = [json.loads(line) for line in data.splitlines()]
    assert max(event["at"] for event in events) == at


def test_yaml_is_the_cluster_at_the_event(client: Client, driven: Run) -> None:
    created = RunEvent.objects.get(run=driven, kind="PodCreated", object="pod/default/late").seq
    for seq, is_there in ((created - 1, False), (created, True)):
        text = exported(client, driven, f"?format=yaml&seq={seq}")
        names = {each["metadata"]["name"] for each in yaml.safe_load_all(text)}
        assert ("late" in names) == is_there
    newest = exported(client, driven, "?format=yaml")
    assert newest == exported(client, driven, f"?format=yaml&seq={driven.head_seq}")


def test_a_run_file_has_its_trail(client: Client, driven: Run) -> None:
    file = read_run_file(exported(client, driven))
    assert (file.end.events, file.end.digest) == (driven.head_seq, driven.head_digest)
    assert len(file.trail) == 2 * driven.head_seq
    assert file.withheld == ()


def test_history_has_events_and_evidence(client: Client, driven: Run) -> None:
    with zipfile.ZipFile(io.BytesIO(exported(client, driven, "?history=1"))) as archive:
        events = archive.read("events.ndjson").splitlines()
        evidence = [json.loads(line) for line in archive.read("evidence.ndjson").splitlines()]
    assert len(events) == driven.head_seq
    assert {each["pod"] for each in evidence} >= {"default/web", "default/giant"}


def test_a_run_before_its_first_event_comes_again(
    client: Client, start: Callable[..., Run]
) -> None:
    run = start()
    told = brought(client, exported(client, run))["run"]
    runner.run_drive(told["id"])
    assert Run.objects.get(pk=told["id"]).goal_at is None


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("?format=docx", 400, "is none of kscope, ndjson"),
        ("?format=mermaid", 400, "A diagram shows one pod"),
        ("?format=mermaid&pod=default/nobody", 409, "no pod default/nobody"),
        ("?format=csv&seq=99999", 404, "the run has events 1 to"),
        ("?format=kscope&seq=3", 400, "Fork it at event 3"),
        ("?form=csv", 400, "unknown parameter"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    client: Client, driven: Run, query: str, status: int, words: str
) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/export/{query}")
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True)


def test_without_pyarrow_parquet_says_what_to_install(
    client: Client, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    answer = client.get(f"/api/v1/runs/{driven.pk}/export/?format=parquet")
    assert answer.status_code == 409
    assert "pip install 'kscope-sim[parquet]'" in answer.json()["detail"]
