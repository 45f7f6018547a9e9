"""docs/adding-a-plugin.md, followed to the letter: its files are written, and its plugins run."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from engine.framework import framework
from tests.docs.documents import ROOT, read
from tests.docs.examples import install, link_checkout, runnable, write_files

DOCUMENT = read(ROOT / "docs" / "adding-a-plugin.md")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with the files of the document, installed as its pyproject.toml says."""
    written = write_files(DOCUMENT, tmp_path)
    assert written == [
        "quiet_nodes/plugin.py",
        "quiet_nodes/events.py",
        "quiet_nodes/facts.py",
        "quiet_nodes/changes.py",
        "pyproject.toml",
        "quiet.yaml",
        "silent.yaml",
        "one_per_rack.py",
        "test_one_per_rack.py",
        "quiet_columns.py",
        "gang.py",
    ]
    install(
        tmp_path,
        OnePerRack="one_per_rack:OnePerRack",
        QuietColumns="quiet_columns:QuietColumns",
        Gang="gang:Gang",
    )
    link_checkout(tmp_path)
    return tmp_path


def _run(package: Path, command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        ["bash", "-euc", command],
        cwd=package,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _decisions(package: Path) -> dict[str, Any]:
    decide, _ = runnable(DOCUMENT, "sh")
    _run(package, decide.text)
    return json.loads((package / "decisions.json").read_text())


def test_the_shortest_plugin_decides_as_described(package: Path) -> None:
    decisions = _decisions(package)
    assert decisions["final"]["pods"]["default/drums"] == "cellar"
    (attempt,) = decisions["attempts"]
    assert attempt["filters"]["library"]["plugin"] == "QuietNodes"
    assert attempt["filters"]["library"]["reasons"] == ["node(s) were quiet"]
    scores = {node: attempt["scores"][node]["plugins"]["QuietNodes"] for node in ("hall", "cellar")}
    assert scores == {"hall": 990, "cellar": 1000}
    assert attempt["arithmetic"]["hall"]["QuietNodes"] == {
        "raw": 99,
        "terms": [
            {"name": "an empty node", "value": 100, "unit": ""},
            {"name": "pods on the node", "value": -1, "unit": ""},
        ],
    }


def test_diagnosis_shows_facts_and_changes_of_the_plugin(package: Path) -> None:
    _, why = runnable(DOCUMENT, "sh")
    _run(package, why.text)
    answer = json.loads((package / "why.json").read_text())
    (cause,) = [one for one in answer["causes"] if one["plugin"] == "QuietNodes"]
    assert cause["why"] == "A quiet node takes no more pods."
    assert [one["object"] for one in cause["because"]] == ["node/library"]
    (fix,) = [one for one in answer["fixes"] if one["kind"] == "plugin"]
    assert fix["text"].startswith("Take the label example.com/quiet off library: it is bound to")


def test_the_plugin_over_columns_decides_the_same(package: Path) -> None:
    simple = json.dumps(_decisions(package))
    scenario = package / "quiet.yaml"
    scenario.write_text(scenario.read_text().replace("QuietNodes", "QuietColumns"))
    assert json.dumps(_decisions(package)) == simple.replace("QuietNodes", "QuietColumns")


def test_the_test_of_the_document_passes(package: Path) -> None:
    (package / "tests").symlink_to(ROOT / "tests")
    test = "from test_one_per_rack import test_a_rack_takes_one_pod as test; test()"
    _run(package, f'PYTHONPATH={quote(str(ROOT))}:. .venv/bin/python -c "{test}"')


_GANG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Gang}]}}
  pluginConfig: [{name: Gang, args: {size: 2}}]
"""


def _bound(package: Path, pods: Mapping[str, str]) -> set[str]:
    node = "kind: Node\napiVersion: v1\nmetadata: {name: node-a}\nstatus: {allocatable: {cpu: 4, pods: 9}}"
    made = [
        f"kind: Pod\napiVersion: v1\nmetadata: {{name: {name}}}\nspec: {spec}"
        for name, spec in pods.items()
    ]
    (package / "gang.yaml").write_text("\n---\n".join((_GANG, node, *made)) + "\n")
    command = ".venv/bin/python manage.py simulate gang.yaml --until 5s"
    events = [json.loads(line) for line in _run(package, command).splitlines()]
    return {event["object"] for event in events if event.get("kind") == "PodBound"}


def test_pods_of_a_gang_wait_for_each_other(package: Path) -> None:
    spec = "{containers: [{name: c, image: i}]}"
    assert _bound(package, {"one": spec}) == set()
    assert _bound(package, {"one": spec, "two": spec}) == {"pod/default/one", "pod/default/two"}


@pytest.mark.parametrize(
    ("protocol", "method"),
    [
        ("PreEnqueuePlugin", "pre_enqueue"),
        ("PreFilterPlugin", "pre_filter"),
        ("FilterPlugin", "filter"),
        ("PostFilterPlugin", "post_filter"),
        ("PreScorePlugin", "pre_score"),
        ("ScorePlugin", "score"),
        ("NormalizeScorePlugin", "normalize"),
        ("ReservePlugin", "reserve"),
        ("PermitPlugin", "permit"),
        ("PreBindPlugin", "pre_bind"),
        ("BindPlugin", "bind"),
        ("PostBindPlugin", "post_bind"),
    ],
)
def test_every_extension_point_is_in_the_table(protocol: str, method: str) -> None:
    point = protocol.removesuffix("Plugin")
    rows = [line for _, line in DOCUMENT.prose if line.startswith(f"| {point} | `{method}")]
    assert len(rows) == 1
    assert hasattr(getattr(framework, protocol), method)
