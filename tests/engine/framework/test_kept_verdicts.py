"""What is kept of each attempt is what the full computation said at that moment."""

import pickle
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from engine.framework.columns import kept_verdicts, ledger
from engine.framework.columns.explanation import Explanation
from engine.framework.columns.ledger import Ledger
from engine.framework.framework import Code, CycleState, Detail, Plugin, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Scores, Search
from engine.objects.objects import from_manifest
from engine.objects.phases import claim_ref_of
from engine.scheduler.configuration import registry
from engine.scheduler.configuration.profiles import PROFILES, Profile
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import SCHEDULED, ScheduleResult
from tests.builders import claim, local_volume, storage_class
from tests.engine.scheduler_builders import make_node, make_pod
from tests.samples import sample

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
MIB = 1024 * 1024


# -- random clusters -------------------------------------------------------------------------------


def _node(draw: random.Random, number: int) -> Any:
    name = f"node-{number:03d}"
    labels = {HOST: name, "disk": draw.choice(["ssd", "hdd"])}
    if draw.random() < 0.9:
        labels[ZONE] = draw.choice("abc")
    taints = []
    if draw.random() < 0.2:
        effect = draw.choice(["NoSchedule", "PreferNoSchedule"])
        taints.append({"key": "dedicated", "value": "x", "effect": effect})
    images = [{"names": ["registry/app:v1"], "sizeBytes": draw.choice([50, 700]) * MIB}]
    return make_node(
        name,
        cpu=draw.choice(["1", "2", "4"]),
        memory=draw.choice(["2Gi", "8Gi"]),
        pods=draw.choice(["3", "20"]),
        labels=labels,
        taints=taints,
        unschedulable=draw.random() < 0.05,
        images=images if draw.random() < 0.4 else [],
    )


