"""What happens to a cluster and when: headers, steps, recordings."""

import json
from typing import Any

import pytest

from engine.cluster.commands import VERBS
from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.scenario import STEP_VERBS, Scenario, parse_duration
from engine.kernel.latency import Latency
from engine.kernel.units import MILLISECOND, SECOND
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.configuration.scenario_schedulers import check_setup

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}


def load(**spec: Any) -> LoadResult:
    header = {"apiVersion": "kscope.dev/v1", "kind": "Scenario", "metadata": {"name": "case"}}
    text = json.dumps(header | {"spec": spec}).encode()
    return load_files([("a.yaml", text)], check=check_setup)


def steps(*items: Any) -> list[dict[str, Any]]:
    result = load(steps=list(items))
    assert result.problems == []
    return [step.to_dict() for step in Scenario.from_load(result, name="x").steps]


def problems(**spec: Any) -> list[tuple[str, str]]:
    result = load(**spec)
    assert result.scenario is None or result.problems == []
    return [(problem.field, problem.message) for problem in result.problems]


def recording(**fields: Any) -> LoadResult:
    raw = {"name": "case", "initial": [NODE], "steps": [], "duration": 10} | fields
    return load_files([("scenario.yaml", json.dumps(raw).encode())])


# Steps that say nothing


@pytest.mark.parametrize("verb", ["create", "apply", "replace", "delete"])
def test_a_step_without_object_is_refused(verb: str) -> None:
    assert problems(steps=[{"at": "1s", verb: None}]) == [(f"spec.steps[0].{verb}", "is missing")]


def test_a_step_in_another_century_is_refused() -> None:
    (found,) = problems(steps=[{"at": "999999h", "delete": "pod/default/web"}])
    assert found == ("spec.steps[0].at", '"999999h" is more than 73 years')


def test_a_steps_manifest_is_checked_like_others() -> None:
    broken = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {}}
    found = problems(steps=[{"at": "1s", "replace": broken}])
    assert found == [("spec.steps[0].replace.spec.containers", "is missing")]


@pytest.mark.parametrize(
    ("step", "field"),
    [
        ({"delete": "pod/default/web", "grace_seconds": 0}, "grace_seconds"),
        ({"delete": {"object": "pod/default/web", "graceSeconds": 0}}, "delete.graceSeconds"),
    ],
)
def test_a_step_with_unknown_fields_is_refused(step: dict[str, Any], field: str) -> None:
    ((found, message),) = problems(steps=[{"at": "1s"} | step])
    assert found == f"spec.steps[0].{field}"
    assert message.startswith("unknown field; known are ")


# Headers


def test_a_header_sets_what_a_run_needs() -> None:
    result = load(
        title="One line",
        question="Why?",
        profile="v1.16",
        seed=7,
        duration="1m30s",
        latencies={"bind": "5ms", "provision": {"uniform": ["1s", "3s"]}, "attach": 2},
    )
    scenario = Scenario.from_load(result, name="file", source="text")
    assert scenario == Scenario(
        name="case",
        title="One line",
        question="Why?",
        profile="v1.16",
        seed=7,
        until=90 * SECOND,
        latencies={
            "bind": Latency("fixed", 5 * MILLISECOND),
            "provision": Latency("uniform", SECOND, 3 * SECOND),
            "attach": Latency("fixed", 2 * SECOND),
        },
        source="text",
    )


def test_a_scenario_without_header_has_its_files_name() -> None:
    result = load_files([("a.json", json.dumps(NODE).encode())])
    scenario = Scenario.from_load(result, name="a")
    assert (scenario.name, scenario.until, scenario.steps) == ("a", 600 * SECOND, ())


def test_a_second_header_is_refused() -> None:
    header = b'{"apiVersion": "kscope.dev/v1", "kind": "Scenario"}'
    (problem,) = load_files([("a.yaml", header), ("b.yaml", header)]).problems
    assert (problem.file, problem.message) == (
        "b.yaml",
        "a second scenario header; only one is allowed",
    )


def test_files_with_problems_make_no_scenario() -> None:
    with pytest.raises(ValueError, match="nothing is taken"):
        Scenario.from_load(load(duration="soon"), name="x")


