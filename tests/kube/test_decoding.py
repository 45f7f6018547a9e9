"""What cannot be read as an object of its kind."""

from typing import Any

import pytest

from kube.decoding import decoding_problem, fields_of
from tests.kube.served import of_kind

WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTPE]*[-+]?[0-9]*)$'"
)


def _pod(cpu: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": "a"}, "spec": {"containers": [container]}}


@pytest.mark.parametrize("cpu", [1, 0.5, "1", "100m", "1e3", None])
def test_a_quantity_is_a_text_or_a_number(cpu: Any) -> None:
    assert decoding_problem(fields_of(of_kind("Pod"), _pod(cpu))) == ""


@pytest.mark.parametrize(
    ("cpu", "problem"),
    [
        ("1x", WRONG_FORMAT),
        ("", WRONG_FORMAT),
        (True, WRONG_FORMAT),
        ({}, WRONG_FORMAT),
        (".", "unable to parse numeric part of quantity"),
        ("1KK", "unable to parse quantity's suffix"),
    ],
)
def test_what_is_no_quantity_is_not_read(cpu: Any, problem: str) -> None:
    assert decoding_problem(fields_of(of_kind("Pod"), _pod(cpu))) == problem


@pytest.mark.parametrize(
    ("kind", "manifest", "problem"),
    [
        (
            "Node",
            {"status": {"conditions": "x"}},
            "string into Go struct field NodeStatus.status.conditions of type []v1.NodeCondition",
        ),
        (
            "Pod",
            {"spec": {"containers": [{"resources": {"limits": 5}}]}},
            "number into Go struct field ResourceRequirements.spec.containers.resources.limits "
            "of type v1.ResourceList",
        ),
        (
            "ConfigMap",
            {"data": [], "metadata": {"labels": {"a": "b"}}},
            "array into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            "Deployment",
            {"spec": {"replicas": {}}},
            "object into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
    ],
)
def test_a_value_of_another_form_is_named(
    kind: str, manifest: dict[str, Any], problem: str
) -> None:
    assert (
        decoding_problem(fields_of(of_kind(kind), manifest)) == f"json: cannot unmarshal {problem}"
    )
