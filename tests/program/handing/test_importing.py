"""`kscope import --dry-run`: what was read of files, what was not, and what is open."""

import io
import json
import sys
from pathlib import Path

import pytest
import yaml

from tests.program.asked import Program

CONTAINERS = {"containers": [{"name": "app", "image": "app"}]}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-1"},
    "spec": {"nodeName": "n1", **CONTAINERS},
}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as people have it: two files of objects among others."""
    (tmp_path / "prod/sub").mkdir(parents=True)
    (tmp_path / "prod/nodes.json").write_text(json.dumps(NODE))
    (tmp_path / "prod/sub/pods.yaml").write_text(yaml.dump(POD))
    (tmp_path / "prod/values.yaml").write_text("replicas: 2\n")
    (tmp_path / "prod/README.md").write_text("# What this is\n")
    return tmp_path


def test_a_folder_is_read_file_by_file(kscope: Program, folder: Path) -> None:
    said = kscope("import", "--dry-run", "prod", folder=folder)
    assert (said.status, said.err) == (0, "")
    assert said.lines[0] == "2 objects were read from 2 of 4 files. Nothing is refused."
    assert said.lines[2:5] == [
        "READ                OBJECTS",
        "prod/nodes.json     1 Node",
        "prod/sub/pods.yaml  1 Pod",
    ]
    rows = " ".join(said.out.split())
    assert "prod/README.md its name does not end in" in rows
    assert "prod/values.yaml, document 1 it has neither apiVersion nor kind" in rows
    assert said.lines[-4:] == [
        "NOT MODELLED       none",
        "MISSPELLED FIELDS  none",
        "PLACEHOLDERS       none",
        "OPEN QUESTIONS     none",
    ]


def test_an_open_question_ends_with_three(kscope: Program, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(yaml.dump({**POD, "spec": CONTAINERS}))
    said = kscope("import", "--dry-run", "pod.yaml", folder=tmp_path)
    assert said.status == 3
    assert said.lines[0] == "1 object was read from 1 file. 1 question is open."
    assert "There are no nodes in these files" in said.out
    answered = kscope("import", "--dry-run", "pod.yaml", "--nodes", "1xm5.large", folder=tmp_path)
    assert (answered.status, "OPEN QUESTIONS     none" in answered.out) == (0, True)


def test_what_is_assumed_is_named(kscope: Program, tmp_path: Path) -> None:
    running = {**POD, "status": {"phase": "Running"}}
    (tmp_path / "pod.yaml").write_text(yaml.dump(running))
    said = kscope("import", "--dry-run", "-o", "json", "pod.yaml", folder=tmp_path)
    found = json.loads(said.out)
    assert (found["kind"], found["complete"], found["run"]) == ("Intake", False, None)
    assert found["files"] == [{"name": "pod.yaml", "documents": 1, "objects": {"Pod": 1}}]
    assert ("Node", "n1") in {(each["kind"], each["key"]) for each in found["placeholders"]}


def test_each_object_has_its_line(kscope: Program, folder: Path) -> None:
    lines = kscope("import", "--dry-run", "-o", "ndjson", "prod", folder=folder).lines
    found = [json.loads(line) for line in lines]
    assert [(each["object"], each["file"]) for each in found] == [
        ("Node/n1", "prod/nodes.json"),
        ("Pod/default/web-1", "prod/sub/pods.yaml"),
    ]
    wide = kscope("import", "--dry-run", "-o", "wide", "prod", folder=folder)
    assert any(
        line.split() == ["Node/n1", "prod/nodes.json,", "document", "1,", "line", "1"]
        for line in wide.lines
    )


def test_standard_input_is_read(kscope: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(json.dumps(NODE).encode()))
    monkeypatch.setattr(sys, "stdin", given)
    said = kscope("import", "--dry-run", "-")
    assert (said.status, said.lines[0]) == (0, "1 object was read from 1 file. Nothing is refused.")
    assert said.lines[3].split() == ["stdin", "1", "Node"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("kind: Pod\n", "apiVersion"),
        ("a: [\n", "pod.yaml"),
    ],
)
def test_what_is_unreadable_is_refused(
    kscope: Program, tmp_path: Path, text: str, error: str
) -> None:
    (tmp_path / "pod.yaml").write_text(text)
    said = kscope("import", "pod.yaml", "--server", "http://127.0.0.1:9/", folder=tmp_path)
    assert (said.status, said.out, error in said.err) == (2, "", True)


def test_a_misspelled_field_is_an_error_when_strict(kscope: Program, tmp_path: Path) -> None:
    spec = {"nodeName": "n1", "nodeSelektor": {"a": "b"}, **CONTAINERS}
    (tmp_path / "pod.yaml").write_text(yaml.dump_all([NODE, {**POD, "spec": spec}]))
    said = kscope("import", "--dry-run", "pod.yaml", folder=tmp_path)
    assert (said.status, "nodeSelektor" in said.out) == (0, True)
    strict = kscope("import", "--dry-run", "--strict", "pod.yaml", folder=tmp_path)
    assert (strict.status, strict.out, "nodeSelektor" in strict.err) == (2, "", True)
