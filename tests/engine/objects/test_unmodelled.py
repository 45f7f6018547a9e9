"""What a run does without is said by kind, with what that means."""

import json
from typing import Any

import pytest

from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.objects.outside import READ
from engine.objects.unmodelled import left_out

_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "c"}]},
}


def _kind(kind: str, version: str = "v1", name: str = "x") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def _load(*objects: dict[str, Any], **keys: Any) -> LoadResult:
    document = {"apiVersion": "v1", "kind": "List", "items": list(objects), **keys}
    return load_files([("all.json", json.dumps(document).encode())])


def test_objects_of_one_kind_share_a_note() -> None:
    result = _load(_POD, _kind("PodTemplate"), _kind("PodTemplate", name="y"))
    assert result.warnings == ["2 PodTemplate not modelled: no pod is made from it"]


def test_limits_and_quotas_are_kept() -> None:
    result = _load(_POD, _kind("LimitRange"), _kind("ResourceQuota"))
    assert result.warnings == []
    assert [each.manifest["kind"] for each in result.objects] == [
        "Pod",
        "LimitRange",
        "ResourceQuota",
    ]


@pytest.mark.parametrize(
    ("kind", "version", "words"),
    [
        ("PodTemplate", "v1", "no pod is made"),
        ("ResourceClaim", "resource.k8s.io/v1", "stay pending"),
        ("PodGroup", "scheduling.x-k8s.io/v1alpha1", "stay pending"),
        ("VolumeAttributesClass", "storage.k8s.io/v1", "not applied to volumes"),
        ("Rollout", "argoproj.io/v1alpha1", "does not know this kind"),
    ],
)
def test_a_kind_that_matters_has_a_note(kind: str, version: str, words: str) -> None:
    must_have = {"driverName": "csi.example.com"} if kind == "VolumeAttributesClass" else {}
    (note,) = _load(_POD, {**_kind(kind, version), **must_have}).warnings
    assert note.startswith(f"1 {kind}")
    assert "not modelled" in note
    assert words in note


def test_a_kind_that_decides_nothing_is_ignored() -> None:
    result = _load(_POD, _kind("Role"))
    assert result.warnings == ["1 Role ignored: scheduling and storage do not depend on it"]
    assert result.not_modelled == []


@pytest.mark.parametrize("kind", sorted({*READ, "Event"}))
def test_evidence_is_not_called_ignored(kind: str) -> None:
    (found,) = left_out([_kind(kind)])
    assert found.is_evidence
    assert str(found).startswith(f"1 {kind} read as evidence: ")
    assert found.is_neutral


def test_what_matters_is_said_first() -> None:
    notes = _load(_POD, _kind("ConfigMap"), _kind("ResourceSlice")).warnings
    assert [note.split()[1] for note in notes] == ["ResourceSlice", "ConfigMap"]


def test_objects_created_by_steps_are_noted_too() -> None:
    header = {
        "apiVersion": "kscope.dev/v1",
        "kind": "Scenario",
        "metadata": {"name": "s"},
        "spec": {"steps": [{"at": "1s", "create": _kind("ResourceSlice")}]},
    }
    files = [("a.json", json.dumps(_POD).encode()), ("b.json", json.dumps(header).encode())]
    assert [each["kind"] for each in load_files(files).not_modelled] == ["ResourceSlice"]


def test_a_scenario_keeps_what_is_not_modelled() -> None:
    result = _load(_POD, _kind("ResourceSlice"), _kind("ConfigMap"))
    scenario = Scenario.from_load(result, name="mine")
    kept = Scenario.from_dict(scenario.to_dict()).not_modelled
    assert [(each["kind"], each["count"]) for each in kept] == [("ResourceSlice", 1)]


def test_a_scenario_without_such_kinds_keeps_its_form() -> None:
    assert "not_modelled" not in Scenario.from_load(_load(_POD), name="mine").to_dict()


def _snapshot(configuration: Any) -> LoadResult:
    snapshot = {
        "nodes": [{"metadata": {"name": "n1"}}],
        "pods": [{"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c"}]}}],
        "schedulerConfig": configuration,
    }
    return load_files([("snapshot.json", json.dumps(snapshot).encode())])


def test_the_configuration_of_a_snapshot_is_used() -> None:
    profiles = [{"schedulerName": "mine"}]
    result = _snapshot({"profiles": profiles})
    assert result.configuration == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
    }


def test_a_snapshot_may_have_no_configuration() -> None:
    result = _snapshot(None)
    assert result.ok
    assert result.configuration is None


@pytest.mark.parametrize(
    ("configuration", "field", "message"),
    [
        ("text", "schedulerConfig", 'expected a mapping, found "text"'),
        (
            {"kind": "Pod"},
            "schedulerConfig.kind",
            '"Pod" is no KubeSchedulerConfiguration',
        ),
    ],
)
def test_a_wrong_configuration_of_a_snapshot_is_refused(
    configuration: Any, field: str, message: str
) -> None:
    (problem,) = _snapshot(configuration).problems
    assert (problem.field, problem.message) == (field, message)
