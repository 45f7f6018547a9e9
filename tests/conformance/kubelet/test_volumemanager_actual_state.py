"""Upstream's pkg/kubelet/volumemanager/cache/actual_state_of_world_test.go, case by case."""

import pytest

from tests.conformance.kubelet.volumemanager import FakePlugin, FakePlugins, States, cases_of
from tests.conformance.vectors import Json, parametrised, upstream

CASES = cases_of(upstream("volumemanager_actual_state_of_world_test.json"))


@pytest.mark.parametrize("case", parametrised(CASES))
def test_actual_state_of_world_answers_as_upstream(case: Json) -> None:
    states = States(FakePlugins(FakePlugin()))
    for step in case["steps"]:
        states.check(step)
