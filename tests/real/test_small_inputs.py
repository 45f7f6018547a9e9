"""Small inputs of all kinds lead to what is expected, by command line, by REST and by the page."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from engine.input.loader import load_paths
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.runs.models import Run, Scenario
from tests.real.small_inputs import CASES, FOLDER, NAMES, Case

each_case = pytest.mark.parametrize("case", CASES, ids=NAMES)


def simulate(*words: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("simulate", *words, "--until=10ms", stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def options_of(case: Case) -> list[str]:
    flags = {"ignore_unknown_plugins": "--ignore-unknown-plugins"}
    return [flags.get(name) or f"--{name}={text}" for name, text in case.choices.items()]


def uploads(case: Case) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(path.name, path.read_bytes()) for path in case.files]


@each_case
def test_the_command_line_reads_it_as_expected(case: Case, tmp_path: Path) -> None:
    report, out = tmp_path / "report.json", tmp_path / "out.ndjson"
    words = [*map(str, case.paths), *options_of(case), f"--report={report}", f"--output={out}"]
    if case.refused:
        with pytest.raises(CommandError) as refusal:
            simulate(*words)
        assert case.refused in str(refusal.value)
        return
    _, told = simulate(*words)
    files = json.loads(report.read_text())["files"]
    assert kinds_of(files) == case.read
    for words_told in case.told:
        assert words_told in told


def kinds_of(files: list[dict[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for file in files:
        for kind, number in file["kinds"].items():
            found[kind] = found.get(kind, 0) + number
    for header in ("Scenario", "KubeSchedulerConfiguration"):
        found.pop(header, None)
    return found


@each_case
@pytest.mark.django_db
def test_rest_reads_it_as_expected(client: Client, case: Case) -> None:
    answer = client.post("/api/v1/scenarios/", {"files": uploads(case), **case.choices})
    told = answer.json()
    if case.refused:
        assert answer.status_code == 422
        assert case.refused in json.dumps(told)
        return
    assert (answer.status_code, told["summary"]) == (201, case.read)
    for words in case.told:
        assert words in json.dumps(told["report"], ensure_ascii=False)


@each_case
@pytest.mark.django_db
def test_the_page_reads_it_as_expected(client: Client, case: Case) -> None:
    answer = client.post("/scenarios/upload/", {"files": uploads(case), **case.choices})
    if case.refused:
        assert answer.status_code == 422
        assert case.refused in answer.content.decode()
        return
    scenario = Scenario.objects.get()
    assert (answer.status_code, scenario.summary) == (302, case.read)
    assert Run.objects.get().scenario_id == scenario.pk
    detail = client.get(f"/api/v1/scenarios/{scenario.pk}/").json()
    report = json.dumps(detail["report"], ensure_ascii=False)
    for words in case.told:
        assert words in report


def test_every_small_input_has_a_case() -> None:
    numbers = {path.name[:2] for path in FOLDER.iterdir() if path.name != "README.md"}
    assert numbers == {case.name for case in CASES}


def test_a_claim_without_its_snapshot_stays_pending(tmp_path: Path) -> None:
    out = tmp_path / "out.ndjson"
    call_command("simulate", str(next(FOLDER.glob("02*"))), "--until=20s", f"--output={out}")
    assert 'volumesnapshots.snapshot.storage.k8s.io \\"nosnap\\" not found' in out.read_text()


def test_a_pod_on_an_absent_node_keeps_running(tmp_path: Path) -> None:
    out = tmp_path / "out.ndjson"
    call_command("simulate", str(next(FOLDER.glob("03*"))), "--until=5m", f"--output={out}")
    events = [json.loads(line) for line in out.read_text().splitlines()]
    assert not [each for each in events if each["kind"] == "PodDeleted"]


def test_a_triage_without_nodes_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("triage", str(next(FOLDER.glob("05*"))))
    said = capsys.readouterr().out
    assert said.startswith(
        "There are no nodes in these files, so the 20 pods that wait cannot be placed."
    )
    assert "Nothing is stuck" not in said


@pytest.mark.parametrize("profile", ["v1.20", "v1.36"])
def test_old_plugins_are_known_to_their_version(profile: str) -> None:
    files = [next(FOLDER.glob("22*")), FOLDER / "18-yaml-hides-json"]
    header = FOLDER / "20-subfolder-ignored" / "sub"

    def check(scenario: Any, configuration: Any, objects: Any = ()) -> Any:
        return check_setup({**scenario, "profile": profile}, configuration, objects)

    loaded = load_paths([*files, header], check=check)
    assert loaded.ok is (profile == "v1.20")
    assert profile == "v1.20" or "1.19 to 1.22" in str(loaded.problems[0])
