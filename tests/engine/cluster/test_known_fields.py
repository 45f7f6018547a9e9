"""A run's API server takes the fields that its version has, and tells which ones it left out."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command, Outcome
from tests.builders import node, played, pod, scene

_POLICY = {"persistentVolumeClaimRetentionPolicy": "text"}
_TEMPLATE = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
_STATEFUL_SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "s", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": _TEMPLATE},
}
_LEFT_OUT = "unknown field, which is left out; the nearest is"


def _tell(cluster: Cluster, **parts: Any) -> Outcome:
    return cluster.apply(Command.from_dict(parts))


def _told(cluster: Cluster) -> list[tuple[str, str, str]]:
    events = cluster.take().events
    kept = [one for one in events if one.kind == "FieldsLeftOut"]
    return [(one.object, one.component, one.message) for one in kept]


@pytest.mark.parametrize("verb", ["create", "apply", "replace", "patch"])
def test_a_wrong_type_is_refused_in_every_command(verb: str) -> None:
    cluster = played(Cluster.create(scene(node("n"), _STATEFUL_SET)))
    body: dict[str, Any] = {"object": "statefulset/default/s", "patch": {"spec": _POLICY}}
    if verb != "patch":
        body = {"manifest": {**_STATEFUL_SET, "spec": {**_STATEFUL_SET["spec"], **_POLICY}}}
    outcome = _tell(cluster, verb=verb, **body)
    assert (outcome.applied, outcome.reason) == (
        False,
        'Invalid: StatefulSet "s" is invalid: spec.persistentVolumeClaimRetentionPolicy: '
        'Invalid value: expected a mapping, found "text"',
    )
    assert cluster.store.get("StatefulSet", "default/s").raw["spec"].keys().isdisjoint(_POLICY)


@pytest.mark.parametrize("verb", ["create", "apply", "replace"])
def test_an_unknown_field_is_left_out_and_told(verb: str) -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    outcome = _tell(cluster, verb=verb, manifest=pod("web", nodeSelektor={"a": "b"}))
    note = f"spec.nodeSelektor: {_LEFT_OUT} spec.nodeSelector"
    assert (outcome.applied, outcome.reason) == (True, note)
    assert "nodeSelektor" not in cluster.store.get("Pod", "default/web").raw["spec"]
    assert _told(cluster) == [("pod/default/web", "command", note)]


def test_a_patch_leaves_unknown_fields_out() -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    patch = {"spec": {"taint": [], "unschedulable": True}}
    outcome = _tell(cluster, verb="patch", object="node/n", patch=patch)
    note = f"spec.taint: {_LEFT_OUT} spec.taints"
    assert (outcome.applied, outcome.reason) == (True, note)
    assert cluster.store.get("Node", "n").raw["spec"] == {"unschedulable": True}
    assert _told(cluster) == [("node/n", "command", note)]


def test_a_resize_leaves_unknown_fields_out() -> None:
    cluster = played(Cluster.create(scene(node("n"), pod("web"))))
    resources = {"requests": {"cpu": "2"}, "reqests": {}}
    patch = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
    outcome = _tell(cluster, verb="resize", object="pod/default/web", patch=patch)
    assert (outcome.applied, _LEFT_OUT in outcome.reason) == (True, True)
    (container,) = cluster.store.get("Pod", "default/web").raw["spec"]["containers"]
    assert "reqests" not in container["resources"]


def test_a_run_begins_with_what_its_version_knows() -> None:
    whole = scene(node("n"), pod("web", schedulingGates=[]))
    older = Cluster.create(whole, profile="v1.20")
    assert "schedulingGates" not in older.store.get("Pod", "default/web").raw["spec"]
    ((entity, by, message),) = _told(older)
    assert (entity, by) == ("pod/default/web", "scenario")
    assert message == (
        "spec.schedulingGates: v1.20 does not have this field (v1.26 and later do); it is left out"
    )
    newer = Cluster.create(whole, profile="v1.34")
    assert "schedulingGates" in newer.store.get("Pod", "default/web").raw["spec"]


def test_stored_values_are_no_fault_of_a_patch() -> None:
    # The newest version does not look again at what was loaded, and may have been before it did.
    cluster = played(Cluster.create(scene(node("n"), pod("web", nodeSelektor={}))))
    patch = {"metadata": {"labels": {"a": "b"}}}
    outcome = _tell(cluster, verb="patch", object="pod/default/web", patch=patch)
    assert (outcome.applied, outcome.reason) == (True, "")


def test_steps_show_what_they_leave_out() -> None:
    created = (1, "create", {"manifest": pod("web", hostPit=True)})
    cluster = played(Cluster.create(scene(node("n"), steps=[created])))
    assert _told(cluster) == [
        ("pod/default/web", "scenario", f"spec.hostPit: {_LEFT_OUT} spec.hostPID")
    ]
