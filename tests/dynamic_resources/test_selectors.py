"""CEL expressions of classes and claims, on one device."""

import pytest

from kscope.sim.objects.objects import from_manifest
from scheduling.engine.dynamic_resources.devices import Device, Slice
from scheduling.engine.dynamic_resources.selectors import SelectorError, selector
from tests.builders import device, resource_slice


def gpu() -> Device:
    manifest = device(
        "gpu-0",
        memory="40Gi",
        attributes={
            "model": "a",
            "numa": 1,
            "nvlink": True,
            "driverVersion": {"version": "1.10.0"},
            "other.example.com/rank": 3,
        },
    )
    return Slice.parse(from_manifest(resource_slice("node-1", [manifest]))).devices[0]


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.example.com"',
        'device.attributes["gpu.example.com"].model in ["a", "b"]',
        'device.attributes["gpu.example.com"].nvlink',
        'device.attributes["other.example.com"].rank == 3',
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("40960Mi")) == 0',
        'device.capacity["gpu.example.com"].memory == quantity("40960Mi")',
        'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("39.5Gi"))',
        'device.capacity["gpu.example.com"].memory.sub(quantity("8Gi")).isLessThan(quantity("33Gi"))',
        'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.9.9"))',
        'device.attributes["gpu.example.com"].driverVersion.minor() == 10',
        'semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))',
        'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.nvlink && gpu.model == "a")',
        'has(device.attributes["gpu.example.com"].numa)',
    ],
)
def test_an_expression_selects_the_device(expression: str) -> None:
    assert selector(expression).matches(gpu())


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["gpu.example.com"].model == "b"',
        'device.attributes["gpu.example.com"].model == 3',
        '"zone" in device.attributes["gpu.example.com"]',
        '"unknown.example.com" in device.attributes',
        '"rank" in device.attributes["unknown.example.com"]',
        "device.allowMultipleAllocations",
    ],
)
def test_an_expression_passes_the_device_over(expression: str) -> None:
    assert not selector(expression).matches(gpu())


def test_an_attribute_that_is_missing_is_an_error() -> None:
    with pytest.raises(SelectorError, match="CEL runtime error: no such key: zone"):
        selector('device.attributes["gpu.example.com"].zone == "a"').matches(gpu())


def test_a_result_that_is_no_truth_is_an_error() -> None:
    with pytest.raises(SelectorError, match="could not be converted to bool"):
        selector('device.attributes["gpu.example.com"].model').matches(gpu())


def test_what_is_no_expression_does_not_compile() -> None:
    with pytest.raises(SelectorError, match="CEL compile error: compilation failed"):
        selector("device.driver ==")
