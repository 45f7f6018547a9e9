"""Strict validation. Upstream: test/integration/apiserver/field_validation_test.go."""

from typing import Any

import orjson

from kube.decoding import fields_of
from kube.strict import joined, patch_refusal, problems, refusal, repeated_fields, unknown_fields
from tests.kube.served import of_kind


def _unknown(kind: str, **manifest: Any) -> list[str]:
    resource = of_kind(kind)
    named = {"kind": kind, "apiVersion": resource.api_version, "metadata": {"name": "a"}}
    return unknown_fields(fields_of(resource, {**named, **manifest}))


def test_known_fields_are_accepted() -> None:
    container = {"name": "c", "resources": {"limits": {"cpu": 1, "example.com/gpu": "2"}}}
    template = {"metadata": {"labels": {"any": "thing"}}, "spec": {"containers": [container]}}
    strategy = {"rollingUpdate": {"maxSurge": "25%"}}
    assert not _unknown("Deployment", spec={"template": template, "strategy": strategy})
    assert not _unknown("ControllerRevision", data={"spec": {"any": 1}}, revision=1)
    assert not _unknown("Secret", stringData={"a": "b"}, type="Opaque")


def test_unknown_fields_are_named_with_their_path() -> None:
    containers = [{"name": "a"}, {"name": "b", "imagee": "x"}]
    assert _unknown("Pod", spec={"containers": containers, "nodename": "n"}, data={}) == [
        'unknown field "spec.containers[1].imagee"',
        'unknown field "spec.nodename"',
        'unknown field "data"',
    ]


def test_repeated_fields_are_named_with_their_path() -> None:
    text = b'{"a": 1, "spec": {"replicas": 1, "replicas": 2, "x": [{"y": 1, "y": 1}]}, "a": 1}'
    assert orjson.loads(text)
    assert repeated_fields(text) == [
        'duplicate field "spec.replicas"',
        'duplicate field "spec.x[0].y"',
        'duplicate field "a"',
    ]
    assert not repeated_fields(b'{"a": [{"b": 1}, {"b": 1}]}')
    assert not repeated_fields(b"[" * 100_000)
    assert not repeated_fields(b'{"a": {"b": 1, "b": 1}')


def test_repeated_keys_of_yaml_are_named_by_line() -> None:
    """Upstream: sigs.k8s.io/yaml, UnmarshalStrict()."""
    text = b"\nspec:\n  foo: 1\n  foo: 2\na: {b: 1, b: 2}\n"
    lines = ['line 4: key "foo" already set in map', 'line 5: key "b" already set in map']
    assert repeated_fields(text) == lines
    assert joined([*lines, 'unknown field "a"']) == (
        'yaml: unmarshal errors:\n  line 4: key "foo" already set in map\n'
        '  line 5: key "b" already set in map, unknown field "a"'
    )


def test_problems_come_in_the_order_of_the_text() -> None:
    """Upstream: test/e2e/apimachinery/field_validation.go, "should detect unknown and duplicate"."""
    text = b"""{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"odd": "x", "replicas": 2, "replicas": 3, "template": {"more": 1}}}"""
    resource = of_kind("Deployment")
    assert problems(resource, text, fields_of(resource, orjson.loads(text))) == [
        'unknown field "spec.odd"',
        'duplicate field "spec.replicas"',
        'unknown field "spec.template.more"',
    ]


def test_refusal_has_the_message_of_upstream() -> None:
    error = refusal(of_kind("Deployment"), ['unknown field "spec.a"', 'duplicate field "spec.b"'])
    assert (error.code, error.reason) == (400, "BadRequest")
    assert error.message == (
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
        'unknown field "spec.a", duplicate field "spec.b"'
    )


def test_patch_is_refused_without_a_name() -> None:
    error = patch_refusal({"spec": {"a": 1}}, 'strict decoding error: unknown field "spec.a"')
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message.startswith(' "" is invalid: patch: Invalid value: "{')
    assert error.details["causes"][0]["field"] == "patch"
