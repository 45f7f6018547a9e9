"""An engine that is listened to decides as one that is not."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.cluster.cluster import Cluster
from engine.kernel.trace import Trace
from engine.kernel.units import SECOND
from engine.scheduler.cycle.inside.answer import cycle_told
from engine.scheduler.queue.telling import Popped
from engine.versions.registry import VERSIONS
from tests.properties.clusters import random_scenario
from tests.properties.examples import examples

UNTIL = 60 * SECOND


def listened_to(cluster: Cluster) -> Trace:
    trace = cluster.loop.trace = Trace(cluster.loop, cluster.recorder)
    return trace


# In 90 a nominated node is taken, whose score is in the event although nothing was compared.
@example(90, "v1.36")
@examples(12)
@given(st.integers(0, 10_000), st.sampled_from(sorted(VERSIONS)))
def test_a_trace_changes_no_history(seed: int, version: str) -> None:
    alone, told = (
        Cluster.create(random_scenario(seed), seed=seed, profile=version) for _ in range(2)
    )
    trace = listened_to(told)
    for cluster in (alone, told):
        cluster.advance(UNTIL)
        cluster.take()
    assert told.digest() == alone.digest()
    for step, pop in trace.each(Popped):
        cycle = cycle_told(trace, version, step.entity, pop.scheduling_cycle)
        assert cycle is not None
        assert cycle.pop == pop


def test_a_checkpoint_has_no_trace() -> None:
    cluster = Cluster.create(random_scenario(3), seed=3)
    listened_to(cluster)
    cluster.advance(UNTIL)
    cluster.take()
    assert Cluster.restore(cluster.checkpoint()).loop.trace is None


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_every_phase_has_a_place_upstream(version: str) -> None:
    cluster = Cluster.create(random_scenario(3), seed=3, profile=version)
    trace = listened_to(cluster)
    cluster.advance(UNTIL)
    step, pop = next(trace.each(Popped))
    cycle = cycle_told(trace, version, step.entity, pop.scheduling_cycle)
    assert cycle is not None
    assert all(phase.file.startswith("pkg/scheduler/") for phase in cycle.phases)
