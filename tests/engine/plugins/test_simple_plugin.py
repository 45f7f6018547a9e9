"""Plugins that answer for one node at a time. docs/adding-a-plugin.md has the shortest one."""

import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from engine.cluster.checkpoints import StaleCheckpoint
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.cluster.source import package_digest
from engine.framework.framework import SUCCESS, Code, Status
from engine.framework.nodes.node_table import NodeTable
from engine.framework.simple import NodeState, SimplePlugin, columns_of
from engine.kernel.boundary import Boundary
from engine.objects.objects import Manifest, Pod
from engine.objects.pods.pod_resources import Resources
from engine.scheduler.configuration import registry
from engine.scheduler.configuration.configuration import ConfigurationError
from tests.builders import node, node_of, played, pod, scene
from tests.engine.scheduler_builders import make_node

STATUSES = {
    "fits": SUCCESS,
    "no": Status(Code.UNSCHEDULABLE, ("not now",)),
    "never": Status(Code.UNRESOLVABLE, ("not here",)),
    "error": Status(Code.ERROR, ("it broke",)),
}


class Choosy(SimplePlugin):
    """Answers what its arguments say for each node."""

    name: ClassVar[str] = "Choosy"

    def fits(self, pod: Pod, node: NodeState) -> Status:
        return STATUSES[self.arguments.get("fits", {}).get(node.name, "fits")]

    def score(self, pod: Pod, node: NodeState) -> int | Status:
        score = self.arguments.get("score", {}).get(node.name, 0)
        return STATUSES["error"] if score == "error" else score


class LocalChoosy(Choosy):
    """The same, with the promise that its answers can be kept."""

    name: ClassVar[str] = "LocalChoosy"
    is_local: ClassVar[bool] = True


class Fragile(Choosy):
    """The same, and it may fail."""

    name: ClassVar[str] = "Fragile"
    may_fail: ClassVar[bool] = True


class Least(SimplePlugin):
    """Prefers the node with the fewest pods, and does not filter."""

    name: ClassVar[str] = "Least"

    def score(self, pod: Pod, node: NodeState) -> int:
        return 100 - len(node.pods)


