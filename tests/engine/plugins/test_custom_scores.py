"""Somebody else's plugins at PreFilter, Filter, PreScore and Score: what fails an attempt, and how."""

from typing import Any, ClassVar

import numpy as np
import pytest

from engine.cluster.cluster import Cluster
from engine.framework.framework import (
    SKIP,
    SUCCESS,
    Code,
    CycleState,
    Detail,
    Plugin,
    PreFilterResult,
    Status,
)
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import SECOND
from engine.scheduler.configuration import registry
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.attempt import SchedulingAttempt
from tests.builders import Manifest, node, node_of, played, pod, scene
from tests.engine.scheduler_builders import make_node, make_pod

BROKEN = Status(Code.ERROR, ("the scales are broken",))
ANSWERS = {
    "ok": SUCCESS,
    "skip": SKIP,
    "error": BROKEN,
    "no": Status(Code.UNSCHEDULABLE, ("not today",)),
    "never": Status(Code.UNRESOLVABLE, ("not ever",)),
    "wait": Status(Code.WAIT, ("a moment",)),
}


class _Told(Plugin):
    """Answers as its arguments say, and notes what it was asked."""

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._told = arguments
        self._table = handle.table
        self.asked: list[str] = []

    def _says(self, point: str) -> Any:
        self.asked.append(point)
        return self._told.get(point, "ok")


class Usher(_Told):
    """At PreScore alone."""

    name: ClassVar[str] = "Usher"

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        return ANSWERS[self._says("preScore")]


class Scales(_Told):
    """A score, the same for every node or by name."""

    name: ClassVar[str] = "Scales"

    def score(self, state: CycleState, rows: IntArray) -> IntArray | Status:
        says = self._says("score")
        if says == "error":
            return BROKEN
        by_name = says if isinstance(says, dict) else {}
        names = [self._table.name(row) for row in rows.tolist()]
        return np.array([by_name.get(name, 50) for name in names], np.int64)


class LocalScales(Scales):
    """The same by what is kept per template."""

    name: ClassVar[str] = "LocalScales"
    is_local: ClassVar[bool] = True


class Whole(Scales):
    """At PreScore, Score and NormalizeScore."""

    name: ClassVar[str] = "Whole"

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        return ANSWERS[self._says("preScore")]

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray | Status:
        says = self._says("normalize")
        return BROKEN if says == "error" else scores // (1 if says == "as it is" else 10)


class Fixed(Whole):
    """The same of a plugin that looks at the node's name alone."""

    name: ClassVar[str] = "Fixed"
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True


class Porter(_Told):
    """At PreFilter and Filter; refuses nobody once the pod called old is gone."""

    name: ClassVar[str] = "Porter"

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        there = any("default/old" in pods for pods in self._table.pods)
        answer = ANSWERS[self._says("preFilter")]
        return PreFilterResult(status=answer if there else SUCCESS)

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        self.asked.append("filter")
        if self._told.get("preFilter", "ok") == "ok":
            return np.zeros(len(rows), np.int64)
        return np.array(["default/old" in self._table.pods[row] for row in rows], np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        return ANSWERS["no"]

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        return Detail(text="")


class SecondPorter(Porter):
    """Another, to see the order."""

    name: ClassVar[str] = "SecondPorter"


PLUGINS = (Usher, Scales, LocalScales, Whole, Fixed, Porter, SecondPorter)


class _Entry:
    def __init__(self, plugin: type[Plugin]) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def load(self) -> type[Plugin]:
        return self._plugin


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def entries(*, group: str) -> list[_Entry]:
        return [_Entry(one) for one in PLUGINS] if group == registry.ENTRY_POINT_GROUP else []

    monkeypatch.setattr(registry, "entry_points", entries)


def configured(*names: str, version: str = "v1", **arguments: Any) -> Manifest:
    enabled = {"enabled": [{"name": name} for name in names]}
    points = ("preFilter", "filter", "preScore", "score")
    plugins: Manifest = {"multiPoint": enabled}
    if version == "v1beta1":
        plugins = {
            point: {"enabled": [{"name": one.name} for one in PLUGINS if _extends(one, point)]}
            for point in points
        }
        for chosen in plugins.values():
            chosen["enabled"] = [one for one in chosen["enabled"] if one["name"] in names]
    config = [{"name": name, "args": args} for name, args in arguments.items()]
    return {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins, "pluginConfig": config}],
    }


