"""The order of lists that a strategic merge patch merges is that of an API server.

Upstream: apimachinery/pkg/util/strategicpatch/patch_test.go, the tests of setElementOrder.
"""

from typing import Any

import pytest

from kube.patching.strategic import strategic_patched
from kube.resources import Resource, found


def patched(pod: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    pods = found("", "v1", "pods")
    assert isinstance(pods, Resource)
    return strategic_patched(pods, {"apiVersion": "v1", "kind": "Pod", **pod}, patch)


def containers(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def order_after(before: list[str], spec: dict[str, Any]) -> str:
    after = patched({"spec": {"containers": containers(*before)}}, {"spec": spec})
    return "".join(one["name"] for one in after["spec"]["containers"])


@pytest.mark.parametrize(
    ("before", "patch", "order", "after"),
    [
        ("a", "s", None, "sa"),
        ("ab", "b", None, "ab"),
        ("ab", "ba", None, "ba"),
        ("abc", "bs", None, "absc"),
        ("abc", "sb", None, "sabc"),
        ("abc", "d", "cda", "bcda"),
        ("", "ab", None, "ab"),
    ],
)
def test_new_items_come_as_upstream_has_them(
    before: str, patch: str, order: str | None, after: str
) -> None:
    spec: dict[str, Any] = {"containers": containers(*patch)}
    if order is not None:
        spec["$setElementOrder/containers"] = containers(*order)
    assert order_after([*before], spec) == after


def test_new_finalizers_stand_before_the_others() -> None:
    patch = {"metadata": {"finalizers": ["b/y", "b/y"]}}
    after = patched({"metadata": {"finalizers": ["a/x"]}}, patch)
    assert after["metadata"]["finalizers"] == ["b/y", "a/x"]
