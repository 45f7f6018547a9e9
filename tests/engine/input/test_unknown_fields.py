"""What a file has that no version of Kubernetes knows is left out, and told."""

import json
from typing import Any

from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.scheduler.configuration.scenario_schedulers import check_setup

_TYPO = """apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: i}]
  nodeSelektor: {disk: ssd}
"""
_POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
_SPEC = {"containers": [{"name": "c", "image": "i"}]}


def _load(text: str) -> LoadResult:
    return load_files([("a.yaml", text.encode())], check=check_setup)


def _scenario(profile: str = "", **step: Any) -> str:
    spec = {"profile": profile} if profile else {}
    steps = [{"at": "1s", **step}] if step else []
    return json.dumps(
        {"apiVersion": "kscope.dev/v1", "kind": "Scenario", "spec": {**spec, "steps": steps}}
    )


def test_unknown_field_is_left_out_with_a_note() -> None:
    found = _load(_TYPO)
    assert found.ok
    assert "nodeSelektor" not in found.manifests[0]["spec"]
    assert found.warnings == [
        "a.yaml, document 1, line 6, spec.nodeSelektor: unknown field, which is left out; the "
        "nearest is spec.nodeSelector (Pod web)"
    ]


def test_a_field_of_many_objects_is_reported_once() -> None:
    items = [{**_POD, "metadata": {"name": f"p{n}"}, "spec": {**_SPEC, "x1": 1}} for n in range(3)]
    found = _load(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (note,) = found.warnings
    assert note.endswith("(Pod p0, and 2 more)")
    assert not [one for one in found.manifests if "x1" in one["spec"]]


def test_the_scenario_says_which_version_counts() -> None:
    gated = {**_POD, "spec": {**_SPEC, "schedulingGates": [{"name": "a"}]}}
    found = _load(f"{json.dumps(gated)}\n---\n{_scenario('v1.20')}")
    assert found.ok
    assert "schedulingGates" not in found.manifests[0]["spec"]
    assert "v1.20 does not have this field (v1.26 and later do)" in found.warnings[0]
    newer = _load(f"{json.dumps(gated)}\n---\n{_scenario('v1.36')}")
    assert newer.manifests[0]["spec"]["schedulingGates"]
    assert newer.warnings == []


def test_what_an_old_scenario_knows_is_kept() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    text = json.dumps({**service, "spec": {"topologyKeys": ["zone"]}})
    found = _load(f"{text}\n---\n{_scenario('v1.20')}")
    assert found.manifests[0]["spec"] == {"topologyKeys": ["zone"]}


def test_steps_leave_out_unknown_fields_as_well() -> None:
    created = {**_POD, "spec": {**_SPEC, "nodeNam": "n"}}
    found = _load(f"{_TYPO}---\n{_scenario(create=created)}")
    assert found.scenario
    assert found.scenario["steps"][0]["manifest"]["spec"] == _SPEC
    assert [note for note in found.warnings if "spec.nodeName (Pod web)" in note]


def test_patches_of_steps_leave_them_out_too() -> None:
    patch = {"object": "node/n1", "patch": {"spec": {"taint": [], "unschedulable": True}}}
    found = _load(f"{_TYPO}---\n{_scenario(patch=patch)}")
    assert found.scenario
    assert found.scenario["steps"][0]["patch"] == {"spec": {"unschedulable": True}}
    assert [note for note in found.warnings if "the nearest is spec.taints" in note]


def test_a_step_of_a_wrong_type_is_refused() -> None:
    stateful = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}}
    wrong = {"spec": {"persistentVolumeClaimRetentionPolicy": "text"}}
    (created,) = _load(_scenario(create={**stateful, **wrong})).problems
    assert created.field == "spec.steps[0].create.spec.persistentVolumeClaimRetentionPolicy"
    assert created.value == '"text"'
    patch = {"object": "statefulset/default/s", "patch": wrong}
    (patched,) = _load(_scenario(patch=patch)).problems
    assert patched.field == "spec.steps[0].patch.patch.spec.persistentVolumeClaimRetentionPolicy"


def test_a_file_of_a_wrong_type_is_refused() -> None:
    text = _TYPO.replace("nodeSelektor: {disk: ssd}", "hostIPC: yes please")
    (problem,) = _load(text).problems
    assert str(problem) == (
        'a.yaml, document 1, line 6, spec.hostIPC: expected true or false, found "yes please"'
    )
