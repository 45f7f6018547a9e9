"""Slow API writes: told late, in order, and their author does nothing else until they are answered."""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.input.scenario import Scenario, Step
from engine.kernel.units import MINUTE, SECOND
from tests.scenarios.played import Played
from tests.scenarios.test_golden import claim, fault, node, pod, storage_class, volume


def _play(*objects: dict[str, Any], steps: tuple[Step, ...], profile: str = "v1.34") -> Played:
    scenario = Scenario(
        name="slow", objects=objects, steps=steps, until=2 * MINUTE, profile=profile
    )
    return Played(scenario, tie_break="name")


def _bound(played: Played) -> list[tuple[int, str]]:
    kinds = ("VolumePreBound", "VolumeBound", "ClaimBindCompleted", "ClaimBound")
    return [(e.at // SECOND, e.kind) for e in played.events if e.kind in kinds]


def test_four_writes_of_a_bind_follow_each_other() -> None:
    played = _play(
        storage_class("Immediate"),
        volume("pv"),
        claim("data"),
        steps=(fault(slow="pv-controller", delay="2s"),),
    )
    assert _bound(played) == [
        (2, "VolumePreBound"),
        (4, "VolumeBound"),
        (6, "ClaimBindCompleted"),
        (8, "ClaimBound"),
    ]
    then = played.at(5)
    assert then["volume/pv"]["claim"] == "default/data"
    assert "volume" not in then["claim/default/data"]


def test_one_kind_can_be_slow_a_few_times() -> None:
    slow = fault(slow="pv-controller", kind="PersistentVolumeClaim", delay="3s", times=1)
    played = _play(storage_class("Immediate"), volume("pv"), claim("data"), steps=(slow,))
    assert _bound(played) == [
        (0, "VolumePreBound"),
        (0, "VolumeBound"),
        (3, "ClaimBindCompleted"),
        (3, "ClaimBound"),
    ]


def test_controller_does_nothing_else_while_awaiting_an_answer() -> None:
    played = _play(
        storage_class("Immediate"),
        volume("pv-1"),
        volume("pv-2"),
        claim("first"),
        claim("second"),
        steps=(fault(slow="pv-controller", kind="PersistentVolumeClaim", delay="5s"),),
    )
    bound = [(e.at // SECOND, e.object) for e in played.events if e.kind == "ClaimBound"]
    assert bound == [(10, "claim/default/first"), (20, "claim/default/second")]


def test_slow_author_delays_no_others() -> None:
    played = _play(
        node("n1", "z1"),
        pod("a"),
        pod("b"),
        steps=(fault(slow="scheduler", kind="Pod", delay="4s"),),
    )
    # Two bindings run beside each other; the kubelet hears of each when it is written.
    bound = [e.at // SECOND for e in played.events if e.kind == "PodBound"]
    running = [e.at // SECOND for e in played.events if e.kind == "PodRunning"]
    assert (bound, running) == ([4, 4], [4, 4])


def test_assumption_does_not_expire_before_the_bind_answer() -> None:
    """v1.16 gives an assumed pod up 30 s after its binding is written, not while it is."""
    steps = (fault(slow="scheduler", kind="Pod", delay="45s"),)
    played = _play(node("n1", "z1"), pod("a"), steps=steps, profile="v1.16")
    assert [e.at // SECOND for e in played.events if e.kind == "PodBound"] == [45]
    assert not [e for e in played.events if e.kind == "AssumptionExpired"]
    assert played.pods() == {"default/a": ("Running", "n1")}


def test_later_write_waits_behind_a_slow_earlier_one() -> None:
    steps = (
        fault(slow="scheduler", delay="10s"),
        Step(at=SECOND, verb="patch", object="pod/default/a", patch={"metadata": {"labels": {}}}),
    )
    played = _play(node("n1", "z1"), pod("a"), steps=steps)
    kinds = [e.kind for e in played.events if e.kind in ("PodBound", "PodUpdated")]
    assert kinds == ["PodBound", "PodUpdated"]


def test_events_follow_the_write_that_they_report() -> None:
    played = _play(
        storage_class("Immediate", "csi.example.com"),
        claim("data"),
        steps=(fault(slow="external-provisioner", delay="7s"),),
    )
    told = [(e.at // SECOND, e.kind) for e in played.events if e.component.startswith("external")]
    assert told == [(0, "Provisioning"), (8, "VolumeProvisioned"), (8, "ProvisioningSucceeded")]


def test_slowness_ends_with_a_delay_of_nothing() -> None:
    steps = (
        fault(slow="pv-controller", delay="2s"),
        fault(at=30 * SECOND, slow="pv-controller", delay=0),
        Step(at=31 * SECOND, verb="create", manifest=claim("late")),
    )
    played = _play(storage_class("Immediate"), volume("pv"), steps=steps)
    assert {at for at, _ in _bound(played)} == {31}


def test_a_slow_write_under_way_survives_a_checkpoint() -> None:
    scenario = Scenario(
        name="slow",
        objects=(storage_class("Immediate"), volume("pv"), claim("data")),
        steps=(fault(slow="pv-controller", delay="2s"),),
        until=MINUTE,
    )
    straight, broken = Cluster.create(scenario), Cluster.create(scenario)
    broken.advance(5 * SECOND)
    broken.take()
    broken = Cluster.restore(broken.checkpoint())
    for cluster in (straight, broken):
        cluster.advance(MINUTE)
        cluster.take()
    assert straight.digest() == broken.digest()


def test_restarted_controller_awaits_no_answers_of_its_predecessor() -> None:
    steps = (
        fault(slow="pv-controller", delay="1m", times=1),
        fault(at=5 * SECOND, restart="pv-controller"),
        Step(at=10 * SECOND, verb="create", manifest=volume("other", size="3Gi")),
        Step(at=10 * SECOND, verb="create", manifest=claim("late", size="3Gi")),
    )
    played = _play(storage_class("Immediate"), volume("pv"), claim("data"), steps=steps)
    bound = {e.object: e.at // SECOND for e in played.events if e.kind == "ClaimBound"}
    # What was sent is written in its time, but nobody waits for it.
    assert bound == {"claim/default/late": 10, "claim/default/data": 60}
