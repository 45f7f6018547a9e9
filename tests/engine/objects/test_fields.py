"""Every field of an object has a type, and a place in the version of its run."""

from copy import deepcopy
from typing import Any

import pytest

from engine.api_server.validation.manifests import check_manifest
from engine.api_server.validation.report import Report, type_fault
from engine.input.cleaning import clean
from engine.objects.documents import show_path
from engine.objects.openapi.definitions import NEWEST, definitions
from engine.objects.openapi.fields import check_fields, check_patch, without
from engine.objects.openapi.near import left_out_note

Manifest = dict[str, Any]

_POLICY = "spec.persistentVolumeClaimRetentionPolicy"


def _object(kind: str, version: str = "v1", **parts: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **parts}


def _container(**parts: Any) -> Manifest:
    return _object("Pod", spec={"containers": [{"name": "c", **parts}]})


def _wrong(manifest: Manifest, version: str = NEWEST) -> list[tuple[str, str]]:
    found = check_fields(manifest, version)
    return [(show_path(each.path), type_fault(each)) for each in found.wrong]


def _left_out(manifest: Manifest, version: str = NEWEST) -> dict[str, str]:
    found = check_fields(manifest, version)
    return {show_path(each.path): left_out_note(found, each) for each in found.unknown}


@pytest.mark.parametrize(
    ("manifest", "path", "message"),
    [
        (
            _object(
                "StatefulSet", "apps/v1", spec={"persistentVolumeClaimRetentionPolicy": "text"}
            ),
            _POLICY,
            'expected a mapping, found "text"',
        ),
        (
            _container(env=[{"name": "A", "value": 1}]),
            "spec.containers[0].env[0].value",
            "expected a text, found 1; put it in quotes",
        ),
        (
            _container(stdin="yes"),
            "spec.containers[0].stdin",
            'expected true or false, found "yes"',
        ),
        (_container(args="a"), "spec.containers[0].args", 'expected a list, found "a"'),
        (
            _container(livenessProbe={"httpGet": {"port": True}}),
            "spec.containers[0].livenessProbe.httpGet.port",
            "expected an integer or a text, found true",
        ),
        (
            _container(resources={"limits": {"cpu": "1x"}}),
            "spec.containers[0].resources.limits.cpu",
            '"1x" is not a quantity: unknown suffix "x"; use n u m k M G T P E or Ki…Ei',
        ),
        (
            _object("Job", "batch/v1", spec={"backoffLimit": 2**31}),
            "spec.backoffLimit",
            "2147483648 is more than 2147483647",
        ),
        (
            _object("Pod", spec={"terminationGracePeriodSeconds": -(2**63) - 1}),
            "spec.terminationGracePeriodSeconds",
            "-9223372036854775809 is less than -9223372036854775808",
        ),
        (
            _object("Job", "batch/v1", spec={"completions": 1.0}),
            "spec.completions",
            "expected an integer, found 1.0",
        ),
        (
            _object("Pod", status={"startTime": "2026-02-31T12:00:00Z"}),
            "status.startTime",
            '"2026-02-31T12:00:00Z" is not a timestamp like 2026-01-31T12:00:00Z',
        ),
        (
            {**_object("ConfigMap"), "metadata": {"name": "x", "labels": ["a"]}},
            "metadata.labels",
            "expected a mapping, found a list",
        ),
        (
            {**_object("Pod"), "metadata": {"name": "x", "managedFields": [{"time": 5}]}},
            "metadata.managedFields[0].time",
            "expected a timestamp, found 5",
        ),
        (
            _object(
                "PodGroup", "scheduling.k8s.io/v1alpha2", spec={"schedulingPolicy": {"basic": 1}}
            ),
            "spec.schedulingPolicy.basic",
            "expected a mapping, found 1",
        ),
    ],
)
def test_a_value_of_another_type_is_named(manifest: Manifest, path: str, message: str) -> None:
    assert _wrong(manifest) == [(path, message)]


@pytest.mark.parametrize(
    "manifest",
    [
        _container(livenessProbe={"httpGet": {"port": "http"}}, resources={"limits": {"cpu": 0.5}}),
        _object("Pod", spec={"containers": None}, status={"startTime": "2026-01-31T12:00:00.5Z"}),
        _object("Pod", status={"startTime": "2026-01-31T12:00:00+02:00"}),
        _object(
            "Lease", "coordination.k8s.io/v1", spec={"renewTime": "2026-01-31T12:00:00.000001Z"}
        ),
        _object("ControllerRevision", "apps/v1", data={"any": [1]}, revision=2**62),
        _object(
            "ResourceClaim",
            "resource.k8s.io/v1",
            spec={"devices": {"config": [{"opaque": {"driver": "d", "parameters": {"a": [1]}}}]}},
        ),
        _object("Secret", stringData={"any": "thing"}),
        _object("Deployment", "extensions/v1beta1", spec={"replicas": 1}),
        _object("ResourceSlice", "resource.k8s.io/v1alpha3", spec={"devices": [{"basic": {}}]}),
        {**_object("Pod"), "metadata": {"managedFields": [{"fieldsV1": {"f:spec": {}}}]}},
        {**_object("Thing", "example.com/v1", spec=5), "status": "x"},
    ],
)
def test_what_an_api_server_takes_is_taken(manifest: Manifest) -> None:
    assert not _wrong(manifest)
    assert not _left_out(manifest)


