"""`kscope simulate`: the summary, as it was designed, and the timeline."""

import json

from tests.program.asked import SCENARIOS, Program
from tests.program.transcripts import stdout_of

# Engine's own sentences, which the design had shorter, and the line that gives way to them.
WORDED_OTHERWISE = [
    "WAITS            SINCE   WHY",
    "ci/archive-1     8 s     claim ci/archive names volume pv-archive, which does not exist",
    "ml/train-0       10 s    fits none of 12 nodes: no node of the cluster has nvidia.com/gpu",
    "ml/train-2       12 s    gated: waiting for scheduling gates: [quota]",
]


def _words(lines: list[str]) -> list[str]:
    """Lines without their widths of columns, which the longest cell decides."""
    return [" ".join(line.split()) for line in lines]


def test_the_summary_is_as_it_was_designed(kscope: Program) -> None:
    said = kscope("simulate", "checkout-surge.yaml", folder=SCENARIOS)
    assert (said.status, said.err) == (0, "")
    wanted = [line for line in stdout_of("simulate") if line not in WORDED_OTHERWISE]
    missing = [line for line in _words(wanted) if line not in _words(said.lines)]
    assert missing == []


def test_what_waits_is_explained(kscope: Program) -> None:
    said = kscope("simulate", "checkout-surge.yaml", folder=SCENARIOS)
    text = " ".join(said.out.split())
    assert "ci/archive-1 8 s claim ci/archive names volume pv-archive, which does not exist" in text
    assert "No node of the cluster has nvidia.com/gpu" in text


def test_the_timeline_is_that_of_the_engine(kscope: Program) -> None:
    lines = kscope("simulate", "checkout-surge.yaml", "-o", "ndjson", folder=SCENARIOS).lines
    events = [json.loads(line) for line in lines]
    assert len(events) == 1_973
    assert [event["seq"] for event in events] == list(range(1, 1_974))


def test_the_document_counts_as_the_text(kscope: Program) -> None:
    said = kscope("simulate", "checkout-surge.yaml", "-o", "json", folder=SCENARIOS)
    found = json.loads(said.out)
    assert (found["kind"], found["seed"], found["events"]) == ("Summary", 11, 1_973)
    assert found["attempts"] == {"all": 323, "failed": 230}
    assert len(found["evicted"]) == 14
    web = next(each for each in found["workloads"] if each["workload"] == "shop/web")
    assert (web["pods"], web["running"], web["evicted"], web["waiting"]) == (62, 60, 2, 0)


def test_fail_on_makes_it_a_question(kscope: Program) -> None:
    said = kscope(
        "simulate", "checkout-surge.yaml", "--fail-on", "pending,evicted", folder=SCENARIOS
    )
    assert said.status == 1
    assert "warning: --fail-on: no pod waits at the end: 3 do" in said.err
    assert "warning: --fail-on: no pod is evicted: 14 are" in said.err


def test_a_budget_that_is_used_up_is_said(kscope: Program, tmp_path: object) -> None:
    text = (SCENARIOS / "checkout-surge.yaml").read_text()
    small = SCENARIOS.__class__(str(tmp_path)) / "small.yaml"
    small.write_text(text.replace("spec:\n", "spec:\n  budget: {events: 300}\n", 1))
    said = kscope("simulate", "small.yaml", folder=small.parent)
    assert said.status == 3
    assert "The rest was not played." in said.err
