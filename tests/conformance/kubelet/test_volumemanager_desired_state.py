"""Upstream's pkg/kubelet/volumemanager/cache/desired_state_of_world_test.go, case by case."""

import pytest

from engine.storage.plugins.spec import VolumePlugin
from tests.conformance.kubelet.volumemanager import FakePlugin, FakePlugins, States
from tests.conformance.vectors import Json, parametrised, upstream

VECTORS = upstream("volumemanager_desired_state_of_world_test.json")
CASES = None if VECTORS is None else [(test["upstreamTest"], test) for test in VECTORS["tests"]]

# The naming test has plugins of its own, which it chooses by the volume's name.
NAMED: dict[str, VolumePlugin] = {
    "basic": FakePlugin("basic", attachable=False, device_mountable=False),
    "device-mountable": FakePlugin("device-mountable", attachable=False),
    "attachable": FakePlugin("attachable"),
}


@pytest.mark.parametrize("case", parametrised(CASES))
def test_desired_state_of_world_answers_as_upstream(case: Json) -> None:
    # The cases of one table share their state.
    states = States(FakePlugins(FakePlugin(), NAMED))
    steps = [*case.get("steps", []), *(s for sub in case.get("cases", []) for s in sub["steps"])]
    for step in steps:
        states.check(step)
