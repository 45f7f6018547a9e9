"""One row speaks for its cell: the decisions are those of the full path, whatever happens."""

import pickle
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.framework import runtime
from engine.framework.columns import cells, fast_path, kept_totals, row_classes
from engine.framework.columns.cells import Ties
from engine.framework.columns.fast_path import FastPath
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.kernel import change_log
from engine.kernel.rng import Stream
from engine.objects.objects import Pod, from_manifest
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import SCHEDULED, ScheduleResult
from tests.engine.scheduler_builders import make_node, make_pod
from tests.samples import sample

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
RACK, SERIAL = "rack", "serial"
NAMESPACES = ("default", "blue", "green")
APPS = ("web", "db", "cache")


class Twins:
    """Two schedulers of one cluster: one decides anew every time, the other by what it kept."""

    def __init__(self, draw: random.Random, profile: str, *, by_name: bool) -> None:
        self.draw = draw
        self.rules = PROFILES[profile].resource_rules
        self.config = replace(PROFILES[profile], percentage=100)
        self.ties = None if by_name else Stream(7)
        self.full = SchedulingAlgorithm(self.config, Handle(), ties=self.ties)
        self.fast = SchedulingAlgorithm(self.config, Handle(), ties=None if by_name else Stream(7))
        # In some clusters two nodes may claim to be the same host.
        self.has_doubles = draw.random() < 0.3
        self.placed: list[tuple[int, PodInfo]] = []
        self.pods = 0

    @property
    def both(self) -> tuple[SchedulingAlgorithm, SchedulingAlgorithm]:
        return self.full, self.fast

    def put_node(self, number: int) -> None:
        node = _node(self.draw, number, has_doubles=self.has_doubles)
        for one in self.both:
            one.table.add_node(node)

    def remove_node(self, number: int) -> None:
        row = self.full.table.rows.get(f"node-{number:03d}", -1)
        self.placed = [one for one in self.placed if one[0] != row]
        for one in self.both:
            one.table.remove_node(f"node-{number:03d}")

    def put_object(self, kind: str, name: str, namespace: str = "", **more: Any) -> None:
        metadata = {"name": name, "namespace": namespace, "labels": more.pop("labels", {})}
        obj = from_manifest({"apiVersion": "v1", "kind": kind, "metadata": metadata, **more})
        for one in self.both:
            one.handle.listers.put(obj)

    def place(self, pod: PodInfo, row: int) -> None:
        """The pod is on its node from now on, whoever put it there."""
        self.placed.append((row, pod))
        for one in self.both:
            one.table.add_pod(row, pod.assigned_to(one.table.name(row)))

    def take_away(self) -> None:
        if self.placed:
            row, pod = self.placed.pop(self.draw.randrange(len(self.placed)))
            for one in self.both:
                one.table.remove_pod(row, pod.key)

    def begin_deleting(self) -> None:
        """A placed pod gets a deletion timestamp: some stop counting it."""
        if not self.placed:
            return
        row, pod = self.placed.pop(self.draw.randrange(len(self.placed)))
        metadata = {**pod.pod.raw["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        newer = PodInfo(Pod({**pod.pod.raw, "metadata": metadata}), self.rules)
        for one in self.both:
            one.table.remove_pod(row, pod.key)
        self.place(newer, row)

    def schedule(self, template: dict[str, Any]) -> ScheduleResult:
        self.pods += 1
        pod = PodInfo(random_pod(self.draw, template, self.pods), self.rules)
        # A new one every time: its plugins have kept nothing, either.
        self.full = SchedulingAlgorithm(self.config, self.full.handle, ties=self.ties)
        expected = self.full.schedule(pod, explain=True)
        got = self.fast.schedule(pod, explain=False)
        assert _told(got) == _told(expected)
        assert self.full.handle.next_start == self.fast.handle.next_start
        if got.result == SCHEDULED:
            self.place(pod, got.row)
        return got


def _told(result: ScheduleResult) -> tuple[Any, ...]:
    tied = sorted(result.tied_rows.tolist())
    counts = result.feasible, result.evaluated
    return result.result, result.node, *counts, result.message, tied


def _node(draw: random.Random, number: int, *, has_doubles: bool) -> Any:
    name = f"node-{number:03d}"
    labels = {"disk": draw.choice(["ssd", "hdd"]), RACK: f"r{number % 40}", SERIAL: f"s{number}"}
    if draw.random() < 0.95:
        labels[HOST] = "node-000" if has_doubles and draw.random() < 0.05 else name
    if draw.random() < 0.9:
        labels[ZONE] = draw.choice("abc")
    taints = []
    if draw.random() < 0.2:
        effect = draw.choice(["NoSchedule", "PreferNoSchedule"])
        taints.append({"key": "dedicated", "value": "x", "effect": effect})
    return make_node(
        name,
        cpu=draw.choice(["2", "4"]),
        memory="8Gi",
        pods=draw.choice(["4", "20"]),
        labels=labels,
        taints=taints,
        unschedulable=draw.random() < 0.05,
    )


def random_pod(draw: random.Random, template: dict[str, Any], number: int) -> Pod:
    pod = make_pod(
        f"pod-{number:04d}",
        cpu=template["cpu"],
        memory=template["memory"],
        labels={"app": draw.choice(APPS)} if template["any_app"] else {"app": template["app"]},
        spec=template["spec"],
    )
    metadata = {**pod.raw["metadata"], "namespace": template["namespace"]}
    if template["owned"]:
        owner = {"kind": "ReplicaSet", "name": template["app"], "controller": True}
        metadata["ownerReferences"] = [owner]
    return Pod({**pod.raw, "metadata": metadata})


def random_template(draw: random.Random) -> dict[str, Any]:
    app = draw.choice(APPS)
    return {
        "app": app,
        # Pods of one template may yet be different to others' terms.
        "any_app": draw.random() < 0.3,
        "namespace": draw.choice(NAMESPACES),
        "owned": draw.random() < 0.2,
        "cpu": draw.choice(["", "100m", "300m"]),
        "memory": draw.choice(["", "256Mi"]),
        "spec": _spec(draw, app),
    }


def _spec(draw: random.Random, app: str) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    affinity: dict[str, Any] = {}
    if draw.random() < 0.25:
        affinity["podAffinity"] = _terms(draw, app, required=draw.random() < 0.5)
    if draw.random() < 0.4:
        affinity["podAntiAffinity"] = _terms(draw, app, required=draw.random() < 0.4)
    if draw.random() < 0.2:
        preference = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["hdd"]}]}
        weighed = [{"weight": 10, "preference": preference}]
        affinity["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": weighed}
    if affinity:
        spec["affinity"] = affinity
    if draw.random() < 0.4:
        count = draw.choice([1, 1, 2])
        spec["topologySpreadConstraints"] = [_constraint(draw, app) for _ in range(count)]
    if draw.random() < 0.2:
        spec["nodeSelector"] = {"disk": "ssd"}
    if draw.random() < 0.3:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    return spec


