"""Dry runs as columns give what dry runs node by node give."""

import random
from typing import Any

import orjson
import pytest

from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.scheduler.configuration.extenders import Extender, ExtenderCalls, ExtenderSettings
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import UNSCHEDULABLE
from engine.scheduler.preemption import preemption
from engine.scheduler.preemption.victims import by_importance
from tests.engine.scheduler_builders import make_budget, make_node, make_pod


def _cluster(draw: random.Random) -> SchedulingAlgorithm:
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    rules = algorithm.profile.resource_rules
    for number in range(40):
        node = make_node(f"n{number:02d}", cpu="4", memory="8Gi", pods=draw.choice(["4", "9"]))
        row = algorithm.table.add_node(node)
        for place in range(draw.randrange(7)):
            second = draw.choice(["", "07", "07", "08", "31"])
            pod = make_pod(
                f"old-{number}-{place}",
                node=node.name,
                cpu=draw.choice(["", "500m", "1", "2"]),
                memory=draw.choice(["", "1Gi", "3Gi"]),
                priority=draw.choice([-5, 0, 0, 3, 50]),
                status={"startTime": f"2026-01-01T00:00:{second}Z"} if second else {},
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
def test_dry_runs_in_columns_agree_with_single_ones(
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
            anew.setattr(algorithm, "room_verdicts", None)
            assert as_columns == _outcome(algorithm, pod)
        # Those that found a node wait there for the rest of the run, in the way of the others.
        if isinstance(as_columns, tuple) and as_columns[0] is not None:
            algorithm.nominated.add(as_columns[0], pod)
        row = draw.randrange(40)
        if algorithm.table.pods[row]:
            algorithm.table.remove_pod(row, next(iter(algorithm.table.pods[row])))


def _crowd(algorithm: SchedulingAlgorithm, *, cpu: str = "2") -> None:
    """On each of 40 nodes of 2 cores one pod of priority 0."""
    for number in range(40):
        row = algorithm.table.add_node(make_node(f"n{number:02d}", cpu="2"))
        _put(algorithm, row, f"low-{number}", cpu=cpu, labels={"app": "db"})


def _put(algorithm: SchedulingAlgorithm, row: int, name: str, **fields: Any) -> None:
    pod = make_pod(name, node=algorithm.table.name(row), **fields)
    algorithm.table.add_pod(row, PodInfo(pod, algorithm.profile.resource_rules))
    algorithm.table.images.note_change(row)


def _preempted(algorithm: SchedulingAlgorithm, **fields: Any) -> preemption.Preemption:
    pod = make_pod("high", priority=10, **fields)
    result = algorithm.schedule(PodInfo(pod, algorithm.profile.resource_rules))
    found = algorithm.preempt(result)
    assert found is not None
    return found


def test_columns_grow_with_the_pods_of_a_node() -> None:
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    _crowd(algorithm)
    for number in range(3):
        chosen = _preempted(algorithm, cpu="1").chosen
        assert chosen is not None
        assert [pod.pod.name for pod in chosen.victims] == ["low-0"]
        _put(algorithm, 39, f"other-{number}", priority=20)


def test_columns_follow_a_new_resource() -> None:
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    _crowd(algorithm)
    assert _preempted(algorithm, cpu="1").chosen is not None
    requests = {"cpu": "1", "example.com/new": "1"}
    spec = {"containers": [{"name": "main", "resources": {"requests": requests}}]}
    assert _preempted(algorithm, spec=spec).chosen is None
    assert _preempted(algorithm, cpu="1").chosen is not None


def test_an_empty_node_has_no_victims() -> None:
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    for number in range(40):
        algorithm.table.add_node(make_node(f"n{number:02d}", pods="0"))
    assert _preempted(algorithm).message.endswith(
        "40 No preemption victims found for incoming pod."
    )


class _RefusesAll:
    """An extender that has something against every node."""

    def post(self, url: str, body: bytes, timeout: int) -> bytes:
        names = [one["metadata"]["name"] for one in orjson.loads(body)["Nodes"]["items"]]
        return orjson.dumps({"Nodes": {"items": []}, "FailedNodes": dict.fromkeys(names, "no")})


def test_refused_covered_node_needs_no_victims() -> None:
    """Upstream: DryRunPreemption(), "expected at least one victim pod"."""
    calls = ExtenderCalls()
    calls.transport = _RefusesAll()
    settings = ExtenderSettings(url_prefix="http://h", filter_verb="filter")
    extenders = [Extender(settings, calls)]
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle(), extenders=extenders)
    _crowd(algorithm, cpu="1")
    algorithm.handle.listers.put(make_budget(1))
    found = _preempted(algorithm, cpu="1")
    assert found.failed
    assert found.message.startswith('[expected at least one victim pod on node "n00", expected')


@pytest.mark.parametrize("many", [1, 10**9])
def test_equal_victims_that_break_budgets_come_first(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were tried first, and the sort is stable. Upstream: SelectVictimsOnNode()."""
    monkeypatch.setattr(preemption, "_MANY_ROWS", many)
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    row = algorithm.table.add_node(make_node("n", cpu="2"))
    at_once = {"startTime": "2026-01-01T00:00:07Z"}
    _put(algorithm, row, "free", cpu="1", status=at_once)
    _put(algorithm, row, "covered", cpu="1", labels={"app": "db"}, status=at_once)
    algorithm.handle.listers.put(make_budget(0))
    chosen = _preempted(algorithm, cpu="2").chosen
    assert chosen is not None
    assert [pod.pod.name for pod in chosen.victims] == ["covered", "free"]


def test_equal_pods_without_start_time_are_reversed() -> None:
    """Each is compared as "now" with the other a moment later. Upstream: util.MoreImportantPod()."""

    def pods(**started: str) -> list[PodInfo]:
        rules = PROFILES["v1.34"].resource_rules
        return [
            PodInfo(make_pod(name, status={"startTime": at} if at else {}), rules)
            for name, at in started.items()
        ]

    def names(found: list[PodInfo]) -> str:
        return "".join(pod.pod.name for pod in found)

    early, late = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"
    assert names(by_importance(pods(a="", b="", c=""))) == "cba"
    assert names(by_importance(pods(a="", b=late, c="", d=early, e=late))) == "dbeca"
