"""What kubectl get --watch prints becomes a recording, or the newest of each object."""

import json
from typing import Any

from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.options import IntakeOptions
from engine.kernel.units import SECOND

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "n", "creationTimestamp": "2026-01-02T10:00:00Z"},
    "status": {"allocatable": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]},
}


def pod(name: str, created: str, **metadata: Any) -> dict[str, Any]:
    given = {"name": name, "namespace": "default", "uid": f"u-{name}", "creationTimestamp": created}
    spec = {"containers": [{"name": "c"}], "nodeName": "n1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**given, **metadata},
        "spec": spec,
        "status": {"phase": "Running"},
    }


def event(kind: str, manifest: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": manifest}


EVENTS = [
    event("ADDED", NODE),
    event(
        "MODIFIED",
        {
            **NODE,
            "spec": {"unschedulable": True},
            "metadata": {**NODE["metadata"], "managedFields": [{"time": "2026-01-02T10:00:30Z"}]},
        },
    ),
    event("ADDED", pod("late", "2026-01-02T10:01:00Z")),
    event("BOOKMARK", {"kind": "Pod"}),
    event(
        "MODIFIED",
        pod(
            "late",
            "2026-01-02T10:01:00Z",
            deletionTimestamp="2026-01-02T10:02:30Z",
            deletionGracePeriodSeconds=30,
        ),
    ),
    event(
        "DELETED",
        pod(
            "late",
            "2026-01-02T10:01:00Z",
            deletionTimestamp="2026-01-02T10:02:30Z",
            deletionGracePeriodSeconds=30,
        ),
    ),
]


def load(*values: Any, **options: Any) -> LoadResult:
    text = "\n".join(json.dumps(each) for each in values)
    loaded = load_files([("w.json", text.encode())], options=IntakeOptions(**options))
    assert loaded.ok, loaded.problems
    return loaded


def test_what_people_did_becomes_steps_at_their_times() -> None:
    header = load(*EVENTS).scenario or {}
    assert header["instant"] == "2026-01-02T10:00:00Z"
    assert [(step["at"] // SECOND, step["verb"]) for step in header["steps"]] == [
        (30, "patch"),
        (60, "create"),
        (120, "delete"),
    ]
    patch, create, delete = header["steps"]
    assert patch["patch"] == {"spec": {"unschedulable": True}}
    assert "nodeName" not in create["manifest"]["spec"]
    assert not {"uid", "creationTimestamp"} & create["manifest"]["metadata"].keys()
    assert delete["object"] == "pod/default/late"


def test_the_newest_of_each_can_be_chosen() -> None:
    loaded = load(*EVENTS, watch="newest")
    assert loaded.scenario is None
    assert [each["spec"] for each in loaded.manifests] == [{"unschedulable": True}]


def test_bare_objects_of_one_uid_are_a_watch() -> None:
    first = pod("a", "2026-01-02T10:00:00Z")
    again = {**first, "metadata": {**first["metadata"], "labels": {"x": "y"}}}
    (only,) = [
        each for each in load(first, again, watch="newest").manifests if each["kind"] == "Pod"
    ]
    assert only["metadata"]["labels"] == {"x": "y"}


def test_what_controllers_made_becomes_no_step() -> None:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "rs", "namespace": "default", "uid": "r"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c"}]},
            },
        },
    }
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "rs",
        "uid": "r",
        "controller": True,
    }
    scaled = {**owner, "spec": {**owner["spec"], "replicas": 2}}
    made = pod("rs-1", "2026-01-02T10:00:05Z", ownerReferences=[reference])
    header = (
        load(event("ADDED", owner), event("MODIFIED", scaled), event("ADDED", made)).scenario or {}
    )
    assert [step["verb"] for step in header["steps"]] == ["patch"]
    assert header["steps"][0]["patch"] == {"spec": {"replicas": 2}}


def test_a_broken_version_names_its_place() -> None:
    broken = {**NODE, "status": {"allocatable": {"cpu": "two"}}}
    text = "\n".join(json.dumps(event("ADDED", each)) for each in (NODE, broken))
    (problem,) = load_files([("w.json", text.encode())]).problems
    assert (problem.document, problem.line, problem.field) == (2, 2, "status.allocatable.cpu")