def _terms(draw: random.Random, app: str, *, required: bool) -> dict[str, Any]:
    term: dict[str, Any] = {
        "topologyKey": draw.choice([ZONE, ZONE, HOST, HOST, RACK, SERIAL]),
        "labelSelector": {"matchLabels": {"app": draw.choice([app, *APPS])}},
    }
    where = draw.random()
    if where < 0.2:
        term["namespaces"] = [draw.choice(NAMESPACES)]
    elif where < 0.4:
        term["namespaceSelector"] = {"matchLabels": {"team": "a"}}
    if required:
        return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    weighed = [{"weight": draw.choice([1, 50]), "podAffinityTerm": term}]
    return {"preferredDuringSchedulingIgnoredDuringExecution": weighed}


def _constraint(draw: random.Random, app: str) -> dict[str, Any]:
    constraint: dict[str, Any] = {
        "maxSkew": draw.choice([1, 2, 5]),
        "topologyKey": draw.choice([ZONE, ZONE, HOST, HOST, RACK, SERIAL]),
        "whenUnsatisfiable": draw.choice(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": draw.choice([{"matchLabels": {"app": app}}, {}]),
    }
    if draw.random() < 0.2 and constraint["whenUnsatisfiable"] == "DoNotSchedule":
        constraint["minDomains"] = 3
    if draw.random() < 0.3:
        constraint["nodeTaintsPolicy"] = "Honor"
    return constraint


def _disturb(twins: Twins, count: int) -> None:
    """Now and then something changes that nobody scheduled."""
    draw = twins.draw
    chance = draw.random()
    if chance < 0.1:
        twins.take_away()
    elif chance < 0.15:
        twins.begin_deleting()
    elif chance < 0.2:
        for _ in range(draw.choice([3, 30])):
            twins.take_away()
    elif chance < 0.23:
        twins.put_node(draw.randrange(count + 3))
    elif chance < 0.24:
        twins.remove_node(draw.randrange(count))
    elif chance < 0.26:
        labels = {"team": draw.choice("ab")}
        twins.put_object("Namespace", draw.choice(NAMESPACES), labels=labels)
    elif chance < 0.28:
        spec = {"selector": {"app": draw.choice(APPS)}}
        twins.put_object("Service", f"s{draw.randrange(3)}", draw.choice(NAMESPACES), spec=spec)


def played(draw: random.Random, profile: str, nodes: int, pods: int, *, by_name: bool) -> Twins:
    twins = Twins(draw, profile, by_name=by_name)
    for number in range(nodes):
        twins.put_node(number)
    for app in APPS:
        spec = {"selector": {"matchLabels": {"app": app}}}
        twins.put_object("ReplicaSet", app, draw.choice(NAMESPACES), spec=spec)
    templates = [random_template(draw) for _ in range(8)]
    for _ in range(pods):
        twins.schedule(draw.choice(templates))
        _disturb(twins, nodes)
    return twins


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("profile", ["v1.34", "v1.20"])
@pytest.mark.parametrize("seed", sample(range(8), 4))
def test_decisions_by_cells_equal_those_in_full(seed: int, profile: str, by_name: bool) -> None:
    draw = random.Random(f"{seed} {profile} {by_name}")
    played(draw, profile, draw.choice([8, 60, 140]), 130, by_name=by_name)


@pytest.mark.parametrize(
    ("module", "limit", "value"),
    [
        (cells, "_MOST_CELLS", 4),
        (cells, "_FEW_DOMAINS", 2),
        (row_classes, "_ROWS_FOR_A_CHANGE", 10**9),
        (row_classes, "_ROWS_FOR_A_CLASS", 0),
        (row_classes, "_MOST_KINDS", 2),
        (row_classes, "_SPARE_CLASSES", 0),
        (row_classes, "_FEW_CLASSES", 0),
        (row_classes, "_FEW_PARTS", 0),
        (row_classes, "_FEW_UNFIT", 0),
        (fast_path, "_FEW_ROWS", 0),
        (kept_totals, "_ROWS_PER_DECISION", 10**9),
        (kept_totals, "_ROWS_PER_DECISION", 5),
        (kept_totals, "_ROWS_PER_DECISION", 0),
        (kept_totals, "_MOST_GROUPS", 1),
        (kept_totals, "_MOST_TEMPLATES", 2),
        (kept_totals, "_FEW_ROWS", 0),
        (kept_totals, "_MANY_ROWS", 0),
        (change_log, "_LIMIT", 6),
        (runtime, "FEW_ROWS_OF_A_FILTER", 0),
        (runtime, "FEW_ROWS_OF_A_FILTER", 10**9),
    ],
)
@pytest.mark.parametrize("seed", sample(range(2), 2))
def test_no_limit_of_caches_changes_a_decision(
    seed: int, module: Any, limit: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, value)
    played(random.Random(f"{seed} {limit}"), "v1.34", 60, 100, by_name=False)


def _plain_nodes(count: int) -> list[Any]:
    return [
        make_node(f"n{number:02d}", labels={HOST: f"n{number:02d}", ZONE: "abc"[number % 3]})
        for number in range(count)
    ]


def _affinity(kind: str, how: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": HOST}
    named = f"{how}DuringSchedulingIgnoredDuringExecution"
    weighed = {"weight": 1, "podAffinityTerm": term}
    return {"affinity": {kind: {named: [term if how == "required" else weighed]}}}


def _spread(key: str, when: str) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    return {"topologySpreadConstraints": [constraint]}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        _affinity("podAntiAffinity", "preferred"),
        _affinity("podAntiAffinity", "required"),
        _affinity("podAffinity", "preferred"),
        _spread(ZONE, "DoNotSchedule"),
        _spread(ZONE, "ScheduleAnyway"),
        _spread(HOST, "DoNotSchedule"),
        _spread(HOST, "ScheduleAnyway"),
    ],
)
def test_third_pod_evaluates_one_row_per_cell(
    spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    full, fast = (SchedulingAlgorithm(PROFILES["v1.34"], Handle(), ties=Stream(3)) for _ in "ab")
    for node in _plain_nodes(40):
        full.table.add_node(node)
        fast.table.add_node(node)
    for number in range(20):
        if number == 2:
            monkeypatch.setattr(FastPath, "_choose_by_rows", _must_not_be)
        made = make_pod(f"p{number}", cpu="100m", labels={"app": "a"}, spec=spec)
        pod = PodInfo(made, full.profile.resource_rules)
        got = fast.schedule(pod, explain=False)
        assert got.node == full.schedule(pod, explain=True).node
        for one in (full, fast):
            one.table.add_pod(got.row, pod.assigned_to(got.node or ""))


@pytest.mark.parametrize("seed", range(4))
def test_the_number_of_domains_counts_for_single_nodes(seed: int) -> None:
    twins = Twins(random.Random(seed), "v1.34", by_name=False)
    for number in range(40):
        twins.put_node(number)
    constraints = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        for key in (ZONE, SERIAL)
    ]
    template = random_template(twins.draw) | {"namespace": "default", "app": "web", "any_app": True}
    template |= {"spec": {"topologySpreadConstraints": constraints}, "cpu": "", "memory": ""}
    for _ in range(120):
        twins.schedule(template)
        for _ in range(twins.draw.choice([0, 0, 2])):
            twins.take_away()


