"""Preemption of v1.11 on random worlds, beside its algorithm written down literally.

The port keeps the pods of a node in a list from which a pod is removed as NodeInfo.RemovePod() does
it: the last pod moves into the hole. Upstream: v1.11 core/generic_scheduler.go
selectVictimsOnNode(), filterPodsWithPDBViolation(), pickOneNodeForPreemption(),
algorithm/predicates/metadata.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from engine.objects.objects import ApiObject, Manifest, from_manifest
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.decisions_mode.decide import decide
from engine.scheduler.preemption.go_sort import go_sorted
from tests.engine.scheduler_builders import make_node
from tests.samples import sample

WORLDS = 2_000
SLICES = 20
APPS = ("a", "b", "c")
KEYS = ("kubernetes.io/hostname", "zone")

# An app that is looked for, and the topology key.
Terms = tuple[tuple[str, str], ...]


@dataclass(eq=False)
class LiteralPod:
    name: str
    priority: int
    cpu: int
    app: str
    affinity: Terms = ()
    anti: Terms = ()
    node: str = ""

    def matches_all(self, terms: Terms) -> bool:
        return bool(terms) and all(app == self.app for app, _ in terms)


@dataclass(eq=False)
class LiteralNode:
    name: str
    zone: str
    cpu: int
    cordoned: bool
    pods: list[LiteralPod] = field(default_factory=list[LiteralPod])

    def clone(self) -> LiteralNode:
        return LiteralNode(self.name, self.zone, self.cpu, self.cordoned, list(self.pods))

    def remove(self, pod: LiteralPod) -> None:
        hole = self.pods.index(pod)
        self.pods[hole] = self.pods[-1]
        self.pods.pop()

    def value(self, key: str) -> str:
        return self.zone if key == "zone" else self.name


@dataclass
class Metadata:
    """predicateMetadata of one pod: the maps by node, and the anti-affinity of others by pod."""

    pod: LiteralPod
    affinity: dict[str, list[LiteralPod]]
    anti: dict[str, list[LiteralPod]]
    others: dict[str, list[tuple[str, str]]]

    @classmethod
    def of(cls, pod: LiteralPod, nodes: Iterable[LiteralNode]) -> Metadata:
        meta = cls(pod, {}, {}, {})
        for node in nodes:
            for other in node.pods:
                meta.add(other, node)
        return meta

    def add(self, other: LiteralPod, node: LiteralNode) -> None:
        terms = [(key, node.value(key)) for app, key in other.anti if app == self.pod.app]
        if terms:
            self.others[other.name] = terms
        if other.matches_all(self.pod.affinity):
            self.affinity.setdefault(node.name, []).append(other)
        if other.matches_all(self.pod.anti):
            self.anti.setdefault(node.name, []).append(other)

    def remove(self, other: LiteralPod, node: LiteralNode) -> None:
        self.others.pop(other.name, None)
        for found in (self.affinity, self.anti):
            # The key stays.
            if other in found.get(node.name, ()):
                found[node.name].remove(other)

    def copy(self) -> Metadata:
        affinity, anti = ({name: list(pods) for name, pods in one.items()} for one in self._maps())
        return Metadata(self.pod, affinity, anti, dict(self.others))

    def _maps(self) -> tuple[dict[str, list[LiteralPod]], dict[str, list[LiteralPod]]]:
        return self.affinity, self.anti


class LiteralScheduler:
    """The nodes of a world, and what v1.11 does for one pod on them."""

    def __init__(self, nodes: list[LiteralNode], allowed: dict[str, int]) -> None:
        self.nodes = {node.name: node for node in nodes}
        # disruptionsAllowed of the budget of each app.
        self.allowed = allowed

    def feasible(self, pod: LiteralPod) -> list[str]:
        meta = Metadata.of(pod, self.nodes.values())
        return [name for name, node in self.nodes.items() if self.fits(pod, node, meta)]

    def fits(self, pod: LiteralPod, node: LiteralNode, meta: Metadata) -> bool:
        if node.cordoned or pod.cpu + sum(other.cpu for other in node.pods) > node.cpu:
            return False
        for terms in meta.others.values():
            if any(node.value(key) == value for key, value in terms):
                return False
        if pod.affinity and not self._is_near(node, meta.affinity, pod.affinity):
            is_first = len(meta.affinity) == 0 and pod.matches_all(pod.affinity)
            if not is_first:
                return False
        return not (pod.anti and self._is_near(node, meta.anti, pod.anti))

    def _is_near(self, node: LiteralNode, pods: dict[str, list[LiteralPod]], terms: Terms) -> bool:
        return any(
            held and all(node.value(key) == self.nodes[name].value(key) for _, key in terms)
            for name, held in pods.items()
        )

    def candidates(self, pod: LiteralPod) -> dict[str, tuple[list[LiteralPod], int]]:
        found: dict[str, tuple[list[LiteralPod], int]] = {}
        meta = Metadata.of(pod, self.nodes.values())
        for name, node in self.nodes.items():
            selected = None if node.cordoned else self._select(pod, node.clone(), meta.copy())
            if selected is not None:
                found[name] = selected
        return found

    def _select(
        self, pod: LiteralPod, node: LiteralNode, meta: Metadata
    ) -> tuple[list[LiteralPod], int] | None:
        potential: list[LiteralPod] = []
        for other in list(node.pods):
            if other.priority < pod.priority:
                potential.append(other)
                node.remove(other)
                meta.remove(other, node)
        sort_few(potential)
        if not self.fits(pod, node, meta):
            return None
        violating = [other for other in potential if self.allowed.get(other.app, 1) <= 0]
        others = [other for other in potential if other not in violating]
        victims: list[LiteralPod] = []
        violations = 0
        for other in (*violating, *others):
            node.pods.append(other)
            meta.add(other, node)
            if not self.fits(pod, node, meta):
                node.remove(other)
                meta.remove(other, node)
                victims.append(other)
                violations += other in violating
        return victims, violations

    @staticmethod
    def pick(candidates: dict[str, tuple[list[LiteralPod], int]]) -> str | None:
        for name, (victims, _) in candidates.items():
            if not victims:
                return name
        return min(candidates, key=lambda name: _cost(*candidates[name]), default=None)


def _cost(victims: list[LiteralPod], violations: int) -> tuple[int, ...]:
    total = sum(victim.priority + (1 << 31) for victim in victims)
    return violations, victims[0].priority, total, len(victims)


def sort_few(pods: list[LiteralPod]) -> None:
    """sort.Sort() of Go 1.10 on at most 12 elements, by HigherPriorityPod()."""
    assert len(pods) <= 12
    for i in range(6, len(pods)):
        if pods[i].priority > pods[i - 6].priority:
            pods[i], pods[i - 6] = pods[i - 6], pods[i]
    for i in range(1, len(pods)):
        for j in range(i, 0, -1):
            if not pods[j].priority > pods[j - 1].priority:
                break
            pods[j], pods[j - 1] = pods[j - 1], pods[j]


def _terms(draw: Random) -> Terms:
    count = draw.choice((0, 0, 0, 1, 2))
    app = draw.choice(APPS)
    return tuple((app, draw.choice(KEYS)) for _ in range(count))


def _pod(draw: Random, name: str, priorities: tuple[int, ...], cpu: tuple[int, int]) -> LiteralPod:
    return LiteralPod(
        name,
        draw.choice(priorities),
        100 * draw.randint(*cpu),
        draw.choice(APPS),
        _terms(draw),
        _terms(draw) if draw.random() < 0.5 else (),
    )


def _world(draw: Random) -> tuple[LiteralScheduler, list[LiteralPod]]:
    nodes = [
        LiteralNode(f"n{number}", draw.choice("xy"), 4_000, draw.random() < 0.1)
        for number in range(draw.randint(1, 4))
    ]
    number = 0
    for node in nodes:
        most = draw.choice((0, 3, 8, 10))
        while len(node.pods) < most:
            low = _pod(draw, f"run-{number:02d}", (0, 10, 20), (2, 8))
            if draw.random() < 0.8:
                low.affinity = low.anti = ()
            low.node = node.name
            node.pods.append(low)
            number += 1
    allowed = {app: draw.randint(0, 1) for app in APPS if draw.random() < 0.5}
    pending = [_pod(draw, f"pod-{each}", (0, 15, 30, 50), (4, 20)) for each in range(5)]
    pending.sort(key=lambda pod: -pod.priority)
    return LiteralScheduler(nodes, allowed), pending


def _term_manifests(terms: Terms) -> list[Manifest]:
    return [
        {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key} for app, key in terms
    ]


def _manifest(pod: LiteralPod) -> Manifest:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {
        kind: {required: _term_manifests(terms)}
        for kind, terms in (("podAffinity", pod.affinity), ("podAntiAffinity", pod.anti))
        if terms
    }
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{pod.cpu}m"}}}
    spec: Manifest = {"containers": [container], "priority": pod.priority, "affinity": affinity}
    if pod.node:
        spec["nodeName"] = pod.node
    metadata = {"name": pod.name, "namespace": "default", "labels": {"app": pod.app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _objects(world: LiteralScheduler, pending: list[LiteralPod]) -> list[ApiObject]:
    objects: list[ApiObject] = []
    for node in world.nodes.values():
        labels = {"kubernetes.io/hostname": node.name, "zone": node.zone}
        cordoned = node.cordoned
        objects.append(make_node(node.name, cpu="4", labels=labels, unschedulable=cordoned))
    pods = [pod for node in world.nodes.values() for pod in node.pods]
    objects += [from_manifest(_manifest(pod)) for pod in (*pods, *pending)]
    for app, allowed in world.allowed.items():
        budget: Manifest = {
            "apiVersion": "policy/v1beta1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": app, "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": allowed},
        }
        objects.append(from_manifest(budget))
    return objects


def _follow(world: LiteralScheduler, pod: LiteralPod, attempt: dict[str, Any]) -> bool:
    """Compare one attempt with the port, and do to its world what was decided; whether it preempted."""
    feasible = world.feasible(pod)
    assert [name for name, refusal in attempt["filters"].items() if refusal is None] == feasible
    if feasible:
        pod.node = attempt["node"]
        world.nodes[pod.node].pods.append(pod)
        return False
    candidates = world.candidates(pod)
    found = attempt["preemption"]
    assert found["candidates"] == {
        name: {"victims": [f"default/{one.name}" for one in victims], "pdb_violations": violations}
        for name, (victims, violations) in candidates.items()
    }
    assert found["node"] == world.pick(candidates)
    if found["node"] is None:
        return False
    for victim in candidates[found["node"]][0]:
        world.nodes[found["node"]].remove(victim)
    return True


@pytest.mark.parametrize("part", sample(range(SLICES), 4))
def test_victims_are_those_of_the_literal_port(part: int) -> None:
    preempted = 0
    for seed in range(part, WORLDS, SLICES):
        world, pending = _world(Random(seed))
        attempts = decide(_objects(world, pending), PROFILES["v1.11"])["attempts"]
        pods = {f"default/{pod.name}": pod for pod in pending}
        for attempt in attempts:
            preempted += _follow(world, pods[attempt["pod"]], attempt)
    assert preempted > 50


@pytest.mark.parametrize("count", [*range(20), 39, 41, 60, 200])
def test_go_sorts_lists_of_any_length(count: int) -> None:
    draw = Random(count)
    for kinds in (1, 2, 5, 1_000):
        items = [(draw.randrange(kinds), place) for place in range(count)]
        for given in (items, sorted(items), sorted(items, reverse=True)):
            ordered = go_sorted(given, lambda item: item[0])
            assert [value for value, _ in ordered] == sorted(value for value, _ in items)
            assert sorted(ordered) == sorted(items)


def test_equal_elements_change_places_beyond_six() -> None:
    """The first pass of the Shell sort moves an element by six places."""
    items = [(1, "a"), (1, "b"), (1, "c"), (1, "d"), (1, "e"), (1, "f"), (0, "g")]
    ordered = "".join(name for _, name in go_sorted(items, lambda item: item[0]))
    assert ordered == "gbcdefa"
    assert "".join(name for _, name in go_sorted(items[:6], lambda item: item[0])) == "abcdef"