def _extends(plugin: type[Plugin], point: str) -> bool:
    method = {"preFilter": "pre_filter", "preScore": "pre_score"}.get(point, point)
    return hasattr(plugin, method)


def tried(configuration: Manifest, *objects: Manifest, profile: str = "v1.34") -> Cluster:
    """A pod p that has been tried where there are two nodes, a and b."""
    objects = objects or (node("a"), node("b"), pod("p"))
    cluster = Cluster.create(
        scene(*objects, configuration=configuration), profile=profile, tie_break="name"
    )
    return played(cluster, 1)


def told(cluster: Cluster) -> tuple[str, str]:
    condition = cluster.store.get("Pod", "default/p").status["conditions"][0]
    return condition["reason"], condition["message"]


def attempt(cluster: Cluster) -> SchedulingAttempt:
    return cluster.take().attempts[0]


def plugin(cluster: Cluster, name: str) -> Any:
    return cluster.scheduler.algorithm.framework.plugins.by_name[name]


def said(cluster: Cluster, point: str) -> list[Manifest]:
    evidence = attempt(cluster).evidence
    assert evidence is not None
    return evidence["extension_points"][point]


@pytest.mark.parametrize("versions", [("v1.34", "v1"), ("v1.20", "v1beta1")])
@pytest.mark.parametrize("name", ["Usher", "Whole"])
@pytest.mark.parametrize(
    ("answer", "text"), [("error", "the scales are broken"), ("no", "not today")]
)
def test_pre_score_refuses_attempts_rather_than_pods(
    versions: tuple[str, str], name: str, answer: str, text: str
) -> None:
    profile, version = versions
    configuration = configured(name, version=version, **{name: {"preScore": answer}})
    cluster = tried(configuration, profile=profile)
    # In v1.20 an error of the cycle is told like a refusal.
    reason = "SchedulerError" if profile == "v1.34" else "Unschedulable"
    assert told(cluster) == (reason, f'running PreScore plugin "{name}": {text}')
    kept = attempt(cluster)
    assert (kept.result, kept.node) == ("error", "")
    assert kept.evidence is not None
    entry = {"plugin": name, "code": ANSWERS[answer].code.value, "reasons": [text]}
    assert kept.evidence["extension_points"]["PreScore"] == [entry]
    if profile == "v1.34":
        # It comes back after its backoff, without anything having happened.
        assert [one.number for one in played(cluster, 2).take().attempts] == [2]


def test_a_plugin_may_prepare_without_a_score() -> None:
    cluster = tried(configured("Usher"))
    assert node_of(cluster, "p") == "a"
    assert plugin(cluster, "Usher").asked == ["preScore"]
    assert [one["code"] for one in said(cluster, "PreScore")] == ["Success"]


def test_preparing_plugin_is_asked_on_large_clusters_too() -> None:
    nodes = [node(f"n{number}") for number in range(250)]
    cluster = tried(configured("Usher", Usher={"preScore": "no"}), *nodes, pod("p"))
    assert told(cluster)[1] == 'running PreScore plugin "Usher": not today'


def test_skip_at_pre_score_leaves_the_score_out() -> None:
    cluster = tried(configured("Whole", Whole={"preScore": "skip", "score": {"b": 90}}))
    assert node_of(cluster, "p") == "a"
    assert plugin(cluster, "Whole").asked == ["preScore"]


