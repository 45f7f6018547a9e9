"""Why a pod has no device: the selector, the attribute, the taint, and who has the device."""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis import diagnose
from engine.diagnosis.report import Cause
from tests.builders import (
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
    selectors,
)

CLASS = device_class("gpu", 'device.driver == "gpu.example.com"')


def cause(*devices: dict[str, Any], **request: Any) -> Cause:
    """Why the second of two pods waits; the first takes the first device that it can have."""
    claims = [resource_claim(name, device_request("r", "gpu", **request)) for name in "ab"]
    pods = [pod(f"p-{name}", **claims_in_pod(name)) for name in "ab"]
    objects = node("n1"), CLASS, resource_slice("n1", devices), *claims, *pods
    run = played(Cluster.create(scene(*objects), profile="v1.36"), 20)
    return diagnose(run, "default/p-b").causes[0]


def facts(found: Cause) -> list[tuple[str, str, Any]]:
    return [(each.object, each.field, each.value) for each in found.because]


def test_condition_that_fails_is_named_with_its_value() -> None:
    small = device("small", memory="16Gi", attributes={"model": "a"})
    large = device("large", memory="80Gi", attributes={"model": "a"})
    memory = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0'
    model = 'device.attributes["gpu.example.com"].model == "a"'
    found = cause(large, small, selectors=selectors(f"{model} && {memory}"))
    assert found.sentence == (
        "Of 2 devices, none serves request r: 1 not selected by the claim and 1 allocated to other "
        "claims."
    )
    assert facts(found)[1:] == [
        (
            "resourceclaim/default/a",
            "status.allocation",
            {
                "devices": {
                    "results": [
                        {
                            "request": "r",
                            "driver": "gpu.example.com",
                            "pool": "n1",
                            "device": "large",
                        }
                    ]
                },
                "allocationTimestamp": "2026-01-01T00:00:00Z",
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {
                            "matchFields": [
                                {"key": "metadata.name", "operator": "In", "values": ["n1"]}
                            ]
                        }
                    ]
                },
            },
        ),
        ("resourceslice/n1-slice", "spec.devices[1].capacity.memory", {"value": "16Gi"}),
    ]
    assert found.because[-1].compared_with == memory


def test_a_taint_of_a_device_is_named() -> None:
    taint = {"key": "unhealthy", "value": "yes", "effect": "NoSchedule"}
    found = cause(device("good"), device("bad", taints=[taint]))
    assert ("resourceslice/n1-slice", "spec.devices[1].taints[0]", taint) in facts(found)


def test_without_any_device_that_is_said() -> None:
    assert cause().sentence == "No device can be reached from any node."