def _affinity(draw: random.Random, app: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    term = {"topologyKey": draw.choice([ZONE, HOST]), "labelSelector": selector}
    kind = draw.choice(["podAffinity", "podAntiAffinity"])
    if draw.random() < 0.5:
        return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    preferred = [{"weight": draw.choice([1, 7]), "podAffinityTerm": term}]
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def _node_affinity(draw: random.Random) -> dict[str, Any]:
    ssd = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    if draw.random() < 0.5:
        preferred = [{"weight": 10, "preference": ssd}]
        return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    field = {"key": "metadata.name", "operator": "In", "values": ["node-001"]}
    term = {"matchFields": [field]} if draw.random() < 0.3 else ssd
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _spread(draw: random.Random, app: str) -> list[dict[str, Any]]:
    return [
        {
            "maxSkew": draw.choice([1, 2]),
            "topologyKey": key,
            "whenUnsatisfiable": draw.choice(["DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": {"matchLabels": {"app": app}},
        }
        for key in draw.choice([[ZONE], [HOST], [ZONE, HOST]])
    ]


def _spec(draw: random.Random, app: str) -> dict[str, Any]:
    kind = draw.randrange(7)
    if kind == 0:
        return {"affinity": _affinity(draw, app)}
    if kind == 1:
        return {"affinity": _node_affinity(draw)}
    if kind == 2:
        return {"topologySpreadConstraints": _spread(draw, app)}
    if kind == 3:
        return {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
    if kind in (4, 5):
        ports = [{"containerPort": 80, "hostPort": draw.choice([8080, 9090])}]
        container = {"name": "c", "image": "registry/app:v1", "ports": ports if kind == 4 else []}
        return {"containers": [{**container, "resources": {"requests": {"cpu": "100m"}}}]}
    return {}


@dataclass
class Twins:
    """The same cluster under two algorithms: one works everything out, one keeps what it can."""

    full: SchedulingAlgorithm
    kept: SchedulingAlgorithm
    draw: random.Random
    placed: list[tuple[str, str]]
    nodes: int

    @property
    def both(self) -> tuple[SchedulingAlgorithm, SchedulingAlgorithm]:
        return self.full, self.kept

    def templates(self, count: int) -> list[dict[str, Any]]:
        return [
            {
                "app": f"app-{number % 4}",
                "cpu": self.draw.choice(["", "100m", "900m"]),
                "memory": self.draw.choice(["", "256Mi"]),
                "priority": self.draw.choice([0, 0, 10]),
                "spec": _spec(self.draw, f"app-{number % 4}"),
                "claims": self.draw.random() < 0.15,
            }
            for number in range(count)
        ]

    def pod(self, templates: list[dict[str, Any]], number: int) -> PodInfo:
        template = self.draw.choice(templates)
        spec = dict(template["spec"])
        if template["claims"]:
            name = f"claim-{number}"
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
            self.put(claim(name, "local"))
            self.put(local_volume(f"disk-{number}", f"node-{self.draw.randrange(self.nodes):03d}"))
        pod = make_pod(
            f"pod-{number:04d}",
            cpu=template["cpu"],
            memory=template["memory"],
            priority=template["priority"],
            labels={"app": template["app"]},
            spec=spec,
        )
        return PodInfo(pod, self.full.profile.resource_rules)

    def put(self, manifest: dict[str, Any]) -> None:
        status = {"phase": "Available"} if manifest["kind"] == "PersistentVolume" else {}
        for algorithm in self.both:
            algorithm.handle.listers.put(from_manifest({**manifest, "status": status}))

    def place(self, result: ScheduleResult) -> None:
        pod, node = result.pod, result.node or ""
        for algorithm in self.both:
            algorithm.nominated.remove(pod.key)
            algorithm.table.add_pod(result.row, pod.assigned_to(node))
            for name in pod.pod.claim_names:
                listers = algorithm.handle.listers
                wanted = listers.claim(f"default/{name}")
                volume = listers.volume(f"disk-{name.partition('-')[2]}")
                assert wanted is not None
                assert volume is not None
                ref = {"spec": {"claimRef": claim_ref_of(wanted)}, "status": {"phase": "Bound"}}
                listers.put(volume.patched(ref))
        self.placed.append((node, pod.key))

    def disturb(self) -> None:
        """Now and then a pod goes, a node changes, is replaced or comes, or somebody is promised."""
        draw, chance = self.draw, self.draw.random()
        if chance < 0.1 and self.placed:
            node, key = self.placed.pop(draw.randrange(len(self.placed)))
            for algorithm in self.both:
                algorithm.table.remove_pod(algorithm.table.rows[node], key)
        elif chance < 0.14:
            node = _node(draw, draw.randrange(self.nodes))
            for algorithm in self.both:
                algorithm.table.add_node(node)
        elif chance < 0.16:
            gone = f"node-{draw.randrange(self.nodes):03d}"
            self.placed[:] = [one for one in self.placed if one[0] != gone]
            for algorithm in self.both:
                algorithm.table.remove_node(gone)
        elif chance < 0.18:
            self.nodes += 1
            node = _node(draw, self.nodes)
            for algorithm in self.both:
                algorithm.table.add_node(node)
        elif chance < 0.24:
            self.pull_image(draw.choice(list(self.full.table.rows)))
        elif chance < 0.3:
            self.promise(f"hopeful-{draw.randrange(6)}")

    def pull_image(self, name: str) -> None:
        image = {"names": ["registry/app:v1"], "sizeBytes": 300 * MIB}
        for algorithm in self.both:
            node = algorithm.table.node(algorithm.table.rows[name])
            images = [] if node.status.get("images") else [image]
            algorithm.table.add_node(node.patched({"status": {"images": images}}))

    def promise(self, name: str) -> None:
        row = self.draw.choice(self.full.table.active.tolist())
        spec = {"affinity": _affinity(self.draw, "app-0")} if self.draw.random() < 0.3 else {}
        labels = {"app": f"app-{self.draw.randrange(4)}"}
        pod = make_pod(
            name, cpu="900m", priority=self.draw.choice([0, 10]), labels=labels, spec=spec
        )
        for algorithm in self.both:
            algorithm.nominated.remove(f"default/{name}")
            algorithm.nominated.add(
                algorithm.table.name(row), PodInfo(pod, algorithm.profile.resource_rules)
            )


def _profiles() -> dict[str, Profile]:
    """Those of the versions; one that asks in another order; one that always asks everything."""
    modern, classic = PROFILES["v1.34"], PROFILES["v1.16"]
    return {
        **{name: PROFILES[name] for name in ("v1.34", "v1.20", "v1.16", "v1.11")},
        "backwards": replace(modern, filters=modern.filters[::-1]),
        "everything": replace(classic, checks_all=True),
    }


def _twins(seed: int, profile: str, percentage: int, nodes: int = 15) -> Twins:
    draw = random.Random(seed)
    config = replace(_profiles()[profile], percentage=percentage)
    full, kept = (SchedulingAlgorithm(config, Handle()) for _ in range(2))
    twins = Twins(full, kept, draw, [], nodes)
    for number in range(twins.nodes):
        node = _node(draw, number)
        for algorithm in twins.both:
            algorithm.table.add_node(node)
    twins.put(storage_class("local"))
    return twins


# -- what was said ---------------------------------------------------------------------------------

Told = dict[str, Any]


def _said(
    search: Search, scores: Scores | None, names: Iterable[str], refused: dict[str, Status]
) -> Told:
    """Everything that can be asked of an attempt, in plain values."""
    told: Told = {"status": search.status, "names": list(names), "refused": refused}
    told["verdicts"] = [column.tolist() for column in _columns(search)]
    told["kinds"] = search.verdicts.kinds() if len(search.verdicts.rows) else []
    if scores is None or not len(scores.rows):
        return told
    told["scores"] = {
        one.name: (one.weight, one.raw.tolist(), one.normalized.tolist(), one.weighted.tolist())
        for one in scores.plugins
    }
    told["order"] = [one.name for one in scores.plugins]
    told["total"] = scores.total.tolist()
    told["fitting"] = scores.rows.tolist()
    told["tied"] = sorted(scores.rows[scores.total == scores.total.max()].tolist())
    return told


def _columns(search: Search) -> tuple[Any, ...]:
    verdicts = search.verdicts
    return verdicts.rows, verdicts.plugin, verdicts.code


def _said_in_full(algorithm: SchedulingAlgorithm, result: ScheduleResult) -> Told:
    search = result.search
    assert search is not None
    refused = algorithm.fit_errors.status_by_node(search)
    names = map(algorithm.table.name, search.verdicts.rows.tolist())
    return _said(search, result.scores, names, refused)


def _said_later(explanation: Explanation, search: Search) -> Told:
    verdicts = explanation.verdicts()
    names = [explanation.names[row] for row in verdicts.rows.tolist()]
    found = Search(search.state, explanation.status, verdicts)
    return _said(found, explanation.scores(), names, explanation.refused())


def _run(twins: Twins, attempts: int, first: int = 0) -> list[tuple[Told, Explanation, Search]]:
    """Attempts with what the full computation said and what was kept, compared at once, too."""
    templates = twins.templates(10)
    kept: list[tuple[Told, Explanation, Search]] = []
    for number in range(first, first + attempts):
        pod = twins.pod(templates, number)
        expected = twins.full.schedule(pod, explain=True)
        got = twins.kept.schedule(pod, explain=False, keep=True)
        assert (got.result, got.node, got.feasible, got.evaluated, got.message) == (
            expected.result,
            expected.node,
            expected.feasible,
            expected.evaluated,
            expected.message,
        )
        assert sorted(got.tied_rows.tolist()) == sorted(expected.tied_rows.tolist())
        assert got.explanation is not None
        assert expected.search is not None
        told = _said_in_full(twins.full, expected)
        assert _said_later(got.explanation, expected.search) == told
        kept.append((told, got.explanation, expected.search))
        if got.result == SCHEDULED:
            twins.place(got)
        twins.disturb()
    return kept


@pytest.mark.parametrize("profile", _profiles())
@pytest.mark.parametrize(("percentage", "nodes"), [(100, 15), (100, 50), (0, 280)])
@pytest.mark.parametrize("seed", sample(range(2), 2))
def test_every_attempt_can_be_explained_later(
    seed: int, percentage: int, nodes: int, profile: str
) -> None:
    for told, explanation, search in _run(_twins(seed, profile, percentage, nodes), 80):
        assert _said_later(explanation, search) == told


def test_many_ledgers_show_the_same_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_MOST_NUMBERS", 30)
    kept = _run(_twins(1, "v1.34", 100), 150)
    ledgers = {id(explanation.ledger) for _, explanation, _ in kept}
    assert len(ledgers) > 20
    for told, explanation, search in kept:
        assert _said_later(explanation, search) == told


def test_templates_that_were_forgotten_are_still_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_verdicts, "_MOST_TEMPLATES", 2)
    for told, explanation, search in _run(_twins(2, "v1.34", 100), 100):
        assert _said_later(explanation, search) == told


def test_old_explanations_survive_thousands_of_placements() -> None:
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    for number in range(60):
        algorithm.table.add_node(make_node(f"n{number:02d}", cpu="16", memory="64Gi"))
    rules = algorithm.profile.resource_rules
    first = PodInfo(make_pod("first", cpu="1", memory="1Gi"), rules)
    in_full = algorithm.schedule(first, explain=True)
    told = _said_in_full(algorithm, in_full)
    algorithm.handle.next_start = 0
    kept = algorithm.schedule(first, explain=False, keep=True).explanation
    for number in range(4_000):
        pod = PodInfo(make_pod(f"p{number}", cpu="1", memory="1Gi"), rules)
        result = algorithm.schedule(pod, explain=False, keep=True)
        row = result.row if result.node else number % 60
        if result.node is None:
            algorithm.table.remove_pod(row, next(iter(algorithm.table.pods[row])))
        else:
            algorithm.table.add_pod(row, pod.assigned_to(result.node))
    for name in ("n03", "n40"):
        algorithm.table.remove_node(name)
    assert kept is not None
    assert in_full.search is not None
    assert _said_later(kept, in_full.search) == told


def test_a_checkpoint_has_explanations_but_no_columns() -> None:
    twins = _twins(3, "v1.34", 100)
    kept = _run(twins, 60)
    explanations = [explanation for _, explanation, _ in kept]
    assert b"Ledger" not in pickle.dumps(twins.kept)
    restored, told = pickle.loads(pickle.dumps((twins.kept, explanations)))
    for (expected, _, search), explanation in zip(kept, told, strict=True):
        assert _said_later(explanation, search) == expected
    twins.kept = restored
    _run(twins, 60, first=60)


def test_every_local_filter_is_reported_past_the_first() -> None:
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    taint = {"key": "a", "value": "", "effect": "NoSchedule"}
    algorithm.table.add_node(make_node("small", cpu="1", taints=[taint]))
    algorithm.table.add_node(make_node("large", cpu="8"))
    pod = PodInfo(make_pod("p", cpu="2"), algorithm.profile.resource_rules)
    explanation = algorithm.schedule(pod, explain=False, keep=True).explanation
    assert explanation is not None
    refusing = {name for name, codes in explanation.codes().items() if codes[0]}
    assert refusing == {"TaintToleration", "NodeResourcesFit"}
    assert explanation.refused()["small"].plugin == "TaintToleration"


class Fussy(Plugin):
    """Looks beyond one node, and scores by how often it was asked before."""

    name: ClassVar[str] = "Fussy"

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self.asked = 0

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        self.asked += 1
        return (rows % 3 == self.asked % 3).astype(np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        return Status(Code.UNSCHEDULABLE, ("not this time",), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        return Detail(text="")

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        self.asked += 1
        return (rows * 7 + self.asked) % 101


class FussyEntry:
    name = Fussy.name

    @staticmethod
    def load() -> type[Fussy]:
        return Fussy


@pytest.mark.parametrize(("percentage", "nodes"), [(100, 15), (0, 280)])
def test_plugins_of_others_are_asked_once_per_attempt(
    percentage: int, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [FussyEntry])
    modern = PROFILES["v1.34"]
    profile = replace(
        modern, filters=(*modern.filters, "Fussy"), scores=(*modern.scores, ("Fussy", 3))
    )
    monkeypatch.setitem(PROFILES, "v1.34", profile)
    for told, explanation, search in _run(_twins(4, "v1.34", percentage, nodes), 80):
        assert _said_later(explanation, search) == told
        assert ("Fussy" in told.get("order", ())) == (len(told.get("fitting", ())) > 1)


# -- ledgers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [40, 10**6])
@pytest.mark.parametrize("seed", range(3))
def test_columns_are_read_back_at_any_position(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_MOST_NUMBERS", most)
    draw, book, size = random.Random(seed), Ledger(100), 100
    columns = [book.add() for _ in range(3)]
    held = [np.zeros(size, np.int64) for _ in columns]
    history: list[tuple[Ledger, int, list[Any]]] = []
    for turn in range(600):
        number = draw.choice(columns)
        if draw.random() < 0.8:
            row, value = draw.randrange(size), draw.randrange(-3, 4)
            book.set(number, row, value)
            held[number][row] = value
        else:
            rows = np.array(draw.sample(range(size), draw.randrange(1, size)))
            many = [draw.choice([5, 300, 1 << 20, 1 << 62, -7]) for _ in rows]
            values = np.array(many if draw.random() < 0.5 else [draw.randrange(9)] * len(rows))
            book.put(number, rows, values)
            held[number][rows] = values
        if turn == 300:
            size = 128
            book.grow(size)
            held = [np.pad(column, (0, 28)) for column in held]
        if book.is_full:
            book = book.turned()
        history.append((book, book.position, [column.copy() for column in held]))
    for kept, position, expected in history:
        for number, column in zip(columns, expected, strict=True):
            read = kept.at(number, position)
            assert (np.zeros(kept.size) if read is None else read)[: len(column)].tolist() == (
                column.tolist()
            )


def test_a_changed_column_takes_few_bytes() -> None:
    book = Ledger(8_192)
    number, rows = book.add(), np.arange(8_192)
    book.put(number, rows, np.full(8_192, 7))
    before = book.weight
    for turn in range(10):
        book.put(number, rows[turn % 3 :: 3], np.full(len(rows[turn % 3 :: 3]), 100 + turn))
    assert book.weight - before < 10 * 200
