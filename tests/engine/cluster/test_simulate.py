"""`manage.py simulate`: files in, decisions or events out, bad input told with its place."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from engine.cluster import playing

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: c, image: app, resources: {requests: {cpu: 500m}}}]}
"""


def _write(folder: Path, name: str, *documents: str) -> Path:
    path = folder / name
    path.write_text("---\n".join(documents))
    return path


def _simulate(*arguments: Any) -> None:
    call_command("simulate", *map(str, arguments))


def test_decisions_of_one_file_go_into_one_file(tmp_path: Path) -> None:
    source, out = _write(tmp_path, "one.yaml", NODE, POD), tmp_path / "out.json"
    _simulate(source, "--mode", "decisions", "-o", out)
    decided = json.loads(out.read_text())
    assert decided["profile"] == "v1.36"
    assert decided["final"]["pods"] == {"default/web": "n1"}


def test_several_scenarios_give_a_file_each(tmp_path: Path) -> None:
    _write(tmp_path, "a.yaml", NODE, POD)
    _write(tmp_path, "b.yaml", NODE)
    out = tmp_path / "out"
    _simulate(tmp_path, "--mode", "decisions", "--profile", "v1.16", "-o", out)
    assert sorted(path.name for path in out.iterdir()) == ["a.json", "b.json"]


def test_evidence_can_be_left_out(tmp_path: Path) -> None:
    source, out = _write(tmp_path, "one.yaml", NODE, POD), tmp_path / "out.json"
    _simulate(source, "--mode", "decisions", "--no-evidence", "-o", out)
    attempt = json.loads(out.read_text())["attempts"][0]
    assert (attempt["filters"], attempt["scores"], attempt["node"]) == ({}, {}, "n1")


def test_room_is_kept_for_pods_bringing_a_nomination(tmp_path: Path) -> None:
    """Upstream: nominator.go; gated pods are not in it."""
    waiting = POD.replace("web", "waiting").replace("500m", "2").rstrip().removesuffix("}")
    waiting += ", priority: 5, preemptionPolicy: Never%s}\nstatus: {nominatedNodeName: n1}\n"
    filler = POD.replace("web", "filler").replace("500m", '"1"').rstrip().removesuffix("}")
    filler += ", nodeName: n1, priority: 9}\n"
    for more, expected in (("", ""), (", schedulingGates: [{name: x}]", "n1")):
        source = _write(tmp_path, "one.yaml", NODE, filler, POD, waiting % more)
        _simulate(source, "--mode", "decisions", "-o", tmp_path / "out.json")
        decided = json.loads((tmp_path / "out.json").read_text())
        assert decided["final"]["pods"]["default/waiting"] == ""
        assert decided["final"]["pods"]["default/web"] == expected


