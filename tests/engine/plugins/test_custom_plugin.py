"""Plugins over columns that are not in-tree: from an entry point, in checkpoints, and failing."""

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from engine.cluster.checkpoints import StaleCheckpoint
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.cluster.source import package_digest
from engine.framework.framework import (
    PRE_FILTER_OK,
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
from engine.scheduler.configuration import registry
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.configuration.registry import UnknownPlugin
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.explain import rejecting_plugins
from tests.builders import node, node_of, played, pod, scene
from tests.engine.scheduler_builders import make_node, make_pod


class QuietHours(Plugin):
    """Keeps pods off nodes that are labelled quiet, and prefers nodes with a long name."""

    name: ClassVar[str] = "QuietHours"
    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._label = str(arguments.get("label", "quiet"))

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for a quiet node."""
        return (self._table.topology(self._label).codes[rows] >= 0).astype(np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        """The one reason there is."""
        return Status(Code.UNSCHEDULABLE, ("node(s) were quiet",), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The label."""
        return Detail(text=f"labelled {self._label}")

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The length of the name."""
        return np.array([len(self._table.name(row)) for row in rows.tolist()], np.int64)


class _Entry:
    name = QuietHours.name

    @staticmethod
    def load() -> type[QuietHours]:
        return QuietHours


def _entry_points(*, group: str) -> list[_Entry]:
    return [_Entry()] if group == registry.ENTRY_POINT_GROUP else []


@pytest.mark.parametrize("explain", [True, False])
def test_plugin_from_an_entry_point_filters_and_scores(
    explain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "entry_points", _entry_points)
    base = PROFILES["v1.34"]
    profile = replace(
        base,
        filters=(*base.filters, "QuietHours"),
        scores=(*base.scores, ("QuietHours", 10)),
        arguments={"QuietHours": {"label": "silent"}},
    )
    algorithm = SchedulingAlgorithm(profile, Handle())
    for one in (
        make_node("a"),
        make_node("long-name"),
        make_node("longest", labels={"silent": ""}),
    ):
        algorithm.table.add_node(one)
    pod = PodInfo(make_pod("p", cpu="1"), profile.resource_rules)
    assert algorithm.schedule(pod, explain=explain).node == "long-name"
    big = PodInfo(make_pod("q", cpu="5"), profile.resource_rules)
    assert "3 Insufficient cpu" in algorithm.schedule(big, explain=explain).message


def test_a_plugin_that_nobody_provides_is_reported() -> None:
    profile = replace(PROFILES["v1.34"], filters=("NoSuchPlugin",))
    with pytest.raises(UnknownPlugin, match="there is no plugin 'NoSuchPlugin'; known are"):
        SchedulingAlgorithm(profile, Handle())


_MODULE = """
import numpy as np
from engine.framework.framework import Code, Detail, Plugin, Status


class Grumpy(Plugin):
    name = "Grumpy"

    def __init__(self, arguments, handle):
        self._table = handle.table
        self._node = arguments["node"]

    def filter(self, state, rows):
        return np.array([int(self._table.name(row) == self._node) for row in rows], np.int64)

    def explain(self, state, code):
        return Status(Code.UNRESOLVABLE, ("node(s) were disliked",), self.name)

    def detail(self, state, row, code):
        return Detail(text="disliked")
"""


def test_an_installed_distribution_is_named_in_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "grumpy_plugin.py").write_text(_MODULE)
    info = tmp_path / "grumpy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: grumpy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kscope.plugins]\nGrumpy = grumpy_plugin:Grumpy\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": "Grumpy"}]}},
                "pluginConfig": [{"name": "Grumpy", "args": {"node": "a"}}],
            }
        ],
    }
    cluster = played(Cluster.create(scene(node("a"), pod("p"), configuration=configuration)), 5)
    message = cluster.store.get("Pod", "default/p").status["conditions"][0]["message"]
    assert message.startswith("0/1 nodes are available: 1 node(s) were disliked.")
    cluster.take()
    # It hears of every event, and the engine with it in it can be frozen.
    cluster = Cluster.restore(cluster.checkpoint())
    assert cluster.apply(Command(verb="create", manifest=node("b"))).applied
    played(cluster, 30)
    assert node_of(cluster, "p") == "b"


@pytest.fixture
def grumpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package grumpy, with plugin Grumpy in one of its modules and a helper in another."""
    package = tmp_path / "grumpy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "words.py").write_text("MOOD = 'bad'\n")
    (package / "plugin.py").write_text(_MODULE)
    info = tmp_path / "grumpy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: grumpy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kscope.plugins]\nGrumpy = grumpy.plugin:Grumpy\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    package_digest.cache_clear()
    yield package
    package_digest.cache_clear()
    for name in ("grumpy", "grumpy.plugin"):
        sys.modules.pop(name, None)


def _grumpy_cluster() -> Cluster:
    enabled = [{"name": "Grumpy"}]
    profile = {
        "plugins": {"multiPoint": {"enabled": enabled}},
        "pluginConfig": [{"name": "Grumpy", "args": {"node": "a"}}],
    }
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    cluster = played(Cluster.create(scene(node("a"), pod("p"), configuration=configuration)), 5)
    cluster.take()
    return cluster


@pytest.mark.parametrize("changed", ["plugin.py", "words.py", "new.py"])
def test_checkpoint_is_stale_when_the_plugin_package_changed(changed: str, grumpy: Path) -> None:
    blob = _grumpy_cluster().checkpoint()
    assert Cluster.restore(blob).seq > 0
    with (grumpy / changed).open("a") as file:
        file.write("# changed\n")
    # What another process would find.
    package_digest.cache_clear()
    with pytest.raises(StaleCheckpoint, match="the code of the plugins in grumpy has changed"):
        Cluster.restore(blob)


def test_checkpoint_is_stale_when_the_plugin_is_gone(
    grumpy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = _grumpy_cluster().checkpoint()
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(grumpy.parent)])
    for name in ("grumpy", "grumpy.plugin"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    package_digest.cache_clear()
    with pytest.raises(StaleCheckpoint):
        Cluster.restore(blob)


def test_other_plugins_do_not_make_a_checkpoint_stale(grumpy: Path) -> None:
    cluster = Cluster.create(scene(node("a"), pod("p")))
    cluster.take()
    blob = cluster.checkpoint()
    (grumpy / "plugin.py").write_text("broken(")
    package_digest.cache_clear()
    assert Cluster.restore(blob).seq == cluster.seq


class Moody(QuietHours):
    """Fails where a node is quiet, or before any node is looked at."""

    name: ClassVar[str] = "Moody"
    may_fail: ClassVar[bool] = True

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """An error for pods called p."""
        if state.pod.pod.name == "p":
            return PreFilterResult(status=Status(Code.ERROR, ("not this one",), self.name))
        return PRE_FILTER_OK

    def explain(self, state: CycleState, code: int) -> Status:
        """No refusal, but a failure."""
        return Status(Code.ERROR, ("it was too quiet",), self.name)


@pytest.mark.parametrize("explain", [True, False])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("p", 'running PreFilter plugin "Moody": not this one'),
        ("q", 'running "Moody" filter plugin: it was too quiet'),
    ],
)
def test_a_plugin_that_fails_fails_the_attempt(
    name: str, message: str, explain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(*, group: str) -> list[type[_MoodyEntry]]:
        return [_MoodyEntry]

    monkeypatch.setattr(registry, "entry_points", found)
    base = PROFILES["v1.34"]
    algorithm = SchedulingAlgorithm(replace(base, filters=(*base.filters, "Moody")), Handle())
    for one in (make_node("a"), make_node("b", labels={"quiet": ""})):
        algorithm.table.add_node(one)
    pod = PodInfo(make_pod(name, cpu="1"), base.resource_rules)
    result = algorithm.schedule(pod, explain=explain)
    assert (result.result, result.node, result.message) == ("error", None, message)
    assert rejecting_plugins(result) == ()


class _MoodyEntry:
    name = Moody.name

    @staticmethod
    def load() -> type[Moody]:
        return Moody


class Picky(Plugin):
    """Wants one node at PreFilter, and says nothing more."""

    name: ClassVar[str] = "Picky"

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        """Takes no arguments."""

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """The node called as the pod is labelled; a refusal where it is not."""
        wanted = state.pod.pod.labels.get("wants")
        if wanted is None:
            return PreFilterResult(status=Status(Code.UNRESOLVABLE, ("wants nothing",)))
        return PreFilterResult(node_names=frozenset({wanted}))


class LocalPicky(Picky):
    """The same, as one that need not be asked in every cycle."""

    is_local: ClassVar[bool] = True


@pytest.mark.parametrize("kind", [Picky, LocalPicky])
@pytest.mark.parametrize("explain", [True, False])
def test_all_paths_obey_nodes_named_at_prefilter(
    kind: type[Picky], explain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Entry:
        name = Picky.name

        @staticmethod
        def load() -> type[Picky]:
            return kind

    def found(*, group: str) -> list[type[Entry]]:
        return [Entry]

    monkeypatch.setattr(registry, "entry_points", found)
    base = PROFILES["v1.34"]
    algorithm = SchedulingAlgorithm(replace(base, filters=(*base.filters, "Picky")), Handle())
    for name in ("a", "b"):
        algorithm.table.add_node(make_node(name))
    wanting = PodInfo(make_pod("p", labels={"wants": "b"}), base.resource_rules)
    assert algorithm.schedule(wanting, explain=explain).node == "b"
    other = PodInfo(make_pod("q"), base.resource_rules)
    told = algorithm.schedule(other, explain=explain).message
    assert told == "0/2 nodes are available: wants nothing."