@pytest.mark.parametrize(
    ("spec", "field", "said"),
    [
        (
            {"profile": "v9"},
            "spec.profile",
            '"v9" is not one of v1.37, v1.36, v1.35, v1.34.9, v1.34, v1.20, v1.16, v1.11',
        ),
        ({"duration": "soon"}, "spec.duration", '"soon" is not a duration like 500ms'),
        ({"duration": -1}, "spec.duration", "-1 is not a duration"),
        ({"seed": "x"}, "spec.seed", 'expected an integer, found "x"'),
        ({"title": 5}, "spec.title", "expected a text, found 5"),
        ({"tittle": "x"}, "spec.tittle", "unknown field; known are title, question,"),
        ({"latencies": {"bnd": 1}}, "spec.latencies.bnd", "unknown latency; known are watch,"),
        ({"latencies": {"bind": {"uniform": [2, 1]}}}, "spec.latencies.bind", "[low, high]"),
        ({"steps": "none"}, "spec.steps", 'expected a list, found "none"'),
        ({"steps": [7]}, "spec.steps[0]", "expected a mapping, found 7"),
    ],
)
def test_a_bad_header_is_reported_at_its_field(spec: dict[str, Any], field: str, said: str) -> None:
    found = problems(**spec)
    assert field in [where for where, _ in found]
    assert any(said in message for _, message in found)


# Steps


def test_steps_are_ordered_by_time_then_position() -> None:
    found = steps(
        {"at": "2s", "cordon": "n1"},
        {"at": "1s", "uncordon": "node/n1"},
        {"at": 2, "delete": {"kind": "Pod", "name": "web"}},
    )
    assert found == [
        {"at": SECOND, "verb": "uncordon", "object": "node/n1"},
        {"at": 2 * SECOND, "verb": "cordon", "object": "node/n1"},
        {"at": 2 * SECOND, "verb": "delete", "object": "pod/default/web"},
    ]


def test_a_list_of_manifests_is_one_step_each() -> None:
    other = {**NODE, "metadata": {"name": "n2"}}
    found = steps({"at": 0, "create": [NODE, other]})
    assert [step["manifest"]["metadata"]["name"] for step in found] == ["n1", "n2"]


def test_objects_are_named_as_events_name_them() -> None:
    found = steps(
        {"at": 0, "delete": {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "a"}},
        {"at": 0, "delete": {"kind": "PersistentVolume", "name": "b"}},
        {"at": 0, "patch": {"object": "class/fast", "patch": {"metadata": {"labels": None}}}},
        {"at": 0, "evict": {"object": "pod/default/web", "grace_seconds": 5}},
        {"at": 0, "delete_pods": {"object": "node/n1", "grace_seconds": 0}},
    )
    assert [step["object"] for step in found] == [
        "claim/shop/a",
        "volume/b",
        "class/fast",
        "pod/default/web",
        "node/n1",
    ]
    assert [step.get("grace_seconds") for step in found] == [None, None, None, 5, 0]


def test_manifests_of_steps_are_cleaned_like_any_other() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "managedFields": []},
        "spec": {"containers": [{"name": "c"}]},
    }
    (step,) = steps({"at": 0, "apply": pod})
    assert step["manifest"]["metadata"] == {"name": "web", "namespace": "default"}


@pytest.mark.parametrize(
    ("step", "field", "said"),
    [
        ({"at": 1}, "spec.steps[0]", "a step needs exactly one of create, apply,"),
        (
            {"at": 1, "cordon": "n1", "uncordon": "n1"},
            "spec.steps[0]",
            "a step needs exactly one of",
        ),
        ({"cordon": "n1"}, "spec.steps[0].at", "nothing is not a duration"),
        ({"at": 1, "delete": "web"}, "spec.steps[0].delete", '"web" is not an object like node/n1'),
        ({"at": 1, "delete": {"name": "x"}}, "spec.steps[0].delete", "needs an object like"),
        ({"at": 1, "patch": "node/n1"}, "spec.steps[0].patch", "is missing"),
        (
            {"at": 1, "delete": {"object": "node/n1", "grace_seconds": -1}},
            "spec.steps[0].delete.grace_seconds",
            "-1 is less than 0",
        ),
        (
            {"at": 1, "create": {"apiVersion": "v1", "kind": "Pod"}},
            "spec.steps[0].create.metadata",
            "a Pod needs metadata.name",
        ),
        (
            {"at": 1, "create": [NODE, {**NODE, "metadata": {"name": "N"}}]},
            "spec.steps[0].create[1].metadata.name",
            '"N" is not a name',
        ),
        ({"at": 1, "create": [NODE, 7]}, "spec.steps[0].create[1]", "expected a manifest, found 7"),
    ],
)
def test_a_bad_step_is_reported_at_its_field(step: dict[str, Any], field: str, said: str) -> None:
    found = problems(steps=[step])
    assert any(where.startswith(field) and said in message for where, message in found), found