class _Entry:
    def __init__(self, plugin: type[SimplePlugin]) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def load(self) -> type[SimplePlugin]:
        return self._plugin


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The plugins of this module, unless the test installs its own."""
    if "package" in request.fixturenames:
        return

    def entries(*, group: str) -> list[_Entry]:
        assert group == registry.ENTRY_POINT_GROUP
        return [_Entry(one) for one in (Choosy, LocalChoosy, Fragile, Least)]

    monkeypatch.setattr(registry, "entry_points", entries)


def _configured(name: str, *points: str, **arguments: Any) -> Manifest:
    enabled = {"enabled": [{"name": name, "weight": 10}]}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": dict.fromkeys(points or ("multiPoint",), enabled),
                "pluginConfig": [{"name": name, "args": arguments}],
            }
        ],
    }


def _tried(configuration: Manifest, *objects: Manifest) -> Cluster:
    """A pod p that has been tried where there are two nodes, a and b."""
    made = scene(*(objects or (node("a"), node("b"), pod("p"))), configuration=configuration)
    return played(Cluster.create(made, tie_break="name"), 1)


def _message(cluster: Cluster) -> str:
    return cluster.store.get("Pod", "default/p").status["conditions"][0]["message"]


@pytest.mark.parametrize("name", ["Choosy", "LocalChoosy", "Fragile"])
def test_a_refused_node_is_left_out(name: str) -> None:
    configuration = _configured(name, fits={"a": "no"}, score={"a": 100})
    assert node_of(_tried(configuration), "p") == "b"


@pytest.mark.parametrize("name", ["Choosy", "LocalChoosy"])
def test_each_reason_is_counted_in_the_message(name: str) -> None:
    cluster = _tried(_configured(name, fits={"a": "no", "b": "never"}))
    assert _message(cluster).startswith("0/2 nodes are available: 1 not here, 1 not now.")


@pytest.mark.parametrize("count", [2, 250])
@pytest.mark.parametrize("name", ["Choosy", "LocalChoosy"])
def test_the_node_with_the_highest_score_is_chosen(name: str, count: int) -> None:
    nodes = [node(f"n{number}") for number in range(count)]
    cluster = _tried(_configured(name, score={"n1": 100}), *nodes, pod("p"))
    assert node_of(cluster, "p") == "n1"


def test_pods_on_a_node_are_seen_at_once() -> None:
    cluster = _tried(_configured("Least"), node("a"), node("b"), *(pod(name) for name in "pqrs"))
    assert [node_of(cluster, name) for name in "pqrs"] == ["a", "b", "a", "b"]


def test_a_failed_score_fails_the_attempt() -> None:
    message = _message(_tried(_configured("Choosy", score={"b": "error"})))
    assert message == 'running Score plugins: plugin "Choosy" failed with: it broke'


def test_plugin_error_fails_the_attempt_where_allowed() -> None:
    message = _message(_tried(_configured("Fragile", fits={"b": "error"})))
    assert message == 'running "Fragile" filter plugin: it broke'


def test_error_of_any_other_plugin_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="plugin Choosy: a status of fits is SUCCESS or a refusal"):
        _tried(_configured("Choosy", fits={"b": "error"}))
    # The boundary of a run would have caught it.
    assert Boundary.loud is not None
    Boundary.loud.clear()


def test_a_plugin_takes_part_where_it_is_enabled() -> None:
    arguments = {"fits": {"a": "no"}, "score": {"a": 100}}
    assert node_of(_tried(_configured("Choosy", "score", **arguments)), "p") == "a"
    assert node_of(_tried(_configured("Choosy", "filter", **arguments)), "p") == "b"


def test_plugin_without_fits_cannot_be_enabled_at_filter() -> None:
    with pytest.raises(ConfigurationError, match='"Least" does not extend FilterPlugin plugin'):
        _tried(_configured("Least", "filter"))


def test_refused_pod_is_tried_again_after_a_checkpoint() -> None:
    cluster = _tried(_configured("Choosy", fits={"a": "no"}), node("a"), pod("p"))
    cluster.take()
    cluster = Cluster.restore(cluster.checkpoint())
    assert _message(cluster).startswith("0/1 nodes are available: 1 not now.")
    assert cluster.apply(Command(verb="create", manifest=node("b"))).applied
    assert node_of(played(cluster, 30), "p") == "b"


def test_a_node_state_reads_the_table() -> None:
    table = NodeTable()
    row = table.add_node(make_node("a", cpu="2", labels={"zone": "z"}))
    state = NodeState(table, row)
    assert (state.name, state.labels["zone"], state.node.name) == ("a", "z", "a")
    assert state.allocatable["cpu"] == 2000
    assert (state.requested["cpu"], state.pods) == (0, [])


def test_plugin_class_that_is_not_simple_makes_itself() -> None:
    assert columns_of(Resources) is Resources  # type: ignore[arg-type]


_MODULE = """
from engine.framework.framework import Code, Status
from engine.framework.simple import SimplePlugin


class Simple(SimplePlugin):
    name = "Simple"

    def fits(self, pod, node):
        return Status(Code.UNRESOLVABLE, ("not here",))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed module with plugin Simple."""
    path = tmp_path / "simple_example.py"
    path.write_text(_MODULE)
    info = tmp_path / "simple_example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: simple-example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kscope.plugins]\nSimple = simple_example:Simple\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "simple_example", raising=False)
    package_digest.cache_clear()
    return path


def test_a_checkpoint_is_stale_when_the_plugin_changed(package: Path) -> None:
    cluster = _tried(_configured("Simple"))
    cluster.take()
    blob = cluster.checkpoint()
    assert Cluster.restore(blob).seq > 0
    package.write_text(f"{_MODULE}# changed\n")
    package_digest.cache_clear()
    with pytest.raises(StaleCheckpoint, match="the code of the plugins in simple_example"):
        Cluster.restore(blob)
