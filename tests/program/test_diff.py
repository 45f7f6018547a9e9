"""`kscope diff`: which pods another version decides otherwise, and by which rule."""

import json

from tests.program.asked import Program

TWO = ("--profile", "v1.34", "--profile", "v1.36")


def test_each_difference_has_its_rule(kscope: Program) -> None:
    said = kscope("diff", *TWO, "gpu-pool.yaml", "-q")
    assert said.status == 1
    assert said.lines[0] == (
        "2 of 3 pods are decided otherwise under v1.36: 1 gets a node, 1 another node. "
        "1 was not compared."
    )
    rows = [" ".join(line.split()) for line in said.lines[4:7]]
    assert rows[0] == (
        "+ ml/notebook-0 Insufficient example.com/gpu on gpu-1 gate DRAExtendedResource: off → on"
    )
    assert rows[1] == "~ shop/web-0 on gpu-1 (tie with gpu-2) on gpu-2 follows from ml/notebook-0"
    assert rows[2].startswith("? ml/train-0 not modelled under v1.34 waits")


def test_equal_decisions_say_what_is_worded_otherwise(kscope: Program) -> None:
    said = kscope("diff", *TWO, "prod-eu.yaml")
    assert said.status == 0
    assert said.lines[0] == (
        "No pod is decided otherwise: 34 stay where they are, 40 wait under both."
    )
    assert "The text of 40 refusals differs" in said.out


def test_what_cannot_be_compared_alone_is_unseen(kscope: Program) -> None:
    said = kscope("diff", *TWO, "gpu-pool.yaml", "pod/train-0", "-n", "ml", "-q")
    assert said.status == 3


def test_the_document_names_rule_and_pod(kscope: Program) -> None:
    found = json.loads(kscope("diff", *TWO, "gpu-pool.yaml", "-q", "-o", "json").out)
    assert (found["kind"], found["profiles"], found["complete"]) == (
        "Diff",
        ["v1.34", "v1.36"],
        False,
    )
    first, second, _ = found["pods"]
    assert first["rule"]["name"] == "DRAExtendedResource"
    assert (second["rule"], second["follows"]) == (None, "ml/notebook-0")


def test_a_version_beside_itself_differs_in_nothing(kscope: Program) -> None:
    said = kscope("diff", "--profile", "v1.36", "--profile", "v1.36", "gpu-pool.yaml", "-q")
    assert said.status == 0
