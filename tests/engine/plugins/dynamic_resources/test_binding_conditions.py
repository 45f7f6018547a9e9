"""A pod is bound once the drivers of its devices have made them ready for the node."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis import diagnose
from engine.kernel.latency import Latency
from engine.kernel.units import SECOND
from tests.builders import (
    apply_command,
    claims_in_pod,
    device,
    device_class,
    device_request,
    node,
    node_of,
    played,
    pod,
    resource_claim,
    resource_slice,
    scene,
)

Manifest = dict[str, Any]

READY, BROKEN = "example.com/attached", "example.com/broken"
NEVER = {"ready_devices": Latency("fixed", 10_000 * SECOND)}


def fabric(*names: str) -> Manifest:
    """Devices that any node can reach, once they are attached to it."""
    conditions = {
        "bindsToNode": True,
        "bindingConditions": [READY],
        "bindingFailureConditions": [BROKEN],
    }
    devices = [device(name, **conditions) for name in names]
    return resource_slice("", devices, pool="fabric", allNodes=True)


def cluster(*objects: Manifest, profile: str = "v1.36", **fields: Any) -> Cluster:
    """One pod whose claim asks for one device of the fabric."""
    claim = resource_claim("c", device_request("r", "gpu"))
    gpus = device_class("gpu", 'device.driver == "gpu.example.com"')
    begin = (node("n1"), gpus, claim, fabric("d0", "d1"), pod("p", **claims_in_pod("c")))
    return Cluster.create(scene(*begin, *objects, **fields), profile=profile)


def messages(run: Cluster, *kinds: str) -> list[str]:
    return [one.message for one in run.take().events if one.kind in kinds]


def claim_of(run: Cluster) -> Manifest:
    return run.store.get("ResourceClaim", "default/c").raw


def test_a_pod_waits_until_its_device_is_ready() -> None:
    run = played(cluster(), 4)
    assert node_of(run, "p") == ""
    played(run, 10)
    assert node_of(run, "p") == "n1"
    (entry,) = claim_of(run)["status"]["devices"]
    assert (entry["pool"], entry["device"]) == ("fabric", "d0")
    assert [each["type"] for each in entry["conditions"]] == [READY]
    assert messages(run, "BindingConditionsPending") == [
        "waiting for binding conditions for device on node n1"
    ]


def test_the_wait_begins_at_the_written_timestamp() -> None:
    run = played(cluster(latencies=NEVER), 20)
    assert claim_of(run)["status"]["allocation"]["allocationTimestamp"].endswith("00:00Z")
    assert node_of(run, "p") == ""


def test_condition_written_by_hand_ends_the_wait() -> None:
    run = played(cluster(latencies=NEVER), 20)
    entry = {"driver": "gpu.example.com", "pool": "fabric", "device": "d0"}
    entry["conditions"] = [{"type": READY, "status": "True"}]
    status = {"status": {"devices": [entry]}}
    apply_command(run, verb="patch", object="resourceclaim/default/c", patch=status)
    assert node_of(played(run, 10), "p") == "n1"


def test_failed_device_is_given_back_and_tried_again() -> None:
    fault = {"fail": "ready_devices", "claim": "default/c", "text": 'no "power"'}
    run = played(cluster(steps=[(0, "fault", {"patch": fault})]), 60)
    assert node_of(run, "p") == "n1"
    failed = messages(run, "FailedScheduling")
    assert failed[0] == (
        'running PreBind plugin "DynamicResources": claim c binding failed: reason=Failed, '
        'message="no \\"power\\""'
    )
    assert "1 resourceclaim not available on the node" in failed[1]


def test_a_wait_ends_after_ten_minutes() -> None:
    run = played(cluster(latencies=NEVER), 599)
    assert messages(run, "FailedScheduling") == []
    played(run, 30)
    failed = messages(run, "FailedScheduling")
    assert failed[0] == 'running PreBind plugin "DynamicResources": device binding timeout'
    assert "1 resourceclaim not available on the node" in failed[1]
    # The device was given back, and the next one is waited for.
    assert messages(run, "FailedScheduling") == []
    assert claim_of(run)["status"]["allocation"]["allocationTimestamp"] > "2026-01-01T00:10"


def test_a_restarted_scheduler_waits_for_the_same_device() -> None:
    run = played(cluster(), 3)
    before = claim_of(run)["status"]["allocation"]
    apply_command(run, verb="fault", patch={"fail": "ready_devices"})
    apply_command(run, verb="fault", patch={"restart": "scheduler"})
    played(run, 1)
    assert claim_of(run)["status"]["allocation"] == before
    assert len(messages(run, "BindingConditionsPending")) == 2


def test_a_deleted_pod_waits_no_longer() -> None:
    run = played(cluster(latencies=NEVER), 20)
    apply_command(run, verb="delete", object="pod/default/p")
    played(run, 700)
    assert "allocation" not in claim_of(run).get("status", {})


@pytest.mark.parametrize(
    ("profile", "gates"), [("v1.36", {"DRADeviceBindingConditions": False}), ("v1.35", {})]
)
def test_without_the_gate_no_pod_waits(profile: str, gates: dict[str, bool]) -> None:
    run = played(cluster(profile=profile, feature_gates=gates, latencies=NEVER), 5)
    assert node_of(run, "p") == "n1"
    allocation = claim_of(run)["status"]["allocation"]
    assert "allocationTimestamp" not in allocation
    assert "bindingConditions" not in allocation["devices"]["results"][0]


def test_the_condition_that_is_waited_for_is_named() -> None:
    run = played(cluster(latencies=NEVER), 20)
    (found,) = diagnose(run, "default/p").causes
    assert found.sentence == (
        "Node n1 is chosen; pod default/p is bound when its devices are ready: "
        "example.com/attached of device gpu.example.com/fabric/d0 is not true yet."
    )
    (because,) = found.because
    assert because.field == "status.allocation.devices.results[0].bindingConditions"


@pytest.mark.parametrize("seconds", [1, 7])
def test_a_waiting_run_can_be_kept_and_resumed(seconds: int) -> None:
    whole, half = cluster(), cluster()
    whole.advance(60 * SECOND)
    half.advance(seconds * SECOND)
    half.take()
    rest = Cluster.restore(half.checkpoint())
    rest.advance(60 * SECOND)
    for run in (whole, rest):
        run.take()
    assert rest.recorder.digest == whole.recorder.digest
