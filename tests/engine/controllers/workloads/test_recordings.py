"""The workload controllers against recordings of a real control plane of Kubernetes 1.20."""

from typing import Any

import pytest

from tests.conformance.vectors import parametrised
from tests.engine.controllers.workloads.recorded import FOLDER, Recording, Simulated, differences

SCENARIOS = (
    "deployment-rolling-rwo",
    "statefulset-scale-3-1-3",
    "daemonset-nodes",
    "node-deleted",
    "node-notready-eviction",
    "delete-owner-propagation",
    "namespace-deleted",
    "drain-rwo-csi",
    "deployment-zone-mismatch",
)


def present() -> list[Any]:
    found = [name for name in SCENARIOS if (FOLDER / name).exists()]
    return parametrised(
        [(name, name) for name in found] if found else None, absent="control-plane-1.20"
    )


@pytest.mark.parametrize("name", present())
def test_objects_take_recorded_values_from_recorded_authors(name: str) -> None:
    recording = Recording(name)
    simulated = Simulated(recording, "v1.20")
    assert differences(recording.histories(), simulated.histories()) == []


@pytest.mark.parametrize("name", present())
def test_the_controllers_emit_the_recorded_events(name: str) -> None:
    recording = Recording(name)
    assert Simulated(recording, "v1.20").events() == recording.events()
