"""The same must hold where plugins take part in placing pods, and where volumes go in rounds."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.checks.determinism import check_determinism
from engine.cluster.cluster import Cluster
from engine.input.scenario import Scenario
from engine.kernel.units import MILLISECOND, SECOND
from tests.engine.plugins.test_extension_points import everywhere, installed
from tests.properties.clusters import random_scenario
from tests.properties.examples import examples

__all__ = ["installed"]

UNTIL = 60 * SECOND
# What one plugin says at one point; another keeps pods waiting until three can go.
ANSWERS: tuple[dict[str, str], ...] = (
    {},
    {"reserve": "no"},
    {"permit": "error"},
    {"pre_bind": "no"},
    {"bind": "error"},
)


def _plugged(scenario: Scenario, answers: dict[str, str]) -> Scenario:
    told = everywhere("Ledger", "Gang", Ledger=answers, Gang={"size": 3, "timeout": 7 * SECOND})
    bind = {"disabled": [{"name": "DefaultBinder"}], "enabled": [{"name": "Ledger"}]}
    told["profiles"][0]["plugins"]["bind"] = bind
    return replace(scenario, configuration=told)


def _kinds(seed: int) -> tuple[tuple[Scenario, str], ...]:
    scenario = random_scenario(seed)
    return (scenario, "v1.11"), (_plugged(scenario, ANSWERS[seed % len(ANSWERS)]), "v1.36")


@pytest.mark.parametrize("place", [0, 1])
@examples(15, allowed=(HealthCheck.function_scoped_fixture,))
@given(seed=st.integers(0, 10_000))
# A pod that comes back to the queue during its attempt, and is assumed before its next turn.
@example(seed=5132)
def test_no_pod_is_doubled_no_node_overcommitted(place: int, seed: int) -> None:
    scenario, profile = _kinds(seed)[place]
    cluster = Cluster.create(scenario, profile=profile, seed=seed)
    while cluster.now < UNTIL and cluster.next_at is not None:
        cluster.advance(UNTIL, stop="event")
        cluster.take()
        for entity, shown in cluster.view().items():
            if entity.startswith("pod/") and "first_queued" in shown:
                assert ("queue" in shown) + ("cache" in shown) <= 1, (seed, entity, shown)
            for name, amount in shown.get("requested", {}).items():
                assert amount <= shown["allocatable"].get(name, 0), (seed, entity, name)
    cluster.advance(UNTIL + 10 * MILLISECOND)
    assert cluster_findings(cluster) == []


@pytest.mark.parametrize("place", [0, 1])
@examples(15, allowed=(HealthCheck.function_scoped_fixture,))
@given(seed=st.integers(0, 10_000))
def test_slices_and_restores_do_not_change_the_history(place: int, seed: int) -> None:
    scenario, profile = _kinds(seed)[place]
    assert check_determinism(scenario, seed, profile=profile, until=UNTIL) is None
