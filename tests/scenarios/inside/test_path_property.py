"""The critical path of any pod of any run tiles its time."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.cluster.cluster import Cluster
from engine.diagnosis.path.critical_path import critical_path
from engine.diagnosis.path.steps import FAMILIES, Path
from engine.kernel.recorder import Event
from engine.kernel.units import SECOND
from tests.properties.clusters import random_scenario
from tests.properties.examples import examples
from tests.scenarios.inside.held_record import HeldRecord

UNTIL = 60 * SECOND


def check_tiles(path: Path) -> None:
    assert all(before.end == after.start for before, after in pairwise(path.steps)), path
    assert all(step.start < step.end and step.name in FAMILIES for step in path.steps), path
    if path.steps:
        assert (path.steps[0].start, path.steps[-1].end) == (path.start, path.end), path
    else:
        assert path.start == path.end, path
    if not path.is_open:
        assert all(step.seq is not None for step in path.steps), path


@examples(12)
@given(st.integers(0, 10_000), st.integers(1, 60))
def test_steps_fill_the_time_without_overlap(seed: int, seconds: int) -> None:
    cluster = Cluster.create(random_scenario(seed), seed=seed)
    cluster.advance(UNTIL)
    events: list[Event] = cluster.take().events
    pods = dict.fromkeys(event.object for event in events if event.kind == "PodCreated")
    for now in (seconds * SECOND, UNTIL):
        shown = [event for event in events if event.at <= now]
        for pod in pods:
            path = critical_path(HeldRecord(shown), pod, now=now)
            if path is not None:
                check_tiles(path)
