"""`kscope triage`: the answer, its formats, and what narrows it."""

import json
from pathlib import Path

import pytest
import yaml

from tests.builders.nodes import node
from tests.program.asked import DATA, ROOT, Asked, Program


@pytest.fixture(scope="module")
def document() -> dict[str, object]:
    """The keys that the documented shape of Triage has."""
    group = {
        *("kind", "cause", "by", "observed", "predicted", "contradicts", "since", "pods"),
        *("pods_missing", "claims", "workloads", "namespaces", "objects", "changes"),
    }
    whole = {
        *("apiVersion", "kind", "complete", "profile", "instant", "instant_from", "headline"),
        *("counts", "unseen", "groups", "together"),
    }
    change = {"text", "kind", "places", "of", "loses", "shared"}
    return {"whole": whole, "group": group, "change": change}


@pytest.fixture
def stuck(kscope: Program) -> Asked:
    return kscope("triage", "prod-eu.yaml")


def test_the_first_screen_has_all_causes(stuck: Asked) -> None:
    assert stuck.status == 1
    assert stuck.lines[:2] == [
        "3 causes hold 40 pods.",
        "11 nodes, 74 pods, 8 claims · v1.34 · as the file stands; nothing was played",
    ]
    assert stuck.lines[3:6] == [
        "   PODS  CAUSE                                        BEST CHANGE TRIED              PLACES",
        "1  20    memory 1Gi short on each of 6 general nodes  ✓ add 4 nodes like general-a1  20 of 20",
        "2  12    taint nvidia.com/gpu is not tolerated        ✓ tolerate it                  12 of 12",
    ]
    assert (
        "All three together: 40 of 40 placed. No running pod is moved, no data is lost."
        in stuck.out
    )


def test_a_card_counts_all_nodes_by_their_reason(stuck: Asked) -> None:
    card = stuck.out.partition("\n\n1  ")[2].partition("\n\n2  ")[0].splitlines()
    begin = next(place for place, line in enumerate(card) if line.startswith("   nodes "))
    assert card[begin] == (
        "   nodes      6  memory 1Gi short: 26Gi of 31Gi requested on each  general-a1–a3, general-b1–b3"
    )
    rows = [line.split()[0] for line in card[begin + 1 : begin + 4]]
    assert 6 + sum(map(int, rows)) == 11


def test_upstreams_message_is_quoted_word_for_word(stuck: Asked) -> None:
    text = " ".join(stuck.out.split())
    assert "6 Insufficient memory, 6 Insufficient nvidia.com/gpu. (all 12 pods)" in text
    assert "6 node(s) didn't match PersistentVolume's node affinity. (all 8 pods)" in text


def test_next_can_be_copied_and_holds(kscope: Program, stuck: Asked) -> None:
    assert "   next       kscope triage prod-eu.yaml --nodes 4xgeneral-a1" in stuck.lines
    again = kscope("triage", "prod-eu.yaml", "--nodes", "4xgeneral-a1")
    assert again.lines[1].startswith("15 nodes, 74 pods")
    held = sum(int(line.split()[1]) for line in again.lines[4:7] if line[:1].isdigit())
    assert held < 40


def test_what_is_not_known_is_a_note(kscope: Program, stuck: Asked) -> None:
    note = (
        "note: no times and no Events are in this file, so since when anything waits is not known\n"
    )
    assert stuck.err == note
    assert kscope("triage", "prod-eu.yaml", "-q").err == ""


def test_nothing_stuck_says_what_was_looked_at(kscope: Program) -> None:
    said = kscope("triage", "healthy.yaml")
    assert said.status == 0
    assert said.lines[:2] == [
        "Nothing is stuck.",
        "10 nodes, 34 pods, 0 claims · v1.34 · as the file stands; nothing was played",
    ]
    for words in (
        "nodes",
        "claims and volumes",
        "workloads, quotas, budgets",
        "attachments and mounts",
    ):
        assert any(line.startswith(words) for line in said.lines), words
    assert said.lines[-1].strip() == "kscope diff --profile v1.34 --profile v1.36 healthy.yaml"


