"""An engine that is listened to decides as one that is not."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.cluster.cluster import Cluster
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.kernel.trace import Kind, Trace
from engine.kernel.units import SECOND
from engine.scheduler.cycle.decision.trace_scores import HostChosen, Scored, ScoringPlugin
from engine.scheduler.cycle.inside.answer import cycle_inside
from engine.scheduler.queue.trace_steps import Popped
from engine.versions.registry import VERSIONS
from tests.builders import node, pod, scene
from tests.properties.clusters import random_scenario
from tests.properties.examples import examples

UNTIL = 60 * SECOND
SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
# Normalised from raw, lowest and highest alone.
ONE_FORMULA = ("TaintToleration", "NodeAffinity", "InterPodAffinity", "TaintTolerationPriority")


def listened_to(cluster: Cluster) -> Trace:
    trace = cluster.loop.trace = Trace(cluster.loop, cluster.recorder)
    return trace


# In 90 a nominated node is taken, whose score is in the event although nothing was compared.
@example(90, "v1.36")
@examples(12)
@given(st.integers(0, 10_000), st.sampled_from(sorted(VERSIONS)))
def test_a_trace_changes_no_history(seed: int, version: str) -> None:
    alone, traced = (
        Cluster.create(random_scenario(seed), seed=seed, profile=version) for _ in range(2)
    )
    trace = listened_to(traced)
    for cluster in (alone, traced):
        cluster.advance(UNTIL)
        cluster.take()
    assert traced.digest() == alone.digest()
    for step, pop in trace.each(Popped):
        cycle = cycle_inside(trace.entries, version, step.entity, pop.scheduling_cycle)
        assert cycle is not None
        assert cycle.pop == pop


@pytest.mark.parametrize("version", sorted(VERSIONS))
@examples(8)
@given(seed=st.integers(0, 10_000))
def test_terms_add_up_to_the_deciding_score(version: str, seed: int) -> None:
    cluster = Cluster.create(random_scenario(seed), seed=seed, profile=version)
    trace = listened_to(cluster)
    cluster.advance(20 * SECOND)
    for _, scored in trace.each(Scored):
        for one in scored.nodes if scored.is_compared else ():
            assert one.total == sum(score.weighted for score in one.scores)
            for plugin, score in zip(scored.plugins, one.scores, strict=True):
                assert score.shown is not None, plugin.plugin
                assert score.shown.raw == score.raw
                assert score.weighted == score.normalized * plugin.weight
                if plugin.plugin in ONE_FORMULA and plugin.highest > plugin.lowest >= 0:
                    assert score.normalized == computed(plugin, score.raw), plugin
    chosen = dict(_by_pod_and_time(trace, HostChosen))
    for key, scored in _by_pod_and_time(trace, Scored):
        most = max(one.total for one in scored.nodes)
        best = [one.node for one in scored.nodes if one.total == most]
        assert sorted(chosen[key].tied) == sorted(best)
        assert chosen[key].node in best


def _by_pod_and_time(trace: Trace, kind: type[Kind]) -> list[tuple[tuple[str, int, int], Kind]]:
    return [((entry.entity, entry.at, entry.seq), step) for entry, step in trace.each(kind)]


def computed(plugin: ScoringPlugin, raw: int) -> int:
    """What the formula says, rounded down as in Go."""
    code = plugin.normalizes.translate(str.maketrans("×−÷", "*-/"))
    values = {"raw": raw, "lowest": plugin.lowest, "highest": plugin.highest}
    divided = re.sub(r"(raw \* \d+) / highest", r"(\1 // highest)", code)
    return int(eval(divided, {"__builtins__": {"min": min, "max": max}}, values))


@pytest.mark.parametrize("demo", ["local-volumes", "wrong-fs-type", "budget-cascade"])
@pytest.mark.parametrize("version", ["v1.36", "v1.11"])
def test_a_trace_changes_no_demo(demo: str, version: str) -> None:
    scenario = Scenario.from_load(load_paths([SCENARIOS / f"{demo}.yaml"]), name=demo)
    alone, traced = (Cluster.create(scenario, seed=11, profile=version) for _ in range(2))
    listened_to(traced)
    for cluster in (alone, traced):
        cluster.advance(UNTIL)
        cluster.take()
    assert (traced.digest(), traced.unexpected) == (alone.digest(), 0)


@pytest.mark.parametrize("version", ["v1.36", "v1.11"])
def test_a_trace_changes_no_large_cluster(version: str) -> None:
    """Here no evidence is kept, and most decisions look at no node."""
    nodes = [node(f"n{place:03}", f"z{place % 3}") for place in range(210)]
    pods = [pod(f"p{place}", cpu="2") for place in range(20)]
    alone, traced = (Cluster.create(scene(*nodes, *pods), profile=version) for _ in range(2))
    trace = listened_to(traced)
    for cluster in (alone, traced):
        cluster.advance(UNTIL)
        cluster.take()
    assert traced.digest() == alone.digest()
    assert all(len(scored.nodes) > 1 for _, scored in trace.each(Scored))


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
    cycle = cycle_inside(trace.entries, version, step.entity, pop.scheduling_cycle)
    assert cycle is not None
    for phase in cycle.phases:
        frames = [*phase.callers, phase]
        assert all(frame.file.startswith("pkg/scheduler/") for frame in frames)
        # The scheduler's loop is the outermost, but for the worker that v1.11 has beside it.
        outermost = "Scheduler.Run" if phase.name == "bind_queue" else "Scheduler.scheduleOne"
        assert frames[0].function.lower() == outermost.lower()
        assert len({frame.function for frame in frames}) == len(frames)
