"""What is stuck although every pod runs: resizes of pods, and changes of volumes that are in use."""

from typing import Any

import pytest

from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.builders.storage import claim
from tests.engine.diagnosis.triage.clusters import (
    ELEVEN,
    NOON,
    answer_about,
    event,
    only_group,
    placed,
    triage_of,
)

Manifest = dict[str, Any]


def _condition(kind: str, **fields: Any) -> Manifest:
    return {"type": kind, "status": "True", "lastTransitionTime": ELEVEN, **fields}


def _resized(reason: str, since: str = ELEVEN) -> Manifest:
    """A pod that runs and asks for more than its node has."""
    ready = _condition("Ready")
    waits = _condition(
        "PodResizePending", reason=reason, message="no room", lastTransitionTime=since
    )
    given = {"name": "main", "resources": {"requests": {"cpu": "1"}}, "ready": True}
    status = {"conditions": [ready, waits], "containerStatuses": [given]}
    return placed(pod("web", cpu="64"), phase="Running", **status)


@pytest.mark.parametrize("reason", ["Infeasible", "Deferred"])
def test_resize_without_room_is_stuck(reason: str) -> None:
    group = only_group(node("n1"), _resized(reason))
    assert (group.pods, group.short) == (("default/web",), "pod cannot be resized")
    assert group.observed == f"Condition PodResizePending is True, {reason}: no room"
    assert not group.contradicts


def test_resize_put_off_just_now_waits() -> None:
    assert triage_of(node("n1"), _resized("Deferred", since=NOON)).groups == ()


def test_model_does_not_resize_it_either() -> None:
    answer = answer_about("Pod", "default/web", node("n1"), _resized("Infeasible"))
    assert (answer.predicted, answer.contradicts) == ("it runs on n1, and is not resized", False)


def _modified(status: str, *conditions: Manifest) -> Manifest:
    """A bound claim that names the class "fast" and has "slow"."""
    wanted = claim("data", volumeAttributesClassName="fast", volumeName="v")
    under_way = {"targetVolumeAttributesClassName": "fast", "status": status}
    wanted["status"] = {"phase": "Bound", "currentVolumeAttributesClassName": "slow"}
    wanted["status"] |= {"modifyVolumeStatus": under_way, "conditions": list(conditions)}
    return wanted


def test_refused_modification_offers_the_old_class() -> None:
    data = _modified("Infeasible")
    group = only_group(node("n1"), data, event(data, "VolumeModifyFailed", "invalid iops"))
    assert (group.by, group.short) == ("volumeattributesclass fast", "volume is not modified")
    (back,) = group.changes
    assert back.text.startswith("Let default/data name VolumeAttributesClass slow again")
    assert back.commands


def test_modification_with_an_error_is_stuck() -> None:
    error = _condition("ModifyVolumeError", message="invalid iops")
    assert "invalid iops" in only_group(node("n1"), _modified("InProgress", error)).cause


def test_modification_under_way_is_not_stuck() -> None:
    under_way = _modified("InProgress", _condition("ModifyingVolume"))
    assert triage_of(node("n1"), under_way).groups == ()