def test_the_document_has_the_promised_fields(
    kscope: Program, document: dict[str, set[str]]
) -> None:
    found = json.loads(kscope("triage", "prod-eu.yaml", "-o", "json").out)
    assert (found["apiVersion"], found["kind"]) == ("kscope.dev/v1", "Triage")
    assert document["whole"] <= found.keys()
    for group in found["groups"]:
        assert document["group"] <= group.keys()
        assert all(document["change"] <= change.keys() for change in group["changes"])
    assert found["counts"] == {
        "nodes": 11,
        "pods": 74,
        "claims": 8,
        "held": {"pods": 40, "claims": 0},
        "pods_missing": 0,
    }
    assert found["groups"][0]["since"] is None
    assert found["groups"][0]["changes"][0]["kind"] == "buy"
    assert found["together"] == {
        "changes": [[0, 0], [1, 0], [2, 0]],
        "places": 40,
        "of": 40,
        "moves": 0,
        "loses": None,
    }


def test_yaml_and_json_lines_say_the_same(kscope: Program) -> None:
    as_json = json.loads(kscope("triage", "prod-eu.yaml", "-o", "json").out)
    as_yaml = yaml.safe_load(kscope("triage", "prod-eu.yaml", "-o", "yaml").out)
    head, *groups = map(json.loads, kscope("triage", "prod-eu.yaml", "-o", "ndjson").lines)
    for each in (as_yaml, head):
        each["instant"] = as_json["instant"]
    assert as_yaml == as_json
    assert {**head, "groups": groups} == as_json


def test_a_namespace_narrows_the_answer_alone(kscope: Program) -> None:
    said = kscope("triage", "prod-eu.yaml", "-n", "ml")
    assert said.lines[0] == "1 cause holds 12 pods."
    assert said.lines[1].startswith("11 nodes, 74 pods, 8 claims")
    assert kscope("triage", "prod-eu.yaml", "-n", "nowhere").status == 0


def test_a_selector_narrows_the_answer_alone(kscope: Program) -> None:
    said = kscope("triage", "prod-eu.yaml", "-l", "app in (kafka,loki)")
    assert said.lines[0] == "1 cause holds 8 pods."


def test_wide_shortens_no_list(kscope: Program) -> None:
    said = kscope("triage", "prod-eu.yaml", "-o", "wide")
    assert "   held       batch/invoice-0" in said.lines
    assert "              shop/search-19" in said.lines


def test_a_narrow_terminal_loses_nothing(kscope: Program) -> None:
    said = kscope("triage", "prod-eu.yaml", COLUMNS="80")
    commands = [line for line in said.lines if "kscope why" in line or "kscope triage" in line]
    assert max(len(line) for line in said.lines if line not in commands) <= 80
    assert "1  20    memory 1Gi short on 6 nodes" in said.out
    assert "                 general-a1–a3, general-b1–b3" in said.lines


def test_standard_input_is_read_as_a_file(kscope: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    with (DATA / "prod-eu.yaml").open("rb") as file:
        monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": file})())
        said = kscope("triage", "-")
    assert said.lines[0] == "3 causes hold 40 pods."
    assert "--nodes" not in said.out


def test_files_without_nodes_leave_the_question_open(kscope: Program) -> None:
    asked = kscope("triage", "05-no-nodes.yaml", folder=ROOT / "tests" / "real" / "small")
    assert asked.status == 3
    assert asked.lines[0].startswith("There are no nodes in these files")


def test_a_folder_is_read_with_what_is_below(kscope: Program) -> None:
    asked = kscope("triage", "10-folder", folder=ROOT / "tests" / "real" / "small")
    assert asked.lines[1].startswith("2 nodes, 1 pod")
    assert "values.yaml, document 1 was skipped" in asked.err.replace("\n      ", " ")


def test_table_says_it_without_an_article(kscope: Program, tmp_path: Path) -> None:
    gated = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"containers": [{"name": "main"}], "schedulingGates": [{"name": "kueue.io/queue"}]},
    }
    file = tmp_path / "gated.yaml"
    file.write_text(yaml.safe_dump_all([gated, node("n1")]))
    assert "✓ remove it by hand" in kscope("triage", str(file)).out