def test_custom_resources_have_the_metadata_of_all() -> None:
    custom = {**_object("Thing", "example.com/v1"), "metadata": {"name": "x", "labels": "a"}}
    assert _wrong(custom) == [("metadata.labels", 'expected a mapping, found "a"')]


@pytest.mark.parametrize(
    ("manifest", "path", "nearest"),
    [
        (_object("Pod", spec={"nodeSelektor": {}}), "spec.nodeSelektor", "spec.nodeSelector"),
        (_object("Pod", spec={"NODENAME": "n"}), "spec.NODENAME", "spec.nodeName"),
        (_object("Pod", spec={"image": "i"}), "spec.image", "spec.containers.image"),
        (
            _object("Deployment", "apps/v1", spec={"nodeSelector": {}}),
            "spec.nodeSelector",
            "spec.template.spec.nodeSelector",
        ),
        (
            _object("StatefulSet", "apps/v1", spec={"volumeClaimTemplates": [{"sepc": {}}]}),
            "spec.volumeClaimTemplates[0].sepc",
            "spec.volumeClaimTemplates[0].spec",
        ),
    ],
)
def test_an_unknown_field_has_a_nearest_one(manifest: Manifest, path: str, nearest: str) -> None:
    assert _left_out(manifest) == {
        path: f"unknown field, which is left out; the nearest is {nearest}"
    }


def test_field_like_no_other_is_only_left_out() -> None:
    assert _left_out(_object("Pod", spec={"xyzzy": 1})) == {
        "spec.xyzzy": "unknown field, which is left out"
    }


@pytest.mark.parametrize(
    ("manifest", "version", "note"),
    [
        (_object("Pod", spec={"schedulingGates": []}), "v1.20", "v1.26 and later do"),
        (_object("Pod", spec={"workloadRef": {}}), "v1.36", "v1.35 does"),
        (
            _object("Pod", spec={"resourceClaims": [{"source": {}}]}),
            "v1.34",
            "v1.26 to v1.30 do",
        ),
        (_object("Service", spec={"topologyKeys": ["a"]}), "v1.36", "v1.17 to v1.21 do"),
    ],
)
def test_fields_of_other_versions_name_these(manifest: Manifest, version: str, note: str) -> None:
    (text,) = _left_out(manifest, version).values()
    assert text == f"{version} does not have this field ({note}); it is left out"


def test_old_versions_know_what_was_removed() -> None:
    service = _object("Service", spec={"topologyKeys": ["a"]})
    assert not _left_out(service, "v1.20")
    assert _left_out(service, "v1.11")
    assert _wrong(_object("Service", spec={"topologyKeys": "a"}), "v1.20")
    assert "topologyKeys" not in definitions()["io.k8s.api.core.v1.ServiceSpec"]["properties"]


def test_kinds_newer_than_the_version_are_checked_too() -> None:
    claim = _object("ResourceClaim", "resource.k8s.io/v1", spec={"devices": "x"})
    assert _wrong(claim, "v1.20") == [("spec.devices", 'expected a mapping, found "x"')]


def test_a_patch_may_take_fields_away() -> None:
    assert not check_patch("pod", {"spec": {"nodeSelector": None}}).wrong
    (wrong,) = check_patch("pod", {"spec": {"nodeSelector": "a=b"}}).wrong
    assert show_path(wrong.path) == "spec.nodeSelector"


def test_only_what_is_on_the_way_is_copied() -> None:
    whole = {"a": {"b": 1, "c": 2}, "d": [{"e": 1}, {"e": 2}], "f": {}}
    left = without(whole, [("a", "b"), ("d", 1, "e")])
    assert left == {"a": {"c": 2}, "d": [{"e": 1}, {}], "f": {}}
    assert left["d"][0] is whole["d"][0]
    assert whole["a"] == {"b": 1, "c": 2}


@pytest.mark.parametrize(
    "manifest",
    [
        {"kind": "Pod", "spec": {"nodeSelector": {"a": None, "b": "c"}, "hostname": None}},
        {"kind": "Pod", "status": {"conditions": [{"type": "Ready", "lastProbeTime": None}, None]}},
        {"kind": "Pod", "status": None},
        {"kind": "ControllerRevision", "apiVersion": "apps/v1", "data": {"a": [{"b": None}]}},
        {"kind": "Widget", "apiVersion": "example.com/v1", "spec": {"a": {"b": None}, "c": [None]}},
        {"kind": "Node", "spec": {"nodeSelektor": None, "podCIDR": None}},
    ],
)
def test_null_fields_are_found_by_the_check(manifest: dict[str, Any]) -> None:
    whole = {"apiVersion": "v1", **manifest, "metadata": {"name": "x", "labels": {"a": None}}}
    wanted = clean(deepcopy(whole))
    nulls = check_manifest(whole, (), Report())
    assert clean(whole, nulls=nulls) == wanted
    assert wanted["metadata"]["labels"] == {}
