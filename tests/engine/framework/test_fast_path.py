"""The decisions by kept columns are those of the full path."""

import pickle
import random
from dataclasses import replace
from typing import Any

import pytest

from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.rng import Stream
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import SCHEDULED
from tests.engine.scheduler_builders import make_node, make_pod
from tests.samples import sample

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def _node(draw: random.Random, number: int) -> Any:
    name = f"node-{number:03d}"
    labels = {HOST: name, "disk": draw.choice(["ssd", "hdd"])}
    if draw.random() < 0.9:
        labels[ZONE] = draw.choice("abc")
    taints = []
    if draw.random() < 0.2:
        effect = draw.choice(["NoSchedule", "PreferNoSchedule"])
        taints.append({"key": "dedicated", "value": "x", "effect": effect})
    images = []
    if draw.random() < 0.3:
        images.append({"names": ["registry/app:v1"], "sizeBytes": 700 * 1024 * 1024})
    return make_node(
        name,
        cpu=draw.choice(["2", "4", "8"]),
        memory=draw.choice(["4Gi", "8Gi"]),
        pods=draw.choice(["5", "20"]),
        labels=labels,
        taints=taints,
        unschedulable=draw.random() < 0.05,
        images=images,
    )


def _spec(draw: random.Random, app: str) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    term = {
        "topologyKey": draw.choice([ZONE, HOST]),
        "labelSelector": {"matchLabels": {"app": app}},
    }
    kind = draw.randrange(9)
    if kind == 0:
        spec["affinity"] = {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "podAffinityTerm": term}
                ]
            }
        }
    elif kind == 1:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {draw.choice(["podAffinity", "podAntiAffinity"]): required}
    elif kind == 2:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": draw.choice(["DoNotSchedule", "ScheduleAnyway"]),
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
    elif kind == 3:
        spec["nodeSelector"] = {"disk": "ssd"}
    elif kind == 4:
        preference = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["hdd"]}]}
        spec["affinity"] = {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 10, "preference": preference}
                ]
            }
        }
    elif kind == 5:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    elif kind == 6:
        ports = [{"containerPort": 80, "hostPort": draw.choice([8080, 9090])}]
        requests = {"cpu": "100m"}
        spec["containers"] = [
            {
                "name": "c",
                "image": "registry/app:v1",
                "resources": {"requests": requests},
                "ports": ports,
            }
        ]
    return spec


def _pod(draw: random.Random, templates: list[dict[str, Any]], number: int) -> Any:
    template = draw.choice(templates)
    return make_pod(
        f"pod-{number:04d}",
        cpu=template["cpu"],
        memory=template["memory"],
        labels={"app": template["app"]},
        spec=template["spec"],
    )


@pytest.mark.parametrize("profile", ["v1.34", "v1.16"])
@pytest.mark.parametrize("percentage", [100, 0])
@pytest.mark.parametrize("seed", sample(range(6), 3))
def test_kept_columns_decide_as_the_full_path_does(
    seed: int, percentage: int, profile: str
) -> None:
    draw = random.Random(seed)
    rules = PROFILES[profile].resource_rules
    config = replace(PROFILES[profile], percentage=percentage)
    full, fast = (SchedulingAlgorithm(config, Handle()) for _ in range(2))
    both = (full, fast)
    count = draw.choice([7, 130])
    for number in range(count):
        node = _node(draw, number)
        for algorithm in both:
            algorithm.table.add_node(node)
    templates = []
    for number in range(12):
        app = f"app-{number % 5}"
        templates.append(
            {
                "app": app,
                "cpu": draw.choice(["", "100m", "500m"]),
                "memory": draw.choice(["", "256Mi"]),
                "spec": _spec(draw, app),
            }
        )
    placed: list[tuple[int, str]] = []
    for number in range(150):
        pod = PodInfo(_pod(draw, templates, number), rules)
        expected, got = full.schedule(pod, explain=True), fast.schedule(pod, explain=False)
        assert (got.result, got.node, got.feasible, got.evaluated, got.message) == (
            expected.result,
            expected.node,
            expected.feasible,
            expected.evaluated,
            expected.message,
        )
        assert sorted(got.tied_rows.tolist()) == sorted(expected.tied_rows.tolist())
        assert full.handle.next_start == fast.handle.next_start
        if got.result == SCHEDULED:
            placed.append((got.row, pod.key))
            for algorithm in both:
                algorithm.table.add_pod(got.row, pod.assigned_to(got.node or ""))
        _disturb(draw, both, placed, count)


def _disturb(
    draw: random.Random,
    both: tuple[SchedulingAlgorithm, ...],
    placed: list[tuple[int, str]],
    count: int,
) -> None:
    """Now and then a pod goes or a node changes or is replaced."""
    chance = draw.random()
    if chance < 0.1 and placed:
        row, key = placed.pop(draw.randrange(len(placed)))
        for algorithm in both:
            algorithm.table.remove_pod(row, key)
    elif chance < 0.15:
        node = _node(draw, draw.randrange(count))
        for algorithm in both:
            algorithm.table.add_node(node)
    elif chance < 0.17:
        gone = f"node-{draw.randrange(count):03d}"
        row = both[0].table.rows.get(gone, -1)
        placed[:] = [one for one in placed if one[0] != row]
        for algorithm in both:
            algorithm.table.remove_node(gone)


def test_a_checkpoint_does_not_change_later_decisions() -> None:
    draw = random.Random(3)
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle(), ties=Stream(5))
    for number in range(30):
        algorithm.table.add_node(_node(draw, number))
    templates = [
        {"app": "a", "cpu": "100m", "memory": "", "spec": _spec(draw, "a")} for _ in range(6)
    ]
    pods = [
        PodInfo(_pod(draw, templates, number), algorithm.profile.resource_rules)
        for number in range(60)
    ]
    _place_all(algorithm, pods[:30])
    restored: SchedulingAlgorithm = pickle.loads(pickle.dumps(algorithm))
    assert _place_all(restored, pods[30:]) == _place_all(algorithm, pods[30:])


def _place_all(algorithm: SchedulingAlgorithm, pods: list[PodInfo]) -> list[str | None]:
    nodes: list[str | None] = []
    for pod in pods:
        result = algorithm.schedule(pod, explain=False)
        nodes.append(result.node)
        if result.node is not None:
            algorithm.table.add_pod(result.row, pod.assigned_to(result.node))
    return nodes