RANGE = "it should in the range of [0, 100] after normalizing"


@pytest.mark.parametrize("count", [2, 250])
@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "Scales",
            {"score": "error"},
            'running Score plugins: plugin "Scales" failed with: the scales are broken',
        ),
        (
            "Scales",
            {"score": {"n1": 101}},
            "applying score defaultWeights on Score plugins: "
            f'plugin "Scales" returns an invalid score 101, {RANGE}',
        ),
        (
            "LocalScales",
            {"score": {"n1": -1}},
            "applying score defaultWeights on Score plugins: "
            f'plugin "LocalScales" returns an invalid score -1, {RANGE}',
        ),
        (
            "Whole",
            {"normalize": "error"},
            'running Normalize on Score plugins: plugin "Whole" failed with: the scales are broken',
        ),
        (
            "Whole",
            {"normalize": "as it is", "score": {"n0": 500}},
            "applying score defaultWeights on Score plugins: "
            f'plugin "Whole" returns an invalid score 500, {RANGE}',
        ),
    ],
)
def test_a_score_that_fails_fails_the_attempt(
    count: int, name: str, arguments: Manifest, message: str
) -> None:
    nodes = [node(f"n{number}") for number in range(count)]
    cluster = tried(configured(name, **{name: arguments}), *nodes, pod("p"))
    assert told(cluster) == ("SchedulerError", message)
    assert attempt(cluster).result == "error"


@pytest.mark.parametrize("name", ["Scales", "LocalScales", "Whole", "Fixed"])
def test_kept_scores_decide_like_fresh_ones(name: str) -> None:
    by_name = {f"n{number}": 100 - number % 50 for number in range(130)}
    setup = read_setup(configured(name, **{name: {"score": by_name}}), "v1.34")
    full, fast = (SchedulingAlgorithm(setup.profiles[0], Handle()) for _ in range(2))
    for number in range(130):
        for algorithm in (full, fast):
            algorithm.table.add_node(make_node(f"n{number}", cpu="2" if number % 7 else "1"))
    for number in range(120):
        info = PodInfo(make_pod(f"p{number}", cpu="600m"), setup.profiles[0].resource_rules)
        expected, got = full.schedule(info, explain=True), fast.schedule(info, explain=False)
        assert (got.node, got.feasible) == (expected.node, expected.feasible)
        for algorithm in (full, fast):
            algorithm.table.add_pod(got.row, info.assigned_to(got.node or ""))


def test_scores_may_exceed_the_range_before_normalising() -> None:
    cluster = tried(configured("Whole", Whole={"score": {"b": 700}}))
    assert node_of(cluster, "p") == "b"
    evidence = attempt(cluster).evidence
    assert evidence is not None
    assert evidence["scores"]["b"]["plugins"]["Whole"] == [700, 70, 70]


def test_bad_score_of_an_unfit_node_stays_unseen() -> None:
    full = node("full", cpu="500m")
    bad = configured("LocalScales", LocalScales={"score": {"full": 999}})
    assert node_of(tried(bad, full, node("a"), node("b"), pod("p")), "p") == "a"
    many = [node(f"n{number}") for number in range(250)]
    assert node_of(tried(bad, full, *many, pod("p")), "p") == "n0"


@pytest.mark.parametrize("name", ["Usher", "Whole", "Scales"])
def test_nothing_is_scored_where_there_is_no_choice(name: str) -> None:
    wrong = {"preScore": "error", "score": {"a": 999}}
    cluster = tried(configured(name, **{name: wrong}), node("a"), pod("p"))
    assert node_of(cluster, "p") == "a"
    assert plugin(cluster, name).asked == []


