"""The flags by which the program reads files: what of them, how much, and how."""

from pathlib import Path

import pytest

from tests.program.asked import ROOT, Program

SMALL = ROOT / "tests" / "real" / "small"
SNAPSHOT = str(next(SMALL.glob("11-*")))


def pods(*names: str) -> str:
    return "---\n".join(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {name}, labels: {{app: {name}}}}}\n"
        "spec: {containers: [{name: c}]}\n"
        for name in names
    )


@pytest.fixture
def two(tmp_path: Path) -> str:
    text = pods("shop", "bank")
    (tmp_path / "two.yaml").write_text(f"{text}# {'x' * 2048}\n")
    return str(tmp_path / "two.yaml")


@pytest.mark.parametrize("flag", ["--read-namespace=shop", "--read-selector=app=shop"])
def test_a_filter_leaves_other_objects_out(kscope: Program, two: str, flag: str) -> None:
    said = kscope("triage", two, flag)
    assert "1 left out: the filter lets other objects in" in said.err
    assert "1 cause holds 1 pod." in said.out


def test_a_kind_alone_is_read(kscope: Program, two: str) -> None:
    said = kscope("triage", two, "--read", "node")
    assert said.status == 2
    assert "nothing that kscope simulates was found" in said.err


def test_unknown_plugins_are_left_out_when_chosen(kscope: Program) -> None:
    refused = kscope("triage", SNAPSHOT)
    assert (refused.status, "--ignore-unknown-plugins" in refused.err) == (2, True)
    read = kscope("triage", SNAPSHOT, "--ignore-unknown-plugins")
    assert "NodeResourcesFitWrapped of the configuration is read as NodeResourcesFit" in read.err


def test_a_file_beyond_max_bytes_is_refused(kscope: Program, two: str) -> None:
    assert kscope("triage", two, "--max-bytes", "1Mi").status in (0, 1)
    large = kscope("triage", two, "--max-bytes", "1100")
    assert (large.status, "larger than" in large.err) == (2, True)
    wrong = kscope("triage", two, "--max-bytes", "many")
    assert "--max-bytes: 'many' is no size; write it as 512Mi or 4Gi" in wrong.err
