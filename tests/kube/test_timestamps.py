"""Timestamps move from a run's clock to that of its clients, and back."""

import pytest

from kube.resources import PODS
from kube.timestamps import moved, shifted, timestamps_of
from tests.kube.served import of_kind

HOUR = 3_600


def test_definitions_say_which_fields_are_timestamps() -> None:
    pod, lease = timestamps_of(PODS), timestamps_of(of_kind("Lease"))
    assert dict(pod.others)["metadata"].timestamps == ("creationTimestamp", "deletionTimestamp")
    assert dict(lease.others)["spec"].timestamps == ("acquireTime", "renewTime")


def test_only_timestamps_are_moved() -> None:
    text = "2026-01-01T00:00:05Z"
    pod = {
        "metadata": {"creationTimestamp": text, "labels": {"creationTimestamp": text}},
        "status": {"conditions": [{"type": "Ready", "lastTransitionTime": text, "message": text}]},
    }
    later = "2026-01-01T01:00:05Z"
    assert shifted(timestamps_of(PODS), pod, HOUR) == {
        "metadata": {"creationTimestamp": later, "labels": {"creationTimestamp": text}},
        "status": {"conditions": [{"type": "Ready", "lastTransitionTime": later, "message": text}]},
    }
    assert pod["metadata"]["creationTimestamp"] == text


def test_malformed_parts_stay_as_they_are() -> None:
    pod = {"metadata": [5], "status": {"startTime": {}, "conditions": "none"}}
    assert shifted(timestamps_of(PODS), pod, HOUR) == pod


@pytest.mark.parametrize("text", ["2026-01-01T00:00:05Z", "2026-01-01T00:00:05.000001Z"])
def test_a_timestamp_moves_there_and_back(text: str) -> None:
    assert moved(text, HOUR) != text
    assert moved(moved(text, HOUR), -HOUR) == text


@pytest.mark.parametrize("text", ["soon", "2026-01-01", "9999-12-31T23:59:59Z"])
def test_what_is_no_timestamp_stays(text: str) -> None:
    assert moved(text, HOUR) == text
