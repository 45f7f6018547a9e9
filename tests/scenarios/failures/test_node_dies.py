"""A node that loses its power: doubted, tainted, its pods evicted; and what a boot makes of it."""

from dataclasses import replace
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.scenario import Scenario, Step
from engine.kernel.units import MINUTE, SECOND
from tests.scenarios.played import Played
from tests.scenarios.test_golden import claim, fault, node, pod, storage_class, volume
from tests.scenarios.test_restarts import deployment

_DISK = (storage_class("Immediate"), volume("pv"), claim("data"))


def _play(
    *objects: dict[str, Any], steps: tuple[Step, ...], until: int = 15 * MINUTE, **more: Any
) -> Played:
    scenario = Scenario(name="dead", objects=objects, steps=steps, until=until)
    return Played(replace(scenario, **more), tie_break="name")


def _when(played: Played, kind: str, target: str) -> list[int]:
    return [e.at // SECOND for e in played.events if (e.kind, e.object) == (kind, target)]


@pytest.mark.parametrize(("profile", "grace"), [("v1.16", 40), ("v1.20", 40), ("v1.34", 50)])
def test_silent_node_is_doubted_after_the_grace_period(profile: str, grace: int) -> None:
    steps = (fault(at=12 * SECOND, die="n1"),)
    played = _play(node("n1", "z1"), node("n2", "z1"), steps=steps, profile=profile)
    assert _when(played, "NodeStatusUnknown", "node/n1") == [grace + 15]
    assert not played.end["node/n1"].get("ready")
    taints = {(t["key"], t["effect"]) for t in played.end["node/n1"]["taints"]}
    unreachable = "node.kubernetes.io/unreachable"
    assert taints == {(unreachable, "NoSchedule"), (unreachable, "NoExecute")}


def test_pods_of_a_dead_node_are_replaced() -> None:
    steps = (fault(at=10 * SECOND, die="n1"),)
    objects = (node("n1", "z1"), node("n2", "z1"), deployment("web", 4))
    played = _play(*objects, steps=steps, until=10 * MINUTE)
    before = [name for name, (_, where) in played.pods(played.at(9)).items() if where == "n1"]
    assert before
    for name in before:
        assert "deleting" in played.end[f"pod/{name}"]
    living = [1 for phase, where in played.pods().values() if (phase, where) == ("Running", "n2")]
    assert len(living) == 4
    evicted = _when(played, "TaintManagerEviction", f"pod/{before[0]}")
    assert 360 <= evicted[0] <= 370


def test_disk_of_a_dead_node_is_detached_forcibly() -> None:
    steps = (
        fault(at=10 * SECOND, die="n1"),
        Step(at=MINUTE, verb="delete", object="pod/default/web", grace_seconds=0),
        Step(at=2 * MINUTE, verb="create", manifest=pod("next", "data", nodeName="n2")),
    )
    objects = (node("n1", "z1"), node("n2", "z1"), *_DISK, pod("web", "data", nodeName="n1"))
    played = _play(*objects, steps=steps)
    (forced,) = _when(played, "VolumeDetachForced", "node/n1")
    assert 7 * 60 <= forced <= 7 * 60 + 1
    assert played.pods() == {"default/next": ("Running", "n2")}


def test_node_that_returns_quickly_restarts_its_pods() -> None:
    steps = (fault(at=10 * SECOND, die="n1"), fault(at=30 * SECOND, revive="n1"))
    once = pod("once", nodeName="n1", restartPolicy="Never")
    once["metadata"]["annotations"] = {"kscope.dev/run-for": "5m"}
    objects = (node("n1", "z1"), *_DISK, pod("web", "data", nodeName="n1"), once)
    played = _play(*objects, steps=steps)
    assert _when(played, "NodeStatusUnknown", "node/n1") == []
    assert len(_when(played, "PodRunning", "pod/default/web")) == 2
    assert played.pods()["default/web"] == ("Running", "n1")
    # What has happened to a container that is not started again is not known.
    assert played.pods()["default/once"] == ("Failed", "n1")
    assert [v["mounts"] for v in played.end["node/n1"]["volumes"].values()] == [
        {"default/web": "VolumeMounted"}
    ]


def test_node_that_returns_late_loses_its_terminating_pods() -> None:
    steps = (fault(at=10 * SECOND, die="n1"), fault(at=8 * MINUTE, revive="n1"))
    objects = (node("n1", "z1"), node("n2", "z1"), deployment("web", 4))
    played = _play(*objects, steps=steps)
    assert played.end["node/n1"]["ready"] is True
    assert not played.end["node/n1"].get("taints")
    assert {phase for phase, _ in played.pods().values()} == {"Running"}
    assert len(played.pods()) == 4


def test_restarted_controller_grants_a_dead_node_new_grace() -> None:
    steps = (fault(at=10 * SECOND, die="n1"), fault(at=40 * SECOND, restart="node-controller"))
    played = _play(node("n1", "z1"), node("n2", "z1"), steps=steps)
    assert _when(played, "NodeStatusUnknown", "node/n1") == [95]


def test_only_powered_things_can_lose_and_regain_power() -> None:
    cluster = Cluster.create(Scenario(name="one", objects=(node("n1", "z1"),)))

    def reason(verb: str, **parts: Any) -> str:
        return cluster.apply(Command(verb=verb, **parts)).reason

    assert reason("fault", patch={"revive": "n1"}) == "Invalid: node n1 has power"
    assert reason("fault", patch={"die": "n1"}) == ""
    assert reason("fault", patch={"restart": "n1"}) == "Invalid: node n1 has no power"
    assert reason("start_kubelet", object="node/n1") == "Invalid: node/n1 has no power"
    assert reason("fault", patch={"die": "n9"}).startswith("NotFound: ")
