"""What is kept of infeasible pods and their preemption is what a full search would find."""

import pickle
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.rng import Stream
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import UNSCHEDULABLE
from engine.scheduler.cycle.explain import blocker
from engine.scheduler.preemption import preemption, room_verdicts, victims
from engine.scheduler.preemption.preemption import Preemption
from tests.engine.scheduler_builders import make_node, make_pod
from tests.samples import sample

NODES = 45
GPU = "example.com/gpu"


class Cluster:
    """A random cluster that changes at random."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.ties = Stream(seed)
        self.algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle(), ties=self.ties)
        self.table = self.algorithm.table
        self.waiting: dict[str, PodInfo] = {}
        self.count = 0
        for _ in range(NODES):
            self.add_node()
        for _ in range(4 * NODES):
            self.add_pod()

    def info(self, name: str, **fields: Any) -> PodInfo:
        """A pod as the scheduler knows it."""
        return PodInfo(make_pod(name, **fields), self.algorithm.profile.resource_rules)

    def row(self) -> int:
        """Any node."""
        return self.draw.choice(self.table.active.tolist())

    def new_name(self, kind: str) -> str:
        """A name that was not used before."""
        self.count += 1
        return f"{kind}-{self.count}"

    def add_node(self) -> None:
        """One more node, now and then one that repels or is cordoned."""
        draw = self.draw
        repels = draw.random() < 0.1
        self.table.add_node(
            make_node(
                self.new_name("node"),
                pods=draw.choice(["5", "9"]),
                taints=[{"key": "k", "effect": "NoSchedule"}] if repels else None,
                unschedulable=draw.random() < 0.1,
            )
        )

    def add_pod(self) -> None:
        """A pod starts somewhere, or has not started yet."""
        draw, row = self.draw, self.row()
        second = draw.randrange(60)
        pod = self.info(
            self.new_name("old"),
            node=self.table.name(row),
            cpu=draw.choice(["", "500m", "1", "2"]),
            memory=draw.choice(["", "1Gi", "3Gi"]),
            priority=draw.choice([-5, 0, 0, 3, 50]),
            labels=draw.choice([{}, {"app": "a"}, {"app": "b"}, {"app": "c"}]),
            status=draw.choice([{}, {"startTime": f"2026-01-01T00:00:{second:02d}Z"}]),
        )
        self.table.add_pod(row, pod)

    def remove_pod(self) -> None:
        """Some pod is gone."""
        row = self.row()
        for key in list(self.table.pods[row])[:1]:
            self.table.remove_pod(row, key)

    def terminate_pod(self) -> None:
        """Some pod is on its way out: the watch shows it with its deletion timestamp."""
        row = self.row()
        for key, pod in list(self.table.pods[row].items())[:1]:
            going = {"metadata": {"deletionTimestamp": "2026-01-01T00:01:00Z"}}
            self.table.remove_pod(row, key)
            self.table.add_pod(row, PodInfo(pod.pod.patched(going), pod.rules))

    def remove_node(self) -> None:
        """A node is gone; its row may become another's."""
        self.table.remove_node(self.table.name(self.row()))

    def relabel_node(self) -> None:
        """A node changes in what only its manifest tells."""
        row = self.row()
        patch = {"metadata": {"labels": {"changed": str(self.count)}}}
        self.table.add_node(self.table.node(row).patched(patch))

    def resize_node(self) -> None:
        """A node changes what it has to offer."""
        row = self.row()
        amounts = {"cpu": self.draw.choice(["2", "4", "6"]), GPU: "2"}
        patch = {"status": {"allocatable": amounts}}
        self.table.add_node(self.table.node(row).patched(patch))

    def nominate(self) -> None:
        """Somebody waits for a node already."""
        waits = self.preemptor()
        self.waiting[waits.key] = waits
        self.algorithm.nominated.add(self.algorithm.table.name(self.row()), waits)

    def give_up(self) -> None:
        """Somebody who waited for a node hopes no more."""
        if self.waiting:
            key = self.draw.choice(list(self.waiting))
            del self.waiting[key]
            self.algorithm.nominated.remove(key)

    def change_budget(self) -> None:
        """A budget comes, goes, allows more or less, or covers others."""
        draw, name = self.draw, self.draw.choice(["x", "y"])
        if draw.random() < 0.3:
            self.algorithm.handle.listers.remove("PodDisruptionBudget", f"default/{name}")
            return
        manifest = {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": draw.choice(["default", "default", "other"])},
            "spec": {"selector": {"matchLabels": {"app": draw.choice(["a", "b"])}}},
            "status": {
                "disruptionsAllowed": draw.randrange(3),
                "disruptedPods": draw.choice([{}, {"old-50": "2026-01-01T00:00:00Z"}]),
            },
        }
        self.algorithm.handle.listers.put(from_manifest(manifest))

    def change(self, *, budgets: bool) -> None:
        """A few things happen."""
        things = (
            *[self.add_pod] * 6,
            *[self.remove_pod] * 4,
            *[self.nominate] * 2,
            self.terminate_pod,
            self.give_up,
            self.add_node,
            self.remove_node,
            self.relabel_node,
            self.resize_node,
        )
        for _ in range(self.draw.randrange(4)):
            self.draw.choice(things)()
        if budgets and self.draw.random() < 0.3:
            self.change_budget()

    def preemptor(self) -> PodInfo:
        """One who asks for much, or again one of those who wait already."""
        draw = self.draw
        if self.waiting and draw.random() < 0.3:
            return self.waiting[draw.choice(list(self.waiting))]
        spec: dict[str, Any] = {}
        if draw.random() < 0.1:
            spec["tolerations"] = [{"operator": "Exists"}]
        pod = make_pod(
            self.new_name("new"),
            cpu=draw.choice(["1", "3", "3", "3", "4"]),
            memory=draw.choice(["1Gi", "1Gi", "6Gi"]),
            priority=draw.choice([0, 10, 10, 10, 100]),
            spec=spec,
        )
        if draw.random() < 0.1:
            requests = {"cpu": "3", GPU: "1"}
            container = {"name": "c", "resources": {"requests": requests}}
            pod = pod.patched({"spec": {"containers": [container]}})
        return PodInfo(pod, self.algorithm.profile.resource_rules)

    def attempt(
        self, pod: PodInfo, *, explain: bool = True
    ) -> tuple[Preemption | None, tuple[Any, ...]]:
        """What comes of trying *pod*: the preemption, and everything that is told of it."""
        algorithm = self.algorithm
        result = algorithm.schedule(pod, explain=explain)
        assert result.search is not None
        verdicts = result.search.verdicts
        of_nodes = list(map(list, (verdicts.rows, verdicts.plugin, verdicts.code)))
        if result.result != UNSCHEDULABLE:
            return None, (result.node, of_nodes if explain else None)
        found = algorithm.preempt(result)
        assert found is not None
        return found, (
            of_nodes,
            verdicts.kinds(),
            found.chosen,
            found.candidates,
            found.rungs,
            found.statuses,
            found.message,
            blocker(result, algorithm, 1),
            result.message,
        )

    @contextmanager
    def anew(self) -> Iterator[None]:
        """While this lasts nothing is taken from what is kept; chance begins where it is."""
        chance = pickle.dumps(self.ties)
        start = self.algorithm.handle.next_start
        with pytest.MonkeyPatch.context() as patch:
            ties = pickle.loads(chance)
            patch.setattr(self.algorithm.hosts, "_ties", ties)
            patch.setattr(self.algorithm._evaluator, "_ties", ties)
            patch.setattr(room_verdicts.KeptRoomVerdicts, "of", _nothing_kept)
            patch.setattr(preemption, "_MANY_ROWS", 10**9)
            yield
        self.algorithm.handle.next_start = start


