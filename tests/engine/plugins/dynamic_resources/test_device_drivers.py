"""The driver on a node prepares devices before containers start, and takes its time."""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis import diagnose
from engine.kernel.latency import Latency
from engine.kernel.units import MILLISECOND, SECOND
from tests.builders import (
    apply_command,
    claims_in_pod,
    device,
    device_class,
    device_request,
    node,
    played,
    pod,
    resource_claim,
    resource_slice,
    scene,
)

Manifest = dict[str, Any]

SLOW = {name: Latency("fixed", 10 * SECOND) for name in ("prepare_devices", "unprepare_devices")}


def cluster(*, spec: Manifest | None = None, **fields: Any) -> Cluster:
    """One pod with a claim for a device of its node."""
    gpus = device_class("gpu", 'device.driver == "gpu.example.com"')
    claim = resource_claim("c", device_request("r", "gpu"))
    wants = pod("p", **claims_in_pod("c"), **(spec or {}))
    wants["metadata"]["annotations"] = {"kscope.dev/run-for": "10s"}
    objects = (node("n1"), gpus, claim, resource_slice("n1", [device("d0")]), wants)
    return Cluster.create(scene(*objects, **fields), profile="v1.36")


def phase(run: Cluster) -> str:
    found = run.store.find("Pod", "default/p")
    return "gone" if found is None else found.status.get("phase", "Pending")


def is_allocated(run: Cluster) -> bool:
    return "allocation" in run.store.get("ResourceClaim", "default/c").status


def test_containers_start_after_devices_are_prepared() -> None:
    run = played(cluster(latencies=SLOW), 9)
    assert phase(run) == "Pending"
    assert phase(played(run, 5)) == "Running"


def test_a_failed_preparation_is_tried_again() -> None:
    fault = {"fail": "prepare_devices", "node": "n1", "times": 2, "text": "no CDI file"}
    run = played(cluster(steps=[(0, "fault", {"patch": fault})]), 19)
    assert phase(run) == "Pending"
    assert phase(played(run, 5)) == "Running"
    failed = [one for one in run.take().events if one.kind == "FailedPrepareDynamicResources"]
    assert len(failed) == 2
    assert failed[0].message == (
        "Failed to prepare dynamic resources: prepare dynamic resources: "
        "NodePrepareResources failed for ResourceClaim c: no CDI file"
    )


def test_failed_preparation_says_why_a_pod_waits() -> None:
    fault = {"fail": "prepare_devices", "times": 9, "text": "no CDI file"}
    run = played(cluster(steps=[(0, "fault", {"patch": fault})]), 19)
    (found,) = diagnose(run, "default/p").causes
    assert found.sentence == "The driver on n1 cannot prepare the devices of pod default/p."
    assert found.because[1].text == "Claim default/c has gpu.example.com/n1/d0."


def test_kubelet_refuses_a_claim_that_is_not_reserved() -> None:
    run = played(cluster(spec={"nodeName": "n1"}), 19)
    failed = [one for one in run.take().events if one.kind == "FailedPrepareDynamicResources"]
    refused, claim = run.store.get("Pod", "default/p"), run.store.get("ResourceClaim", "default/c")
    assert len(failed) == 2
    assert failed[0].message == (
        "Failed to prepare dynamic resources: prepare dynamic resources: "
        f"pod p ({refused.uid}) is not allowed to use ResourceClaim c ({claim.uid})"
    )


def test_unreserved_claim_says_why_a_pod_waits() -> None:
    run = played(cluster(spec={"nodeName": "n1"}), 19)
    (found,) = diagnose(run, "default/p").causes
    assert found.sentence == (
        "Pod default/p has nodeName n1, and no scheduler reserved for it: default/c. "
        "The kubelet refuses to prepare its devices."
    )
    assert [each.path for each in found.because] == [("spec", "nodeName"), ("status",)]


def test_a_fault_for_another_claim_does_no_harm() -> None:
    fault = {"fail": "prepare_devices", "claim": "default/other"}
    run = played(cluster(steps=[(0, "fault", {"patch": fault})]), 5)
    assert phase(run) == "Running"


def test_devices_are_released_before_a_deleted_pod_goes() -> None:
    run = played(cluster(latencies=SLOW), 20)
    apply_command(run, verb="delete", object="pod/default/p")
    assert (phase(played(run, 5)), is_allocated(run)) == ("Running", True)
    assert (phase(played(run, 10)), is_allocated(run)) == ("gone", False)


def test_pod_ends_after_its_devices_are_given_back() -> None:
    run = played(cluster(spec={"restartPolicy": "Never"}, latencies=SLOW), 19)
    assert (phase(run), is_allocated(run)) == ("Running", True)
    assert (phase(played(run, 12)), is_allocated(run)) == ("Succeeded", False)


def test_a_restarted_kubelet_knows_its_prepared_devices() -> None:
    run = played(cluster(), 5)
    apply_command(run, verb="fault", patch={"restart": "n1"})
    apply_command(run, verb="delete", object="pod/default/p")
    run.advance(run.now + 1020 * MILLISECOND)
    assert phase(run) == "Running"
    assert phase(played(run, 1)) == "gone"
