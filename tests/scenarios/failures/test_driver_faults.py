"""Drivers and the API server fail, so often or by chance, and everybody tries again."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.scenario import Scenario, Step
from engine.kernel.units import MINUTE, SECOND
from tests.scenarios.played import Played
from tests.scenarios.test_golden import claim, fault, node, pod, storage_class, volume

_DISK = (storage_class("Immediate"), volume("pv"), claim("data"), node("n1", "z1"))


def _play(*objects: dict[str, Any], steps: tuple[Step, ...], profile: str = "v1.34") -> Played:
    scenario = Scenario(
        name="broken", objects=objects, steps=steps, until=10 * MINUTE, profile=profile
    )
    return Played(scenario, tie_break="name")


def _count(played: Played, kind: str) -> int:
    return sum(event.kind == kind for event in played.events)


def test_provisioning_can_fail_for_whatever_claim_comes() -> None:
    played = _play(
        storage_class("Immediate", "csi.example.com"),
        claim("data"),
        steps=(fault(fail="provision", times=2, text="rpc error: no more disks"),),
    )
    told = [event.message for event in played.events if event.kind == "ProvisioningFailed"]
    assert len(told) == 2
    assert all("no more disks" in message for message in told)
    assert played.claims()["default/data"].startswith("pvc-")


def test_plugin_of_the_controller_can_fail_to_provision() -> None:
    played = _play(
        storage_class("Immediate", "kubernetes.io/gce-pd"),
        node("n1", "z1"),
        claim("data"),
        steps=(fault(fail="provision", claim="default/data", times=1, text="quota exceeded"),),
        profile="v1.16",
    )
    (told,) = [event for event in played.events if event.kind == "ProvisioningFailed"]
    assert told.message.endswith("quota exceeded")
    assert told.component == "pv-controller"
    assert played.claims()["default/data"].startswith("pvc-")


@pytest.mark.parametrize(("where", "failed"), [("n1", 2), ("n2", 0)])
@pytest.mark.parametrize("call", ["attach", "mount_device", "mount"])
def test_a_fault_of_one_node_strikes_there_alone(call: str, where: str, failed: int) -> None:
    steps = (fault(fail=call, node=where, times=2, text="no path to the disk"),)
    played = _play(*_DISK, node("n2", "z2"), pod("web", "data", nodeName="n1"), steps=steps)
    told = [event for event in played.events if "no path to the disk" in event.message]
    warned = {event.message for event in told if event.kind.startswith("Failed")}
    assert len(warned) == min(failed, 1)
    assert played.pods()["default/web"] == ("Running", "n1")


@pytest.mark.parametrize("call", ["unmount", "unmount_device", "detach"])
def test_what_cannot_be_undone_is_tried_again(call: str) -> None:
    steps = (
        fault(fail=call, node="n1", times=2),
        Step(at=20 * SECOND, verb="delete", object="pod/default/web"),
    )
    played = _play(*_DISK, pod("web", "data"), steps=steps)
    assert played.pods() == {}
    assert _count(played, "VolumeAttachmentDeleted") == 1
    assert played.end["node/n1"].get("volumes", {}) == {}


@pytest.mark.parametrize(
    "by", ["attach-detach", "csi-attacher", "pvc-protection", "pv-controller", "kubelet"]
)
@pytest.mark.parametrize("reason", ["Conflict", "InternalError"])
def test_whose_write_is_refused_tries_again(by: str, reason: str) -> None:
    steps = (
        fault(fail="write", by=by, times=5, reason=reason),
        Step(at=2 * MINUTE, verb="delete", object="pod/default/web"),
        Step(at=2 * MINUTE, verb="delete", object="claim/default/data"),
    )
    played = _play(*_DISK, pod("web", "data"), steps=steps)
    assert played.pods(played.at(119))["default/web"] == ("Running", "n1")
    assert _count(played, "WriteRefused") == 5
    assert played.pods() == played.claims() == {}
    assert _count(played, "VolumeAttachmentDeleted") == 1


def test_every_fault_can_be_a_command() -> None:
    cluster = Cluster.create(Scenario(name="live", objects=(*_DISK, pod("web", "data"))))
    for patch in (
        {"fail": "mount", "probability": 1, "times": 2},
        {"fail": "provision", "times": 1},
        {"slow": "kubelet", "delay": "1s"},
        {"restart": "pv-controller"},
        {"restart": "scheduler"},
    ):
        command = Command.from_dict({"verb": "fault", "patch": patch})
        assert cluster.apply(command).applied
    cluster.advance(MINUTE)
    events = cluster.take().events
    assert sum(event.kind == "FailedMount" for event in events) == 2
    assert cluster.view()["pod/default/web"]["phase"] == "Running"


def test_what_is_being_deleted_already_can_vanish() -> None:
    steps = (
        Step(at=20 * SECOND, verb="delete", object="claim/default/data"),
        fault(at=30 * SECOND, vanish="claim/default/data"),
    )
    played = _play(*_DISK, pod("web", "data"), steps=steps)
    assert played.claims(played.at(29)) == {"default/data": "pv"}
    assert played.claims() == {}
    assert not [event for event in played.events if event.kind == "CommandRejected"]


@pytest.mark.parametrize("reason", ["Conflict", "InternalError"])
def test_expansion_continues_after_a_refused_resizer_write(reason: str) -> None:
    grown = {"spec": {"resources": {"requests": {"storage": "4Gi"}}}}
    disk = storage_class("Immediate", "csi.example.com") | {"allowVolumeExpansion": True}
    steps = (
        fault(fail="write", by="external-resizer", times=4, probability=0.7, reason=reason),
        Step(at=20 * SECOND, verb="patch", object="claim/default/data", patch=grown),
    )
    played = _play(disk, claim("data"), node("n1", "z1"), pod("web", "data"), steps=steps)
    assert _count(played, "WriteRefused") == 4
    found = played.cluster.store.get("PersistentVolumeClaim", "default/data")
    assert found.status["capacity"] == {"storage": "4Gi"}
    assert not found.status.get("conditions")


def test_an_eviction_by_taint_is_tried_again() -> None:
    steps = (
        fault(fail="write", by="node-controller", times=3),
        fault(at=10 * SECOND, die="n1"),
    )
    played = _play(node("n1", "z1"), node("n2", "z2"), pod("web", nodeName="n1"), steps=steps)
    assert _count(played, "WriteRefused") == 3
    assert "deleting" in played.end["pod/default/web"]
    assert any(e.kind == "NodeTainted" for e in played.events)


def test_pods_of_lost_nodes_are_collected_despite_refusals() -> None:
    steps = (
        fault(fail="write", by="pod-garbage-collector", times=2),
        Step(at=10 * SECOND, verb="delete", object="node/n1"),
    )
    played = _play(node("n1", "z1"), node("n2", "z2"), pod("web", nodeName="n1"), steps=steps)
    assert _count(played, "WriteRefused") == 2
    assert played.pods() == {}