def test_a_broken_step_is_reported_with_its_line() -> None:
    text = """apiVersion: kscope.dev/v1
kind: Scenario
spec:
  steps:
  - at: 1s
    create:
      apiVersion: v1
      kind: Node
      metadata: {name: n1}
      status:
        allocatable: {cpu: four}
"""
    (problem,) = load_files([("a.yaml", text.encode())]).problems
    assert problem.line == 11
    assert problem.field == "spec.steps[0].create.status.allocatable.cpu"
    assert problem.value == '"four"'


# Recordings


def test_a_recording_becomes_steps_of_a_scenario() -> None:
    result = recording(
        title="A node dies",
        steps=[
            {"t": 0, "op": "create", "objects": [{**NODE, "metadata": {"name": "n2"}}]},
            {"t": 0.5, "op": "note", "title": "nothing"},
            {"t": 1, "op": "kubelet", "kill": ["n1", "n2"]},
            {"t": 2, "op": "delete-pods-on-node", "node": "n1", "evict": True},
            {"t": 3, "op": "delete-pods-on-node", "node": "n1"},
            {"t": 4, "op": "force-delete-on-node", "node": "n1"},
            {"t": 5, "op": "kubelet", "revive": ["n1"]},
            {"t": 5, "op": "evict-first", "app": "web"},
            {
                "t": 6,
                "op": "patch",
                "kind": "Node",
                "name": "n1",
                "subresource": "status",
                "patch": {"status": {"phase": None}},
            },
            {"t": 7, "op": "delete", "kind": "Node", "name": "n1"},
        ],
    )
    assert result.problems == []
    scenario = Scenario.from_load(result, name="x")
    assert (scenario.name, scenario.title, scenario.until) == ("case", "A node dies", 10 * SECOND)
    assert [raw["metadata"]["name"] for raw in scenario.objects] == ["n1"]
    assert [
        (step.at // SECOND, step.verb, step.object, step.grace_seconds) for step in scenario.steps
    ] == [
        (0, "create", "", None),
        (1, "stop_kubelet", "node/n1", None),
        (1, "stop_kubelet", "node/n2", None),
        (2, "evict_pods", "node/n1", None),
        (3, "delete_pods", "node/n1", None),
        (4, "delete_pods", "node/n1", 0),
        (5, "start_kubelet", "node/n1", None),
        (5, "evict", "pod/default", None),
        (6, "patch", "node/n1", None),
        (7, "delete", "node/n1", None),
    ]


def test_annotations_of_a_recording_say_how_containers_end() -> None:
    runs = {"metadata": {"annotations": {"fake/runs": "true", "fake/exit-code": "1"}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    container = {"name": "c", "image": "i"}
    spec = {"restartPolicy": "Never", "containers": [container]}
    job["spec"] = {"template": {**runs, "spec": spec}}
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": spec}
    pod["metadata"] = {"name": "p", **runs["metadata"]}
    result = recording(
        initial=[pod],
        steps=[
            {"t": 1, "op": "create", "objects": [job]},
            {"t": 2, "op": "patch", "kind": "Pod", "name": "p", "patch": runs},
        ],
    )
    assert result.problems == []
    scenario = Scenario.from_load(result, name="x")
    created, patched = scenario.steps
    assert created.manifest is not None
    assert patched.patch is not None
    template = created.manifest["spec"]["template"]
    for found in (scenario.objects[0], template, patched.patch):
        annotations = found["metadata"]["annotations"]
        assert annotations["kscope.dev/run-for"] == "forever"
        assert annotations["kscope.dev/exit-code"] == "1"


def test_delays_of_a_recording_become_latencies() -> None:
    result = recording(
        fakes={
            "provisioner": {"driver": "csi.example.com", "delay": 1.0, "delete_delay": 2.0},
            "attacher": {"attach_delay": 3.0, "detach_delay": 4.0},
            "kubelet": {"stop_delay": 5.0},
        }
    )
    latencies = Scenario.from_load(result, name="x").latencies
    assert {name: one.low / SECOND for name, one in latencies.items()} == {
        "provision": 1,
        "delete_volume": 2,
        "attach": 3,
        "detach": 4,
        "stop": 5,
        # What the stand-in for the kubelet always takes.
        "mount_device": 0,
        "mount": 0,
        "unmount": 0,
        "unmount_device": 0,
        "image_pull": 0.7,
        "run": 2,
        "recycle": 2,
    }
    assert result.warnings == []


def test_volumes_are_made_at_once_without_a_provisioner() -> None:
    latencies = Scenario.from_load(recording(fakes=None), name="x").latencies
    assert latencies["provision"].low == latencies["delete_volume"].low == 0


def test_a_recording_has_only_the_fake_driver() -> None:
    classes = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": driver},
            "provisioner": driver,
        }
        for driver in ("csi.example.com", "ghost.example.com")
    ]
    result = recording(
        fakes={"provisioner": {"driver": "csi.example.com"}},
        steps=[{"t": 1, "op": "create", "objects": classes}],
    )
    scenario = Scenario.from_load(result, name="x")
    faults = [step.patch for step in scenario.steps if step.verb == "fault"]
    assert faults == [
        {"absent": "ghost.example.com"},
        {"no_resizer": "csi.example.com"},
        {"anywhere": "csi.example.com"},
    ]


def test_unsupported_recorded_behaviour_is_a_warning() -> None:
    result = recording(
        fakes={"provisioner": {"delay": 1.0, "fail_nodes": ["n1"], "fail_all": 1}},
        steps=[
            {
                "t": 1,
                "op": "delete",
                "kind": "Node",
                "name": "n1",
                "propagationPolicy": "Foreground",
            }
        ],
    )
    assert result.ok
    assert result.warnings == ["fakes.provisioner.fail_all is not simulated"]
    assert result.scenario is not None
    assert "Foreground" in [step.get("propagation") for step in result.scenario["steps"]]


def test_an_unknown_operation_of_a_recording_is_refused() -> None:
    (problem,) = recording(steps=[{"t": 1, "op": "reboot"}]).problems
    assert problem.field == "steps[0].op"
    assert problem.message == '"reboot" is not an operation of a recording'


# What must not drift apart


def test_commands_know_verbs_of_steps_and_clients() -> None:
    assert (*STEP_VERBS, "bind", "note") == VERBS


def test_a_header_may_name_every_profile() -> None:
    for name in PROFILES:
        assert problems(profile=name) == []


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1m30s", 90 * SECOND),
        ("0.5ms", 500_000),
        ("1.5h", 5400 * SECOND),
        ("100us", 100_000),
        (0.25, SECOND // 4),
        (0, 0),
    ],
)
def test_durations_are_exact_to_the_nanosecond(text: Any, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize("text", ["soon", "", "5", "-1s", "1 s", "s", True, None, -1, [], 10**12])
def test_what_is_no_duration_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("fakes", "field"),
    [
        ([1], "fakes"),
        ({"provisioner": "x"}, "fakes.provisioner"),
        ({"provisioner": {"driver": "x", "fail_nodes": 5}}, "fakes.provisioner.fail_nodes"),
        (
            {"provisioner": {"driver": "x", "immediate_zone": []}},
            "fakes.provisioner.immediate_zone",
        ),
    ],
)
def test_a_recording_with_bad_fakes_is_refused(fakes: Any, field: str) -> None:
    found = recording(fakes=fakes).problems
    assert {problem.field for problem in found} == {field}
