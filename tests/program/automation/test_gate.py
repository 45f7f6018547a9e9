"""`kscope test`: expectations of scenarios, what does not hold and why, and reports."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.program.asked import ROOT, Program

SCENARIO = """\
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {{name: gate}}
spec:
  duration: 60s
  profile: v1.34
  expect:
{expect}
---
apiVersion: v1
kind: Node
metadata: {{name: n1, labels: {{topology.kubernetes.io/zone: a}}}}
status:
  capacity: {{cpu: '2', memory: 4Gi, pods: '10'}}
  allocatable: {{cpu: '2', memory: 4Gi, pods: '10'}}
  conditions: [{{type: Ready, status: 'True'}}]
---
apiVersion: v1
kind: Pod
metadata: {{name: web-0, labels: {{app: web}}}}
spec: {{containers: [{{name: c, image: x, resources: {{requests: {{cpu: '1'}}}}}}]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: web}}
spec: {{minAvailable: 1, selector: {{matchLabels: {{app: web}}}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: web-1, labels: {{app: web}}}}
spec: {{containers: [{{name: c, image: x, resources: {{requests: {{cpu: '4'}}}}}}]}}
"""
HOLDS = [
    "{pod: web-0, bound: true}",
    "{pod: default/web-0, node: n1}",
    "{pod: web-0, zone: a}",
    "{pod: web-0, phase: Running, evicted: false, waitsAtMost: 5s}",
    "{pod: web-1, bound: false}",
    "{pod: web-1, refused: NodeResourcesFit}",
    "{pod: web-1, refused: Insufficient cpu}",
    "{pods: {selector: app=web}, placed: 1, waiting: 1, running: 1, evicted: 0}",
    "{pods: {namespace: default}, placed: {atLeast: 1, atMost: 2}}",
    "{pods: {namespace: nowhere}, placed: 0}",
    "{nodes: {selector: topology.kubernetes.io/zone=a}, utilisation: {cpu: {atMost: 50%}}}",
    "{nodes: {}, utilisation: {cpu: {atLeast: 50%}, pods: {atLeast: 10%, atMost: 10%}}}",
    "{budget: web, kept: true}",
]
FAILS = {
    "{pod: web-1, bound: true}": "pod default/web-1 is bound: it waits.",
    "{pod: web-0, bound: false}": "pod default/web-0 is not bound: on n1.",
    "{pod: web-0, node: n2}": "pod default/web-0 is on node n2: on n1.",
    "{pod: web-0, zone: b}": "pod default/web-0 is in zone b: on n1, in a.",
    "{pod: web-0, refused: true}": "pod default/web-0 is refused: on n1.",
    "{pod: web-1, refused: TaintToleration}": (
        "pod default/web-1 is refused by TaintToleration: refused by NodeResourcesFit."
    ),
    "{pod: web-1, waitsAtMost: 5s}": "pod default/web-1 waits at most 5 s:",
    "{pod: web-2, bound: true}": "pod default/web-2 is bound: there is no such pod in the run.",
    "{pods: {selector: app=web}, placed: 2}": "2 pods of app=web are placed: 1 of 2 is.",
    "{nodes: {}, utilisation: {cpu: {atLeast: 51%}}}": (
        "pods ask for cpu at least 51 % of nodes: cpu 50 %."
    ),
    "{nodes: {selector: pool=a}, utilisation: {cpu: {atMost: 90%}}}": (
        "pods ask for cpu at most 90 % of nodes of pool=a: there are no such nodes at the end."
    ),
    "{budget: web, kept: false}": "budget default/web is not kept: it was kept.",
    "{budget: shop, kept: true}": "budget default/shop is kept: there is no such budget in the run.",
    "{claim: data, bound: true}": "claim default/data is bound: there is no such claim at the end.",
}


def _write(folder: Path, *expectations: str, name: str = "gate.yaml") -> Path:
    expect = "\n".join(f"  - {each}" for each in expectations)
    file = folder / name
    file.write_text(SCENARIO.format(expect=expect))
    return file


def test_what_holds_is_counted(kscope: Program, tmp_path: Path) -> None:
    _write(tmp_path, *HOLDS)
    said = kscope("test", "gate.yaml", folder=tmp_path)
    assert said.status == 0, said.out
    assert said.lines[0].startswith("ok    gate.yaml   18 of 18")
    assert said.lines[-1].startswith("1 scenario, 18 expectations: 18 hold.")


@pytest.mark.parametrize("expectation", FAILS)
def test_what_does_not_hold_says_what_is(kscope: Program, tmp_path: Path, expectation: str) -> None:
    _write(tmp_path, expectation)
    said = kscope("test", "gate.yaml", folder=tmp_path)
    assert said.status == 1
    assert said.lines[0].startswith("FAIL  gate.yaml   0 of 1")
    assert f"gate.yaml:8  {FAILS[expectation]}" in " ".join(said.out.split()).replace(
        "gate.yaml:8 ", "gate.yaml:8  "
    )


def test_a_failure_shows_its_line_and_why(kscope: Program, tmp_path: Path) -> None:
    _write(tmp_path, "{pod: web-0, bound: true}", "{pods: {selector: app=web}, placed: 2}")
    said = kscope("test", "gate.yaml", folder=tmp_path)
    line = "   9 |   - {pods: {selector: app=web}, placed: 2}"
    assert line in said.lines
    assert f"{'     |'.ljust(line.index('2}'))}^ 1 of 2 is" in said.lines
    assert "   next       kscope why gate.yaml pod/web-1 -n default" in said.lines
    assert any(line.startswith("   why        default/web-1: ") for line in said.lines)
    assert any(line.startswith("   tried      ") for line in said.lines)


def test_reports_are_written_beside_the_answer(kscope: Program, tmp_path: Path) -> None:
    _write(tmp_path, "{pod: web-0, bound: true}", "{pod: web-1, bound: true}")
    said = kscope("test", ".", "--junit", "r.xml", "--sarif", "r.sarif", folder=tmp_path)
    assert "wrote r.xml (JUnit, 2 cases, 1 failure)" in said.err
    root = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    failed = [case for case in root.iter("testcase") if case.find("failure") is not None]
    assert [(case.get("name"), case.get("line")) for case in failed] == [
        ("pod default/web-1 is bound", "9")
    ]
    (result,) = json.loads((tmp_path / "r.sarif").read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 9}


def test_annotations_are_for_github_alone(kscope: Program, tmp_path: Path) -> None:
    _write(tmp_path, "{pod: web-1, bound: true}")
    assert "::error" not in kscope("test", "gate.yaml", folder=tmp_path).out
    said = kscope("test", "gate.yaml", folder=tmp_path, GITHUB_ACTIONS="true")
    assert said.lines[0].startswith(
        "::error file=gate.yaml,line=8,title=pod default/web-1 is bound::it waits"
    )


def test_flags_expect_without_any_expectation(kscope: Program, tmp_path: Path) -> None:
    file = _write(tmp_path, "{pod: web-0, bound: true}")
    file.write_text(file.read_text().replace("  expect:\n  - {pod: web-0, bound: true}\n", ""))
    assert kscope("test", "gate.yaml", folder=tmp_path).status == 2
    said = kscope("test", "gate.yaml", "--fail-on", "pending,evicted", folder=tmp_path)
    assert said.status == 1
    assert "gate.yaml  no pod waits at the end: 1 does." in said.lines


@pytest.mark.parametrize(
    ("expectation", "problem"),
    [
        ("{pod: a, bund: true}", "spec.expect[0].bund"),
        ("{pod: a, bound: 3}", "expected true or false, found 3"),
        ("{pods: {selector: web}, placed: 1}", "expected labels such as app=web,tier=front"),
        ("{pods: {}, placed: -1}", "expected a count"),
        (
            "{pod: a, claim: b, bound: true}",
            "expected one of pod, pods, claim, nodes, budget, found pod, claim",
        ),
        ("{pod: a}", "nothing is expected"),
        ("{pod: a, waitsAtMost: soon}", "expected a duration"),
        ("{nodes: {}, utilisation: {cpu: 90}}", "expected a mapping such as {cpu: {atLeast: 40%"),
        ("{nodes: {namespace: a}, utilisation: {cpu: {atMost: 1%}}}", "expected selector"),
    ],
)
def test_a_broken_expectation_is_refused_with_its_place(
    kscope: Program, tmp_path: Path, expectation: str, problem: str
) -> None:
    _write(tmp_path, expectation)
    said = kscope("test", "gate.yaml", folder=tmp_path)
    assert said.status == 2
    assert problem in said.err
    assert "--> gate.yaml:8, document 1" in said.err


def test_a_broken_budget_says_when_it_broke(kscope: Program, tmp_path: Path) -> None:
    text = (ROOT / "scenarios" / "budget-cascade.yaml").read_text()
    expect = "  duration: 1m\n  expect: [{budget: web, kept: true}]\n"
    (tmp_path / "cascade.yaml").write_text(text.replace("  duration: 1m\n", expect, 1))
    said = kscope("test", "cascade.yaml", folder=tmp_path)
    assert said.status == 1
    assert "budget default/web is kept: 0 of 1 healthy pods at 11.0 s." in said.out


def test_expectations_change_no_digest(tmp_path: Path) -> None:
    from engine.input.loader import load_paths
    from engine.input.scenario import Scenario

    with_them = load_paths([_write(tmp_path, "{pod: web-0, bound: true}")])
    text = (tmp_path / "gate.yaml").read_text()
    without = tmp_path / "without.yaml"
    without.write_text(text.replace("  expect:\n  - {pod: web-0, bound: true}\n", ""))
    first, second = (
        Scenario.from_load(each, name="a") for each in (with_them, load_paths([without]))
    )
    assert first.to_dict() == second.to_dict()
    assert len(with_them.expectations) == 1