def test_run_writes_one_event_per_line(tmp_path: Path) -> None:
    source, out = _write(tmp_path, "one.yaml", NODE, POD), tmp_path / "out.ndjson"
    _simulate(source, "--until", "1m", "-o", out)
    events = [json.loads(line) for line in out.read_text().splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert "PodBound" in {event["kind"] for event in events}


def test_bad_input_names_file_line_and_field(tmp_path: Path) -> None:
    source = _write(tmp_path, "bad.yaml", POD.replace("500m", "5x"))
    with pytest.raises(CommandError) as told:
        _simulate(source, "--mode", "decisions")
    assert told.value.returncode == 2
    assert "bad.yaml, document 1, line 5" in str(told.value)
    assert "requests.cpu" in str(told.value)


def test_missing_file_is_reported_clearly(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no such file or folder"):
        _simulate(tmp_path / "nowhere.yaml")


def test_unknown_priority_class_is_reported(tmp_path: Path) -> None:
    named = POD.replace("spec: {", "spec: {priorityClassName: nope, ")
    source = _write(tmp_path, "one.yaml", NODE, named)
    with pytest.raises(CommandError, match="no PriorityClass with name nope was found"):
        _simulate(source, "--mode", "decisions")


@pytest.mark.parametrize("mode", ["run", "decisions"])
def test_admission_refusal_has_a_place_under_own_profiles(mode: str, tmp_path: Path) -> None:
    spec = 'spec: {priorityClassName: "nope", '
    source = _write(tmp_path, "one.yaml", NODE, POD.replace("spec: {", spec))
    with pytest.raises(CommandError, match=r"document 2, line 8, spec\.priorityClassName: no "):
        _simulate(source, "--mode", mode, "--profile", "v1.16")


@pytest.mark.parametrize("mode", ["run", "decisions"])
def test_place_that_cannot_be_written_to_is_reported(mode: str, tmp_path: Path) -> None:
    source = _write(tmp_path, "one.yaml", NODE)
    with pytest.raises(CommandError, match="absent/out: No such file or directory"):
        _simulate(source, "--mode", mode, "--until", "1s", "-o", tmp_path / "absent" / "out")


def test_a_seed_has_64_bits(tmp_path: Path) -> None:
    source = _write(tmp_path, "one.yaml", NODE)
    with pytest.raises(CommandError, match="--seed: 9{20} is not a 64-bit integer"):
        _simulate(source, "--until", "1s", "--seed", "9" * 20)


def test_reason_of_a_waiting_pod_comes_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = POD.replace("500m", "3").replace("name: web", "name: large")
    source = _write(tmp_path, "one.yaml", NODE, large)
    _simulate(source, "--until", "10s", "--why", "large")
    told = capsys.readouterr().out
    assert told.startswith("default/large (unschedulable): Does not fit n1, the only node: cpu 1 ")
    assert "1. Ask for 2 cpu instead of 3: it is bound to n1 at 10.008 s. (tried in a fork)" in told
    _simulate(source, "--until", "10s", "--why", "default/large", "--json")
    assert json.loads(capsys.readouterr().out)["check"]["short"] == 1000
    with pytest.raises(CommandError, match="at 10 s there is no pod default/nobody") as refused:
        _simulate(source, "--until", "10s", "--why", "nobody")
    assert refused.value.returncode == 2


def test_any_object_can_be_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(_write(tmp_path, "one.yaml", NODE, POD))
    call_command("why", source, "node", "n1", "--until", "10s")
    assert capsys.readouterr().out.startswith("node/n1 (well): Nothing is wrong with Node n1.")
    with pytest.raises(CommandError, match="known kinds are claim, cronjob, daemonset"):
        call_command("why", source, "secret", "s")


def test_why_needs_a_run(tmp_path: Path) -> None:
    source = _write(tmp_path, "one.yaml", NODE, POD)
    with pytest.raises(CommandError, match="--why needs a run"):
        _simulate(source, "--mode", "decisions", "--why", "web")


def test_a_run_is_checked_for_determinism(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = _write(tmp_path, "one.yaml", NODE, POD)
    _simulate(source, "--until", "10s", "--check-determinism")
    assert capsys.readouterr().out == "The run has one history, however it is cut.\n"
    with pytest.raises(CommandError, match="--check-determinism needs a run"):
        _simulate(source, "--mode", "decisions", "--check-determinism")


_MANY = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2147483647
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: app}]}
"""


def test_replicas_beyond_all_measure_end_with_a_reason(tmp_path: Path) -> None:
    path = _write(tmp_path, "many.yaml", _MANY)
    with pytest.raises(CommandError, match="asks for 2,147,48.*--max-objects") as error:
        _simulate(path, "-o", tmp_path / "out")
    assert error.value.returncode == 3


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--max-events", "12", "12 events"),
        ("--max-time", "2s", "2 s of virtual time"),
        ("--max-memory", "1Mi", "1 MiB of memory"),
    ],
)
def test_a_budget_ends_a_simulation(
    option: str, value: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "_STEPS_PER_SLICE", 10)
    path = _write(tmp_path, "few.yaml", _MANY.replace("2147483647", "30"))
    with pytest.raises(CommandError, match=f"Stopped at {words}.*{option}"):
        _simulate(path, "-o", tmp_path / "out", option, value)


def test_a_scenario_may_lower_its_budget(tmp_path: Path) -> None:
    header = {
        "apiVersion": "kscope.dev/v1",
        "kind": "Scenario",
        "metadata": {"name": "s"},
        "spec": {"budget": {"events": 12}},
    }
    path = _write(tmp_path, "few.yaml", _MANY.replace("2147483647", "30"), json.dumps(header))
    with pytest.raises(CommandError, match="Stopped at 12 events"):
        _simulate(path, "-o", tmp_path / "out")


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"events": 0}, "spec.budget.events: 0 is not between"),
        ({"events": 9_000_000}, "a scenario may ask for at most 2,000,000 events"),
        ({"pods": 3}, "spec.budget.pods: unknown field"),
        ({"time": "soon"}, '"soon" is not a duration'),
    ],
)
def test_a_wrong_budget_of_a_scenario_is_refused(
    budget: dict[str, Any], message: str, tmp_path: Path
) -> None:
    header = {
        "apiVersion": "kscope.dev/v1",
        "kind": "Scenario",
        "metadata": {"name": "s"},
        "spec": {"budget": budget},
    }
    path = _write(tmp_path, "few.yaml", _MANY.replace("2147483647", "30"), json.dumps(header))
    with pytest.raises(CommandError, match=message):
        _simulate(path)


@pytest.mark.parametrize("value", ["0", "many", "-1"])
def test_a_limit_that_is_no_amount_is_refused(value: str, tmp_path: Path) -> None:
    path = _write(tmp_path, "few.yaml", _MANY)
    with pytest.raises(CommandError, match="--max-events"):
        _simulate(path, f"--max-events={value}")
