"""A run is a pure function of scenario, profile, seed and commands (DESIGN, what must hold 1, 2)."""

import os
import subprocess
import sys

from hypothesis import example, given
from hypothesis import strategies as st

from engine.cluster.checks.determinism import check_determinism
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.recorder import Event
from engine.kernel.units import SECOND
from engine.kernel.view import State, fold
from tests.properties.clusters import random_scenario
from tests.properties.examples import examples

UNTIL = 60 * SECOND
CORDON = Command(verb="cordon", object="node/n0")


def in_one_go(seed: int) -> Cluster:
    cluster = Cluster.create(random_scenario(seed), seed=seed)
    cluster.advance(UNTIL)
    cluster.take()
    return cluster


# In 1334 a node goes whose pods had changed their labels, just before a preemption.
@example(1334)
@examples(40)
@given(st.integers(0, 10_000))
def test_slices_and_restores_do_not_change_the_history(seed: int) -> None:
    assert check_determinism(random_scenario(seed), seed, until=UNTIL) is None


@examples(40)
@given(st.integers(0, 10_000))
def test_the_folded_events_are_what_the_engine_holds(seed: int) -> None:
    cluster = Cluster.create(random_scenario(seed), seed=seed)
    cluster.advance(UNTIL)
    events: list[Event] = cluster.take().events
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    state: State = {}
    for event in events:
        fold(state, event.changes or {})
    assert state == cluster.view()
    held = cluster.held_view()
    assert state.keys() - {"run", "queue"} == held.keys()
    for entity, attributes in held.items():
        shown = {name: state[entity].get(name) for name in attributes}
        assert shown == attributes, entity
        # What a kubelet and the attach/detach controller no longer hold is not shown either.
        for name in ("volumes", "attachments"):
            assert name in attributes or name not in state[entity], entity


def test_the_same_command_gives_the_same_history() -> None:
    first = Cluster.create(random_scenario(5), seed=5)
    first.advance(2 * SECOND)
    first.apply(CORDON)
    position = first.steps
    first.advance(UNTIL)
    first.take()

    again = Cluster.create(random_scenario(5), seed=5)
    again.advance(2 * SECOND, max_steps=position)
    again.apply(CORDON)
    again.advance(UNTIL)
    again.take()
    assert again.digest() == first.digest()


def test_hash_randomisation_does_not_reach_the_history() -> None:
    script = (
        "from tests.properties.test_a_run_is_pure import in_one_go\n"
        "print([in_one_go(seed).digest() for seed in range(6)])"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert printed[0] == printed[1]


def test_another_seed_may_break_ties_otherwise() -> None:
    scenario = random_scenario(3)
    digests = set()
    for seed in range(4):
        cluster = Cluster.create(scenario, seed=seed)
        cluster.advance(UNTIL)
        cluster.take()
        digests.add(cluster.digest())
    assert len(digests) > 1
