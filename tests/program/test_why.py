"""`kscope why`: the sentence, the evidence that adds up, what was tried, and the status."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kscope.program.asking.why.text import _GOING_ON, _joined
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.builders.storage import claim, storage_class
from tests.program.asked import ROOT, SCENARIOS, Program


def test_a_refused_pod_says_the_arithmetic(kscope: Program) -> None:
    said = kscope("why", "prod-eu.yaml", "pod/checkout-api-13", "-n", "shop")
    assert said.status == 1
    assert said.lines[0].startswith("pod shop/checkout-api-13 waits: it fits none of 11 nodes")
    observed = "phase Pending. No condition and no Event of this pod is in the file."
    assert f"observed ? {observed}" in said.lines
    rows = [line for line in said.lines if re.match(r"\d+  +[A-Z]", line)]
    assert sum(int(row.split()[0]) for row in rows) == 11
    assert rows[0].startswith("6      NodeResourcesFit  memory: asks 6Gi, 5Gi of 31Gi free")
    assert rows[0].endswith("general-a1–a3, general-b1–b3")


def test_each_change_says_where_the_pod_goes(kscope: Program) -> None:
    said = kscope("why", "prod-eu.yaml", "pod/checkout-api-13", "-n", "shop")
    tried = [line for line in said.lines if line.startswith(("✓", "◐", "·"))]
    assert tried[0].startswith("✓ add 4 nodes like general-a1")
    assert tried[0].endswith("20 of 20")
    assert "to general-a1-more" in tried[0]
    shared = said.lines.index("  touches a shared policy")
    assert any("tolerate nvidia.com/gpu" in line for line in said.lines[shared:])


def test_a_running_pod_is_fine(kscope: Program) -> None:
    said = kscope("why", "prod-eu.yaml", "pod/ranker-0", "-n", "ml")
    assert said.status == 0
    assert said.lines[0] == "Nothing is wrong with pod ml/ranker-0: it runs on gpu-a1."
    assert "observed = phase Running" in said.out
    assert "           They agree." in said.lines


def test_the_namespace_that_was_taken_is_noted(kscope: Program) -> None:
    said = kscope("why", "prod-eu.yaml", "po/embeddings-0")
    assert said.err == "note: embeddings-0 is in namespace ml only; -n ml was taken\n"
    assert said.lines[0].startswith("pod ml/embeddings-0 waits")


def test_a_node_is_asked_by_its_short_name(kscope: Program) -> None:
    said = kscope("why", "prod-eu.yaml", "no/general-c1")
    assert said.status == 1
    assert said.lines[0].startswith("node general-c1 is stuck")


def test_the_document_keeps_todays_keys(kscope: Program) -> None:
    said = kscope("why", "prod-eu.yaml", "pod/checkout-api-13", "-n", "shop", "--json")
    found = json.loads(said.out)
    assert (found["kind"], found["is_stuck"]) == ("Why", True)
    assert "fixes" not in found
    assert {"state", "sentence", "causes", "observed", "predicted", "groups"} <= found.keys()
    assert found["changes"][0]["outcome"]


def test_a_played_instant_is_asked(kscope: Program) -> None:
    words = ("why", "checkout-surge.yaml", "pod/archive-1", "-n", "ci", "--at", "80s")
    said = kscope(*words, folder=SCENARIOS)
    assert said.status == 1
    assert said.lines[0].startswith("pod ci/archive-1 waits")
    assert said.lines[1] == "v1.34 · seed 11 · at 80.0 s of virtual time"


def test_an_instant_may_be_an_event(kscope: Program) -> None:
    words = ("why", "checkout-surge.yaml", "pod/archive-1", "-n", "ci")
    said = kscope(*words, "--at", "231", folder=SCENARIOS)
    assert said.lines[1] == "v1.34 · seed 11 · at 8.1 s of virtual time"
    beyond = kscope(*words, "--at", "999999", folder=SCENARIOS)
    assert beyond.status == 2
    assert "before event 999,999" in beyond.err


def test_no_change_is_tried_unasked(kscope: Program) -> None:
    words = ("why", "prod-eu.yaml", "pod/checkout-api-13", "-n", "shop", "--changes", "none")
    assert "TRIED" not in kscope(*words).out


def test_a_sentence_without_a_subject_gets_one() -> None:
    from engine.kernel.sentences import say, together

    closest = say(
        "Fits none of {nodes} nodes; closest is {node}: {why}.", nodes=3, node="n", why="x"
    )
    whole = together(closest, say("No node is ready."))
    assert _joined("pod a waits", whole) == (
        "pod a waits: it fits none of 3 nodes; closest is n: x. No node is ready."
    )
    leaving = say("Waits for {pods} to leave {node}.", pods="b", node="n")
    assert _joined("pod a waits", leaving) == "pod a waits: for b to leave n."
    named = say("{pod} has a name of its own.", pod="Fits none")
    assert _joined("pod a waits", named) == "pod a waits: fits none has a name of its own."


def test_patterns_that_go_on_are_the_engines() -> None:
    source = "".join(
        path.read_text()
        for path in (
            ROOT / "engine" / "diagnosis" / "headline.py",
            ROOT / "engine" / "diagnosis" / "subjects" / "pods" / "nomination.py",
        )
    )
    assert all(f'"{pattern}"' in source for pattern in _GOING_ON)


def test_an_answer_names_what_it_assumes(kscope: Program, tmp_path: Path) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop, uid: u}\n"
        "spec: {nodeName: gone, containers: [{name: c}]}\nstatus: {phase: Running}\n"
    )
    (tmp_path / "pod.yaml").write_text(text)
    said = kscope("why", str(tmp_path / "pod.yaml"), "pod/a")
    assert any(line.startswith("assumed    Node gone is not in these files") for line in said.lines)
    itself = kscope("why", str(tmp_path / "pod.yaml"), "node/gone")
    assert itself.lines[0].startswith("Node gone is not in these files, so nothing is known of it")
    assert "simulated" not in itself.out


def _waiting(ready: str) -> dict[str, Any]:
    resize = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    ready_at = "2026-11-20T11:00:00Z"
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": ready_at}, resize]
    return {"phase": "Running", "conditions": conditions}


@pytest.mark.parametrize(
    ("status", "begins"),
    [
        ({"phase": "Failed", "reason": "Evicted"}, "pod default/web has failed: Evicted."),
        (_waiting("True"), "pod default/web runs on n1"),
        (_waiting("False"), "pod default/web runs on n1 and is not ready"),
    ],
    ids=["failed", "ready", "unready"],
)
def test_headline_says_how_a_pod_stands(
    kscope: Program, tmp_path: Path, status: dict[str, Any], begins: str
) -> None:
    file = tmp_path / "cluster.yaml"
    web = {**pod("web", cpu="64", nodeName="n1"), "status": status}
    file.write_text(yaml.safe_dump_all([node("n1"), web]))
    assert kscope("why", str(file), "pod/web").lines[0].startswith(begins)


def test_claim_without_a_consumer_is_well(kscope: Program, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    slow = storage_class("slow", volumeBindingMode="WaitForFirstConsumer")
    file.write_text(yaml.safe_dump_all([node("n1"), slow, claim("data", "slow")]))
    said = kscope("why", str(file), "pvc/data")
    assert said.status == 0
    assert said.lines[0].startswith("Nothing is wrong with persistentvolumeclaim default/data: ")
