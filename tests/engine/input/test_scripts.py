"""What containers do, as it is read: entries of a scenario, and annotations of pods."""

import json
from typing import Any

import pytest

from engine.input.formats.written import documents_of
from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.objects.yaml_text import yaml_text

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "main", "image": "i", "command": ["sh", "-c", "sleep 10"]}]},
}


def load(containers: Any, *objects: dict[str, Any], header_first: bool = True) -> LoadResult:
    header = {
        "apiVersion": "kscope.dev/v1",
        "kind": "Scenario",
        "metadata": {"name": "case"},
        "spec": {"containers": containers},
    }
    documents = [header, *objects] if header_first else [*objects, header]
    return load_files([("a.yaml", "---\n".join(map(yaml_text, documents)).encode())])


def problems(*entries: Any) -> list[tuple[str, str]]:
    found = load([*entries]).problems
    return [(one.field, one.message) for one in found]


@pytest.mark.parametrize(
    ("entry", "field", "message"),
    [
        ({"runs": [{"for": "soon"}]}, "runs[0].for", '"soon" is not a duration like 500ms, 5s'),
        ({"runs": [{"exit": 256}]}, "runs[0].exit", "expected an integer from 0 to 255, found 256"),
        ({"runs": [{"code": 1}]}, "runs[0].code", "unknown field; known are "),
        ({"runs": "1s"}, "runs", "expected a list, found"),
        ({"readiness": "soon"}, "readiness", '"soon" is neither pass nor fail'),
        ({"readiness": "5s=pass, 2s=fail"}, "readiness", "the times must increase"),
        ({"liveness": {"times": 3}}, "liveness.times", "3 is neither pass nor fail"),
        (
            {"exec": [{"command": "mv", "then": {"readiness": "2s=fail"}}]},
            "exec[0].then.readiness",
            "is neither pass nor fail",
        ),
        ({"exec": [{"command": "mv", "then": {"pull": "fail"}}]}, "exec[0].then.pull", "unknown"),
        ({"image": 3}, "image", "expected a text, found 3"),
        ({"labels": "web"}, "labels", "expected a mapping"),
        ({"times": 0}, "times", "expected an integer from 1 to"),
        ({"index": [0, -1]}, "index[1]", "expected an integer from 0 to"),
        ({"logs": [{"at": "1s"}]}, "logs[0].text", "is missing"),
        ({"logs": [{"text": "a", "every": "0s"}]}, "logs[0].every", "must be longer than 0s"),
        ({"exec": [{"stdout": "a"}]}, "exec[0].command", "is missing"),
        ({"logs": ["${metadata.nam}"]}, "logs[0]", '"metadata.nam" stands for nothing; known are'),
        ({"logs": [{"text": "${file.mode:a}"}]}, "logs[0].text", '"file.mode:a" stands for'),
        ({"logs": [{"text": "a", "ifFile": "a"}]}, "logs[0].ifFile", "expected a path that begins"),
        ({"stop": {"after": -1}}, "stop.after", "-1 is not a duration"),
        ("web", "", "expected a mapping"),
    ],
)
def test_faults_name_their_field(entry: Any, field: str, message: str) -> None:
    ((found, said),) = problems(entry)
    assert found == f"spec.containers[0]{'.' if field else ''}{field}"
    assert said.startswith(message)


def test_a_fault_names_file_and_line() -> None:
    text = (
        "apiVersion: kscope.dev/v1\nkind: Scenario\nmetadata: {name: x}\nspec:\n"
        "  containers:\n    - runs:\n        - {exit: 300}\n"
    )
    ((problem),) = load_files([("a.yaml", text.encode())]).problems
    assert (problem.file, problem.line) == ("a.yaml", 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{runs: [{exit: x}]}", "expected an integer from 0 to 255"),
        ("[", "not YAML"),
        ("{command: ls}", "only entries of the scenario can name a command"),
        ("{<<: 3}", ""),
    ],
)
def test_an_annotation_is_checked_with_its_pod(text: str, message: str) -> None:
    for holder in (POD, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}):
        annotated = json.loads(json.dumps(holder))
        if holder is POD:
            annotated["metadata"]["annotations"] = {"kscope.dev/containers": text}
        else:
            template = {**POD, "metadata": {"annotations": {"kscope.dev/containers": text}}}
            spec = {**template["spec"], "restartPolicy": "Never"}
            annotated["spec"] = {"template": {"metadata": template["metadata"], "spec": spec}}
        found = load_files([("a.yaml", yaml_text(annotated).encode())]).problems
        assert found
        assert found[0].message.startswith(message)
        assert "annotations" in found[0].field


def test_a_scenario_is_written_as_it_was_read() -> None:
    entries = [
        {
            "pod": "web-*",
            "runs": [{"for": {"uniform": ["1s", "2s"]}, "exit": 1}],
            "readiness": "1s=pass",
            "logs": ["a", {"at": "1s", "every": "2s", "text": "b"}],
            "exec": [{"command": "ls*", "stdout": "x"}],
        }
    ]
    first = Scenario.from_load(load(entries), name="case")
    text = "---\n".join(yaml_text(one) for one in documents_of(first))
    again = Scenario.from_load(load_files([("b.yaml", text.encode())]), name="case")
    assert again.containers == first.containers == tuple(entries)
    assert Scenario.from_dict(first.to_dict()) == first


def test_scenarios_without_scripts_keep_their_form() -> None:
    header = {"apiVersion": "kscope.dev/v1", "kind": "Scenario", "metadata": {"name": "case"}}
    loaded = load_files([("a.yaml", yaml_text({**header, "spec": {}}).encode())])
    assert "containers" not in Scenario.from_load(loaded, name="case").to_dict()


def test_a_command_is_matched_and_not_kept() -> None:
    entries = [{"image": "other"}, {"command": "*sleep 10"}, {"command": "sh*"}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    result = load(entries, POD, deployment)
    assert result.problems == []
    pod, made = result.manifests
    assert pod["metadata"]["annotations"] == {"kscope.dev/commands": "main=1,2"}
    annotations = made["spec"]["template"]["metadata"]["annotations"]
    assert annotations["kscope.dev/commands"] == "main=1,2"
    assert "sleep" not in json.dumps(result.manifests)


def test_commands_read_before_the_header_are_refused() -> None:
    result = load([{"command": "*sleep*"}], POD, header_first=False)
    ((problem),) = result.problems
    assert problem.field == "spec.containers[0].command"
    assert load([{"image": "i"}], POD, header_first=False).ok
