"""Errors as Status objects. Upstream: api/errors/errors_test.go."""

import pytest

from kube import status
from kube.resources import Resource, found


def _resource(group: str, plural: str) -> Resource:
    resource = found(group, "v1", plural)
    assert resource is not None
    return resource


def test_object_that_is_not_there() -> None:
    assert status.not_found(_resource("apps", "deployments"), "web").body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'deployments.apps "web" not found',
        "reason": "NotFound",
        "details": {"name": "web", "group": "apps", "kind": "deployments"},
        "code": 404,
    }


def test_invalid_object_names_each_cause() -> None:
    causes = [("FieldValueRequired", "Required value", "spec.a"), ("FieldValueInvalid", "no", "")]
    error = status.invalid(_resource("apps", "deployments"), "web", causes)
    assert error.message == 'Deployment.apps "web" is invalid: [spec.a: Required value, no]'
    assert error.details["kind"] == "Deployment"
    assert error.details["causes"][0] == {
        "reason": "FieldValueRequired",
        "message": "Required value",
        "field": "spec.a",
    }


def test_forbidden_names_the_object_if_any() -> None:
    pods = _resource("", "pods")
    assert status.forbidden("no", pods, "a").message == 'pods "a" is forbidden: no'
    assert status.forbidden("no", pods).message == "pods is forbidden: no"
    assert status.forbidden("no").message == "forbidden: no"


def test_conflict_has_the_message_of_upstream() -> None:
    error = status.conflict(_resource("", "pods"), "a", status.MODIFIED)
    assert error.code == 409
    assert error.message.startswith(
        'Operation cannot be fulfilled on pods "a": the object has been'
    )


def test_timeout_names_no_time_to_try_again() -> None:
    error = status.timed_out("the run is busy")
    assert error.message == "Timeout: the run is busy"
    assert (error.headers, error.details) == ({}, {})


def test_deletion_answers_with_success() -> None:
    assert status.success(_resource("", "pods"), "a", "u1") == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "pods", "uid": "u1"},
    }


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("spec.a[0]: Required value", ("FieldValueRequired", "Required value", "spec.a[0]")),
        ("spec: Forbidden: no:\nx", ("FieldValueForbidden", "Forbidden: no:\nx", "spec")),
        ("x is no pod: a", ("FieldValueInvalid", "x is no pod: a", "")),
    ],
)
def test_a_cause_is_read_from_a_field_error(error: str, cause: tuple[str, str, str]) -> None:
    assert status.cause_of(error) == cause
