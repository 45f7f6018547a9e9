"""What is wrong with files, as it was designed: the place, the line itself, what to type instead."""

from pathlib import Path

import pytest

from tests.program.asked import DATA, ROOT, Asked, Program

SMALL = ROOT / "tests" / "real" / "small"


def _asked(kscope: Program, *words: str, folder: Path = SMALL) -> Asked:
    return kscope("triage", *words, folder=folder)


def test_a_template_is_shown_with_its_action(kscope: Program) -> None:
    said = _asked(kscope, "17-helm-template.yaml")
    assert (said.status, said.out) == (2, "")
    assert said.err == (
        "error: 17-helm-template.yaml is a Helm template, not a manifest\n"
        "  --> 17-helm-template.yaml:3:18, document 1\n"
        "      3 | metadata: {name: {{ .Release.Name }}}\n"
        "        |                  ^^^^^^^^^^^^^^^^^^^\n"
        "  help: render it first: helm template . | kscope triage -\n"
    )


def test_what_is_no_yaml_is_shown(kscope: Program, tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n spec: {}\n"
    (tmp_path / "web.yaml").write_text(text)
    said = _asked(kscope, "web.yaml", folder=tmp_path)
    assert said.status == 2
    assert said.err.splitlines() == [
        "error: web.yaml is not YAML",
        "  --> web.yaml:5, document 1",
        "      5 |  spec: {}",
        "        |  ^ did not find expected key",
        "  help: Nothing was read.",
    ]


def test_a_folder_without_manifests_is_listed(kscope: Program, tmp_path: Path) -> None:
    (tmp_path / "charts" / "templates").mkdir(parents=True)
    (tmp_path / "charts" / "values.yaml").write_text("replicas: 1\n")
    (tmp_path / "charts" / "README.md").write_text("text\n")
    (tmp_path / "charts" / "templates" / "a.yaml").write_text("metadata: {name: {{ .Name }}}\n")
    said = _asked(kscope, "charts", folder=tmp_path)
    assert said.status == 2
    lines = said.err.splitlines()
    assert lines[0] == "error: nothing to read in charts: none of 3 files is a manifest"
    named = [line.removeprefix("  -->").split()[0] for line in lines[1:4]]
    assert named == ["charts/README.md", "charts/templates/a.yaml", "charts/values.yaml"]
    assert lines[4] == "  help: render it first: helm template CHART | kscope triage -"


def test_unknown_fields_are_counted_and_named(kscope: Program) -> None:
    said = _asked(kscope, "01-unknown-field.json")
    assert said.status == 0
    text = " ".join(said.err.split())
    assert text.startswith("warning: 2 fields are not known and were not used -->")
    assert "spec.nodeSelectors: the nearest is spec.nodeSelector (Pod typo)" in text
    assert "help treat this as an error, as kubectl apply does: --strict" in text
    strict = _asked(kscope, "01-unknown-field.json", "--strict")
    assert (strict.status, strict.out) == (2, "")
    assert strict.err.startswith("error: 2 fields are not known\n  --> 01-unknown-field.json")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (
            ["why", "prod-eu.yaml", "pod/ranker-0", "-n", "ml"],
            "phase Running on gpu-a1. No condition, container state or Event of it is in the file.",
        ),
        (
            ["why", "prod-eu.yaml", "pod/embeddings-0", "-n", "ml"],
            "phase Pending. No condition and no Event of this pod is in the file.",
        ),
    ],
    ids=["placed", "waiting"],
)
def test_that_nothing_was_observed_is_said(kscope: Program, words: list[str], first: str) -> None:
    said = kscope(*words, folder=DATA)
    assert first in " ".join(said.out.split())


def test_the_rest_of_a_file_is_counted(kscope: Program) -> None:
    said = kscope("why", "prod-eu.yaml", "pod/ranker-0", "-n", "ml", folder=DATA)
    assert said.lines[-1] == (
        "next       kscope triage prod-eu.yaml     # 40 other pods wait in this file"
    )


def test_kinds_narrow_what_is_read(kscope: Program) -> None:
    said = kscope("triage", "prod-eu.yaml", "--read", "no,po", folder=DATA)
    assert said.lines[1].startswith("11 nodes, 74 pods · v1.34")


def test_an_instant_may_be_a_time_of_day(kscope: Program) -> None:
    words = ("why", "prod-eu.yaml", "pod/ranker-0", "-n", "ml", "--at", "2026-11-27T14:20:00Z")
    said = kscope(*words, folder=DATA)
    assert (said.status, "no clock" in said.err or "begins at" in said.err) == (2, True)