def _must_not_be(*_: Any) -> None:
    raise AssertionError("every row is looked at")


def test_a_checkpoint_carries_nothing_of_what_is_kept() -> None:
    twins = played(random.Random(5), "v1.34", 60, 60, by_name=False)
    restored: SchedulingAlgorithm = pickle.loads(pickle.dumps(twins.fast))
    fast: FastPath = restored._quick.fast  # pyright: ignore[reportPrivateUsage]
    assert fast._kept.kept == {}  # pyright: ignore[reportPrivateUsage]
    twins.fast = restored
    templates = [random_template(twins.draw) for _ in range(4)]
    for _ in range(60):
        twins.schedule(twins.draw.choice(templates))
        _disturb(twins, 60)


@pytest.mark.parametrize("seed", range(30))
def test_any_row_of_several_lists_is_found(seed: int) -> None:
    draw = random.Random(seed)
    high = draw.choice([30, 400, 9_000])
    rows = draw.sample(range(high), draw.randrange(3, min(high, 600)))
    if seed % 2:
        # Dense at one end, sparse at the other.
        rows = sorted({*range(draw.randrange(1, 200)), *(row * 7 for row in rows)})
    parts: list[list[int]] = [[], [], []]
    for row in sorted(rows):
        parts[draw.randrange(3)].append(row)
    filled = [part for part in parts if part]
    ties = Ties([*filled], len(rows))
    at = ties._at  # pyright: ignore[reportPrivateUsage]
    assert [at(index) for index in range(len(rows))] == sorted(rows) == ties.tolist()


def test_smallest_name_ranks_first_in_any_list() -> None:
    row_of = np.array([30, 10, 20], np.int64)
    assert Ties([[1, 2], [0]], 3, row_of).pick(None) == 30