def _nothing_kept(_standings: object, _state: object) -> None:
    return None


@pytest.fixture(params=[0, 3, 10**9], ids=["in columns", "both ways", "row by row"])
def few_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to how many changed rows are worked out one by one."""
    monkeypatch.setattr(victims, "_FEW_ROWS", request.param)
    monkeypatch.setattr(room_verdicts, "_FEW_ROWS", request.param)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("seed", sample(range(6), 3))
def test_kept_room_verdicts_equal_a_full_search(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preemption, "_MANY_ROWS", 1)
    monkeypatch.setattr(room_verdicts, "_MOST_KEPT", 6)
    cluster = Cluster(seed)
    for turn in range(50):
        cluster.change(budgets=seed % 2 == 1)
        pod = cluster.preemptor()
        with cluster.anew():
            _, expected = cluster.attempt(pod)
        found, told = cluster.attempt(pod, explain=turn % 3 != 0)
        if told[-1] is None:
            expected = (expected[0], None)
        assert told == expected
        if found is not None and found.chosen is not None:
            cluster.waiting[pod.key] = pod
            cluster.algorithm.nominated.add(found.chosen.node, pod)
            for victim in found.chosen.victims:
                cluster.table.remove_pod(found.chosen.row, victim.key)


def test_few_candidates_are_searched_on_many_nodes() -> None:
    """As upstream: a tenth of the nodes, from a random one on; those that would not do are told."""
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle(), ties=Stream(3))
    rules = replace(algorithm.profile.preemption, min_candidates=10)
    assert rules != algorithm.profile.preemption
    for number in range(1_100):
        row = algorithm.table.add_node(make_node(f"n{number:04}"))
        priority = 50 if number % 7 == 0 else 0
        low = make_pod(f"low-{number}", node=f"n{number:04}", cpu="3", priority=priority)
        algorithm.table.add_pod(row, PodInfo(low, algorithm.profile.resource_rules))
    pod = PodInfo(make_pod("p", cpu="2", priority=10), algorithm.profile.resource_rules)
    found = algorithm.preempt(algorithm.schedule(pod))
    assert found is not None
    assert found.chosen is not None
    assert len(found.candidates) == 110
    assert 10 <= len(found.statuses) <= 25
    assert found.rungs[0][1] == [one.node for one in found.candidates]


def test_an_unknown_resource_is_missing_with_nominated_pods() -> None:
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    algorithm.table.add_node(make_node("n", cpu="4"))
    rules = algorithm.profile.resource_rules
    algorithm.nominated.add("n", PodInfo(make_pod("high", cpu="3", priority=10), rules))
    asked = {"requests": {"cpu": "2", GPU: "1"}}
    spec = {"containers": [{"name": "main", "resources": asked}]}
    result = algorithm.schedule(PodInfo(make_pod("p", spec=spec), rules))
    assert result.result == UNSCHEDULABLE
    algorithm.preempt(result)
    assert f"1 Insufficient cpu, 1 Insufficient {GPU}" in result.message


def test_room_verdicts_survive_a_checkpoint() -> None:
    cluster = Cluster(1)
    pod = cluster.preemptor()
    cluster.attempt(pod)
    restored: SchedulingAlgorithm = pickle.loads(pickle.dumps(cluster.algorithm))
    original, cluster.algorithm = cluster.algorithm, restored
    _, told = cluster.attempt(pod)
    cluster.algorithm = original
    _, expected = cluster.attempt(pod)
    assert told == expected