def test_without_scores_the_first_fitting_node_is_taken() -> None:
    plugins = {"preScore": {"disabled": [{"name": "*"}]}, "score": {"disabled": [{"name": "*"}]}}
    unscored = {**configured(), "profiles": [{"plugins": plugins}]}
    objects = [node(name) for name in "abcd"]
    cluster = tried(unscored, *objects, *(pod(name) for name in "pqr"))
    assert [node_of(cluster, name) for name in "pqr"] == ["a", "b", "c"]
    assert [one.evidence["evaluated"] for one in cluster.take().attempts if one.evidence] == [
        1,
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("name", "points", "asked"),
    [
        ("Porter", ["filter"], ["filter"]),
        ("Porter", ["preFilter"], ["preFilter"]),
        ("Whole", ["score"], ["score", "normalize"]),
        ("Whole", ["preScore"], ["preScore"]),
    ],
)
def test_plugin_is_asked_at_its_enabled_points(
    name: str, points: list[str], asked: list[str]
) -> None:
    plugins = {point: {"enabled": [{"name": name}]} for point in points}
    cluster = tried({**configured(), "profiles": [{"plugins": plugins}]})
    assert node_of(cluster, "p") == "a"
    assert plugin(cluster, name).asked == asked


# -- PreFilter -----------------------------------------------------------------------------------


def _full(profile: str = "v1.34", **arguments: Manifest) -> Cluster:
    """Node a has room; pod old, of lower priority, is on it, and the porters mind that."""
    names = tuple(arguments) or ("Porter",)
    late = pod("p", priority=10)
    objects = (node("a"), pod("old", nodeName="a", terminationGracePeriodSeconds=0), late)
    version = "v1" if profile == "v1.34" else "v1beta1"
    return tried(configured(*names, version=version, **arguments), *objects, profile=profile)


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("v1.34", "0/1 nodes are available: not today."),
        ("v1.20", "0/1 nodes are available: 1 not today."),
    ],
)
def test_pre_filter_refusal_lets_others_and_preemption_try(profile: str, message: str) -> None:
    cluster = _full(profile, Porter={"preFilter": "no"}, SecondPorter={"preFilter": "ok"})
    assert "preFilter" in plugin(cluster, "SecondPorter").asked
    assert attempt(cluster).message.startswith(message)
    # Without the old pod nothing refuses it any more.
    played(cluster, 30)
    assert cluster.store.find("Pod", "default/old") is None
    assert node_of(cluster, "p") == "a"


def test_unresolvable_pre_filter_refusal_ends_the_cycle() -> None:
    cluster = _full(Porter={"preFilter": "never"}, SecondPorter={"preFilter": "no"})
    assert "preFilter" not in plugin(cluster, "SecondPorter").asked
    assert told(cluster)[1].startswith("0/1 nodes are available: not ever. ")
    played(cluster, 30)
    assert cluster.store.find("Pod", "default/old") is not None


def test_last_of_several_pre_filter_refusals_is_reported() -> None:
    cluster = _full(Porter={"preFilter": "no"}, SecondPorter={"preFilter": "never"})
    assert told(cluster)[1].startswith("0/1 nodes are available: not ever. ")


@pytest.mark.parametrize(("answer", "text"), [("error", BROKEN.message), ("wait", "a moment")])
def test_other_statuses_at_pre_filter_are_errors(answer: str, text: str) -> None:
    cluster = _full(Porter={"preFilter": answer})
    assert told(cluster) == ("SchedulerError", f'running PreFilter plugin "Porter": {text}')


def test_refusing_plugin_is_named_without_its_status() -> None:
    evidence = attempt(_full(Porter={"preFilter": "never"})).evidence
    assert evidence is not None
    assert evidence["prefilter"]["plugin"] == "Porter"


def test_checked_scores_survive_a_checkpoint() -> None:
    cluster = tried(configured("Whole", "Usher", Whole={"score": {"b": 700}}))
    cluster.take()
    cluster = Cluster.restore(cluster.checkpoint())
    cluster.advance(cluster.now + SECOND)
    assert node_of(cluster, "p") == "b"
