"""Dry runs as columns give what dry runs node by node give."""

import random
from typing import Any

import pytest

from scheduling.engine import preemption
from scheduling.engine.algorithm import UNSCHEDULABLE, SchedulingAlgorithm
from scheduling.engine.handle import Handle
from scheduling.engine.pod_info import PodInfo
from scheduling.engine.profiles import PROFILES
from tests.scheduling_engine.builders import make_node, make_pod


def _cluster(draw: random.Random) -> SchedulingAlgorithm:
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    rules = algorithm.profile.resource_rules
    for number in range(40):
        node = make_node(f"n{number:02d}", cpu="4", memory="8Gi", pods=draw.choice(["4", "9"]))
        row = algorithm.table.add_node(node)
        for place in range(draw.randrange(7)):
            second = draw.randrange(60)
            pod = make_pod(
                f"old-{number}-{place}",
                node=node.name,
                cpu=draw.choice(["", "500m", "1", "2"]),
                memory=draw.choice(["", "1Gi", "3Gi"]),
                priority=draw.choice([-5, 0, 0, 3, 50]),
                status={"startTime": f"2026-01-01T00:00:{second:02d}Z"},
            )
            algorithm.table.add_pod(row, PodInfo(pod, rules))
    return algorithm


def _outcome(algorithm: SchedulingAlgorithm, pod: PodInfo) -> Any:
    result = algorithm.schedule(pod)
    if result.result != UNSCHEDULABLE:
        return result.node
    found = algorithm.preempt(result)
    assert found is not None
    candidates = {
        one.node: ([pod.key for pod in one.victims], [pod.key for pod in one.reprieved])
        for one in found.candidates
    }
    chosen = found.chosen.node if found.chosen else None
    return chosen, candidates, found.rungs, found.statuses, result.message


@pytest.mark.parametrize("seed", range(12))
def test_columns_of_victims_agree_with_the_dry_run_of_each_node(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    algorithm = _cluster(draw)
    for number in range(8):
        pod = PodInfo(
            make_pod(
                f"new-{number}",
                cpu=draw.choice(["", "1", "3", "4"]),
                memory=draw.choice(["1Gi", "6Gi", "8Gi"]),
                priority=draw.choice([1, 10, 100]),
            ),
            algorithm.profile.resource_rules,
        )
        monkeypatch.setattr(preemption, "_MANY_ROWS", 1)
        as_columns = _outcome(algorithm, pod)
        monkeypatch.setattr(preemption, "_MANY_ROWS", 10**9)
        with monkeypatch.context() as anew:
            anew.setattr(algorithm, "standings", None)
            assert as_columns == _outcome(algorithm, pod)
        # Those that found a node wait there for the rest of the run, in the way of the others.
        if isinstance(as_columns, tuple) and as_columns[0] is not None:
            algorithm.nominated.add(as_columns[0], pod)
        row = draw.randrange(40)
        if algorithm.table.pods[row]:
            algorithm.table.remove_pod(row, next(iter(algorithm.table.pods[row])))
