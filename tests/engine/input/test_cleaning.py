"""What must not be kept is left out of files, steps and commands before anything is stored."""

import json
from typing import Any

import pytest

from engine.input.cleaning import DIGEST, clean, clean_command
from engine.input.loader import load_files

SECRET = "hunter2"
ENV = [{"name": "PASSWORD", "value": SECRET}, {"name": "USER", "valueFrom": {"fieldRef": {}}}]
CONTAINER = {"name": "c", "env": ENV, "command": ["run", SECRET], "args": [f"--password={SECRET}"]}
SPEC = {
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "ephemeralContainers": [CONTAINER],
}
LEFT = {"name": "c", "env": [{"name": "PASSWORD"}, ENV[1]]}


def manifest(kind: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, **parts}


def deployment(value: str) -> dict[str, Any]:
    container = {"name": "c", "env": [{"name": "LEVEL", "value": value}]}
    return manifest("Deployment", spec={"template": {"spec": {"containers": [container]}}})


@pytest.mark.parametrize(
    "holder",
    [
        manifest("Pod", spec=SPEC),
        manifest("Deployment", spec={"template": {"spec": SPEC}}),
        manifest("ReplicationController", spec={"template": {"spec": SPEC}}),
        manifest("CronJob", spec={"jobTemplate": {"spec": {"template": {"spec": SPEC}}}}),
        manifest("ControllerRevision", data={"spec": {"template": {"spec": SPEC}}}),
        manifest("Rollout", spec={"strategy": [{"template": {"spec": SPEC}}]}),
        manifest("Secret", data={"k": SECRET}, stringData={"k": SECRET}),
    ],
    ids=lambda holder: holder["kind"],
)
def test_values_of_containers_and_secrets_are_dropped(holder: dict[str, Any]) -> None:
    assert SECRET not in json.dumps(clean(holder))


def test_names_and_references_of_variables_are_kept() -> None:
    assert clean(manifest("Pod", spec=SPEC))["spec"] == {name: [LEFT] for name in SPEC}


@pytest.mark.parametrize(
    "copy", ["kubectl.kubernetes.io/last-applied-configuration", "kapp.k14s.io/original"]
)
def test_annotations_that_hold_the_whole_manifest_are_dropped(copy: str) -> None:
    annotations = {copy: SECRET, "kept": "yes"}
    template = {"metadata": {"annotations": annotations}, "spec": SPEC}
    holder = manifest("Deployment", spec={"template": template})
    holder["metadata"]["annotations"] = annotations
    cleaned = clean(holder)
    assert SECRET not in json.dumps(cleaned)
    assert cleaned["metadata"]["annotations"] == {"kept": "yes"}
    assert cleaned["spec"]["template"]["metadata"]["annotations"].pop("kept") == "yes"


def test_templates_with_other_values_stay_different() -> None:
    first, again, other = (clean(deployment(value)) for value in ("info", "info", "debug"))
    assert first == again != other
    digest = first["spec"]["template"]["metadata"]["annotations"][DIGEST]
    assert len(digest) == 4
    assert clean(first) == first


@pytest.mark.parametrize(
    "body",
    [
        {"verb": "create", "manifest": manifest("Pod", spec=SPEC)},
        {"verb": "apply", "manifest": manifest("Secret", data={"k": SECRET})},
        {"verb": "patch", "object": "pod/default/a", "patch": {"spec": SPEC}},
        {
            "verb": "patch",
            "object": "deployment/a/b",
            "patch": {"spec": {"template": {"spec": SPEC}}},
        },
        {"verb": "patch", "object": "secret/a/b", "patch": {"data": {"k": SECRET}}},
    ],
)
def test_commands_and_steps_are_cleaned_alike(body: dict[str, Any]) -> None:
    assert SECRET not in json.dumps(clean_command(body))


@pytest.mark.parametrize("nonsense", [None, "x", 5, [], [None], {"containers": "x"}, {"a": {}}])
def test_what_has_another_shape_is_left_to_validation(nonsense: Any) -> None:
    body = {"verb": "patch", "object": "job/a/b", "patch": {"spec": {"template": nonsense}}}
    assert clean_command(body) == body
    assert clean_command({"verb": "create", "manifest": nonsense})["manifest"] == nonsense


def test_the_steps_of_a_scenario_are_cleaned() -> None:
    steps = [
        {"at": 1, "patch": {"object": "pod/default/a", "patch": {"spec": SPEC}}},
        {"at": 2, "create": manifest("Pod", spec=SPEC)},
    ]
    header = {"apiVersion": "kscope.dev/v1", "kind": "Scenario", "metadata": {"name": "s"}}
    loaded = load_files([("s.json", json.dumps({**header, "spec": {"steps": steps}}).encode())])
    assert loaded.ok
    assert SECRET not in json.dumps(loaded.scenario)


def test_managed_fields_stay_in_commands_alone() -> None:
    holder = manifest("Pod", spec=SPEC)
    holder["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    kept = clean_command({"verb": "create", "manifest": holder})["manifest"]
    assert kept["metadata"]["managedFields"] == [{"manager": "kubectl"}]
    assert "managedFields" not in clean(holder)["metadata"]
