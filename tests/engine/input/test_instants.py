"""The times in manifests, of which custom resources may have any shape."""

from typing import Any

import pytest

from engine.input.instants import is_dated, newest_of

OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


def _custom(status: Any) -> dict[str, Any]:
    metadata = {"name": "x", "creationTimestamp": OLD}
    return {"apiVersion": "example.com/v1", "kind": "X", "metadata": metadata, "status": status}


@pytest.mark.parametrize(
    "status",
    [
        "ready",
        7.5,
        ["a"],
        {"conditions": 0.5},
        {"conditions": "Ready"},
        {"conditions": ["Ready", None]},
        {"conditions": {"type": "Ready"}},
        {"containerStatuses": [{"state": "running"}, 3]},
        {"containerStatuses": [{"state": {"running": True}}]},
    ],
)
def test_odd_custom_statuses_name_no_times(status: Any) -> None:
    assert newest_of([_custom(status)]) == OLD
    assert is_dated([_custom(status)])


@pytest.mark.parametrize(
    "status",
    [
        {"startTime": NEW},
        {"conditions": ["odd", {"lastTransitionTime": NEW}]},
        {"containerStatuses": [{"state": {"terminated": {"finishedAt": NEW}}}]},
    ],
)
def test_the_newest_time_is_found_anywhere(status: Any) -> None:
    assert newest_of([_custom(status)]) == NEW
