"""Stories people got lost in, replayed: volumes in the wrong zone, bindings that fail half-way,
events that nobody hears, and what becomes of a cluster when something breaks.
"""

from dataclasses import replace

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.framework import names
from engine.input.scenario import Scenario, Step
from engine.kernel.units import MINUTE, SECOND
from engine.scheduler.configuration.profiles import PROFILES
from tests.scenarios.cases import claim, fault, node, play, pod, storage_class, volume


@pytest.mark.parametrize(
    ("mode", "checked", "outcome"),
    [
        ("Immediate", True, ("Running", "n2")),
        # The pod goes where the disk cannot be attached, as in clusters without the check.
        ("Immediate", False, ("Pending", "n1")),
        # A volume that says where it is by a label alone says so to nobody before it is bound.
        ("WaitForFirstConsumer", True, ("Pending", "n1")),
        ("WaitForFirstConsumer", False, ("Pending", "n1")),
    ],
)
def test_a_disk_in_zone_2(
    monkeypatch: pytest.MonkeyPatch, mode: str, checked: bool, outcome: tuple[str, str]
) -> None:
    if not checked:
        filters = tuple(name for name in PROFILES["v1.34"].filters if name != names.VOLUME_ZONE)
        assert isinstance(PROFILES, dict)
        monkeypatch.setitem(PROFILES, "v1.34", replace(PROFILES["v1.34"], filters=filters))
    played = play(
        node("n1", "z1"),
        node("n2", "z2"),
        storage_class(mode),
        volume("pv", zone="z2"),
        claim("data"),
        steps=(Step(at=5 * SECOND, verb="create", manifest=pod("web", "data")),),
    )
    assert played.pods()["default/web"] == outcome
    assert played.claims()["default/data"] == "pv"
    failed = [event.message for event in played.events if event.kind == "FailedAttachVolume"]
    assert bool(failed) == (outcome == ("Pending", "n1"))
    assert all("volume pv is in zone z2, node n1 is in zone z1" in told for told in failed)


def test_small_claim_takes_a_large_volume_if_alone() -> None:
    played = play(
        storage_class("Immediate"), volume("pv-120", "120Gi"), volume("pv-1", "1Gi"), claim("data")
    )
    assert played.claims() == {"default/data": "pv-120"}


def test_unwritable_claim_stays_half_bound() -> None:
    """The volume names the claim, the claim no volume; the next resync mends it."""
    played = play(
        storage_class("Immediate"),
        volume("pv"),
        claim("data"),
        node("n1", "z1"),
        pod("web", "data"),
        steps=(fault(fail="write", by="pv-controller", kind="PersistentVolumeClaim", times=2),),
    )
    then = played.at(5)
    assert then["volume/pv"]["claim"] == "default/data"
    assert "volume" not in then["claim/default/data"]
    assert "unbound immediate" in then["pod/default/web"]["blocker"]["sentence"]
    assert played.pods()["default/web"] == ("Running", "n1")


def test_pod_waits_until_its_failing_volume_is_made() -> None:
    played = play(
        storage_class("WaitForFirstConsumer", "csi.example.com"),
        claim("data"),
        node("n1", "z1"),
        pod("web", "data"),
        steps=(fault(fail="provision", claim="default/data", times=2),),
    )
    failed = [event for event in played.events if event.kind == "ProvisioningFailed"]
    assert len(failed) == 2
    assert played.pods()["default/web"] == ("Running", "n1")


def test_timed_out_bind_pins_claims_to_their_node() -> None:
    """The node that was chosen stays on the claim: no other will do, though it has room."""
    played = play(
        storage_class("WaitForFirstConsumer", "csi.example.com"),
        claim("data"),
        node("n1", "z1"),
        node("n2", "z2"),
        pod("web", "data"),
        steps=(fault(absent="csi.example.com"),),
        until=11 * MINUTE,
    )
    messages = [e.message for e in played.events if e.kind == "FailedScheduling"]
    assert messages
    assert messages[0].startswith('running PreBind plugin "VolumeBinding": binding volumes: ')
    assert played.pods()["default/web"][0] == "Pending"


def test_a_mount_that_fails_is_tried_again() -> None:
    objects = (storage_class("Immediate"), volume("pv"), claim("data"), node("n1", "z1"))
    quick = play(*objects, pod("web", "data"))
    slow = play(*objects, pod("web", "data"), steps=(fault(fail="mount", volume="pv", times=3),))
    assert slow.pods() == quick.pods() == {"default/web": ("Running", "n1")}
    assert any(event.kind == "FailedMount" for event in slow.events)


def test_lagging_watch_is_heard_late_and_in_order() -> None:
    steps = (
        fault(lag="Pod", delay="10s"),
        Step(at=SECOND, verb="create", manifest=pod("web")),
        fault(at=2 * SECOND, lag="Pod", delay=0),
        Step(at=3 * SECOND, verb="create", manifest=pod("later")),
    )
    played = play(node("n1", "z1"), steps=steps)
    bound = [e for e in played.events if e.kind == "PodBound"]
    assert [e.object for e in bound] == ["pod/default/web", "pod/default/later"]
    assert bound[0].at > 11 * SECOND


def test_a_volume_that_vanishes_leaves_its_claim_lost() -> None:
    played = play(
        storage_class("Immediate"),
        volume("pv"),
        claim("data"),
        steps=(fault(at=20 * SECOND, vanish="PersistentVolume/pv"),),
    )
    assert played.end["claim/default/data"]["phase"] == "Lost"


def test_a_fault_that_makes_no_sense_is_refused() -> None:
    cluster = Cluster.create(Scenario(name="empty"))
    for wrong in ({}, {"fail": "nothing"}, {"fail": "write", "by": "nobody"}, {"lag": ""}):
        outcome = cluster.apply(Command(verb="fault", patch=wrong))
        assert not outcome.applied


def test_run_with_faults_resumes_identically_from_a_checkpoint() -> None:
    objects = (storage_class("Immediate"), volume("pv"), claim("data"), node("n1", "z1"))
    steps = (fault(fail="mount", probability=0.5, times=4), fault(lag="Node", delay="1s"))
    scenario = Scenario(
        name="faults", objects=(*objects, pod("web", "data")), steps=steps, until=MINUTE
    )
    straight, broken = Cluster.create(scenario), Cluster.create(scenario)
    broken.advance(2 * SECOND)
    broken.take()
    broken = Cluster.restore(broken.checkpoint())
    for cluster in (straight, broken):
        cluster.advance(MINUTE)
        cluster.take()
    assert straight.digest() == broken.digest()
