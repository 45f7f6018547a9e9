"""An exception that nobody expected ends no run: its component begins anew from the store."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from engine.api_server.admission.admission import Admission
from engine.api_server.admission.quota.quota_admission import QuotaAdmission
from engine.api_server.store.workqueue import WorkQueue
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.cluster.known_fields import KnownFields
from engine.controllers.attach_detach.reconciler import Reconciler
from engine.controllers.garbage_collection.garbage_collector import GarbageCollector
from engine.controllers.persistent_volumes.claim_sync import ClaimSync
from engine.controllers.workloads.deployment.controller import DeploymentController
from engine.controllers.workloads.replica_set import ReplicaSetController
from engine.csi_sidecars.external_provisioner import ExternalProvisioners
from engine.framework.runtime import Framework
from engine.input.scenario import Scenario, Step
from engine.kernel.boundary import FAILED, MAX_DELAY, Boundary
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Event
from engine.kernel.units import MINUTE, SECOND
from engine.kubelet.pod_workers import PodWorkers
from engine.kubelet.volume_manager.manager import NodeVolumeManager
from engine.objects.objects import from_manifest
from engine.scheduler.cycle.binding.binding_cycle import BindingCycle
from engine.scheduler.cycle.scheduler import Scheduler
from engine.scheduler.queue.scheduling_queue import SchedulingQueue
from tests.scenarios.test_golden import claim, node, pod, storage_class, volume
from tests.scenarios.test_restarts import deployment

pytestmark = pytest.mark.usefixtures("quiet_boundary")


def _scenario() -> Scenario:
    objects = (
        storage_class("WaitForFirstConsumer", "csi.example.com"),
        node("n1", "z1"),
        node("n2", "z2"),
        claim("data"),
        volume("pv"),
        claim("more"),
        pod("db", "data"),
        pod("log", "more"),
        deployment("web", 3),
    )
    late = Step(at=2 * SECOND, verb="create", manifest=pod("late"))
    return Scenario(name="boundary", objects=objects, steps=(late,), until=5 * MINUTE)


def _played() -> tuple[Cluster, list[Event]]:
    cluster = Cluster.create(_scenario())
    cluster.advance(5 * MINUTE)
    return cluster, cluster.take().events


def _failures(events: list[Event]) -> list[Event]:
    return [event for event in events if event.kind == FAILED]


def _phases(cluster: Cluster) -> list[str]:
    return sorted(str(one.raw["status"].get("phase")) for one in cluster.store.objects("Pod"))


def _failing(original: Callable[..., Any], times: int) -> Callable[..., Any]:
    left = times

    def method(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        if left:
            left -= 1
            raise AttributeError("planted")
        return original(*args, **kwargs)

    return method


_PLACES = [
    (Scheduler, "_decide"),
    (BindingCycle, "begin"),
    (BindingCycle, "_bind"),
    (SchedulingQueue, "move_all_to_active_or_backoff"),
    (Framework, "run_pre_filters"),
    (Framework, "score"),
    (DeploymentController, "sync"),
    (ReplicaSetController, "sync"),
    (GarbageCollector, "_on_object"),
    (ClaimSync, "sync_claim"),
    (ExternalProvisioners, "_sync_claim"),
    (Reconciler, "reconcile"),
    (PodWorkers, "add"),
    (PodWorkers, "update"),
    (NodeVolumeManager, "add_pod"),
]


@pytest.mark.parametrize(
    ("owner", "method"), _PLACES, ids=lambda one: getattr(one, "__name__", one)
)
def test_a_run_goes_on_after_an_exception(
    owner: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, method, _failing(getattr(owner, method), 2))
    cluster, events = _played()
    found = _failures(events)
    assert len(found) == 2 == cluster.unexpected
    assert {event.data["exception"] for event in found if event.data} == {"AttributeError"}
    assert all(event.data and event.data["restarted"] for event in found)
    assert _phases(cluster) == ["Running"] * 6
    assert not any("planted" in event.message for event in found)


def test_a_component_that_always_fails_waits_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplicaSetController, "sync", _failing(ReplicaSetController.sync, 1_000))
    cluster, events = _played()
    delays = [event.data["delay"] for event in _failures(events) if event.data]
    assert delays == [5_000_000 << n for n in range(len(delays))]
    assert 10 < len(delays) < 20
    assert _phases(cluster) == ["Running"] * 3


def test_pod_that_always_fails_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = Scheduler._decide

    def fail_for_one(self: Scheduler, queued: Any) -> Any:
        if queued.key == "default/log":
            raise ZeroDivisionError("planted")
        return decide(self, queued)

    monkeypatch.setattr(Scheduler, "_decide", fail_for_one)
    cluster, events = _played()
    found = _failures(events)
    assert {event.object for event in found} == {"pod/default/log"}
    assert {event.component for event in found} == {"scheduler"}
    assert _phases(cluster).count("Running") == 5
    assert [len(found), 10 < len(found) < 20] == [cluster.unexpected, True]


def test_object_that_breaks_its_watcher_delays_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = ReplicaSetController._on_pod
    heard: list[int] = []

    def fail_for_one(self: ReplicaSetController, event: Any) -> None:
        if event.new.key == "default/log":
            heard.append(1)
            raise ZeroDivisionError("planted")
        original(self, event)

    monkeypatch.setattr(ReplicaSetController, "_on_pod", fail_for_one)
    cluster, events = _played()
    found = _failures(events)
    assert {(event.object, event.component) for event in found} == {
        ("pod/default/log", "replicaset-controller")
    }
    assert len(found) == len(heard) == cluster.unexpected
    assert 5 < len(found) < 20
    assert _phases(cluster) == ["Running"] * 6
    ready = cluster.store.objects("ReplicaSet")[0].status["readyReplicas"]
    assert ready == 3


def test_claim_whose_timer_fails_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    original = ExternalProvisioners._provision

    def fail_for_one(self: ExternalProvisioners, one: Any) -> None:
        if one.key == "default/more":
            raise KeyError("planted")
        original(self, one)

    monkeypatch.setattr(ExternalProvisioners, "_provision", fail_for_one)
    scenario = _scenario()
    objects = (*scenario.objects, claim("third"), pod("third", "third"))
    cluster = Cluster.create(replace(scenario, objects=objects))
    cluster.advance(5 * MINUTE)
    found = _failures(cluster.take().events)
    assert {event.object for event in found} == {"claim/default/more"}
    assert 5 < len(found) < 20
    assert _phases(cluster) == ["Pending", *["Running"] * 6]


def test_history_after_an_exception_can_be_had_again(monkeypatch: pytest.MonkeyPatch) -> None:
    add = PodWorkers.add

    def fail_for_one(self: PodWorkers, one: Any, *args: Any, **kwargs: Any) -> None:
        add(self, one, *args, **kwargs)
        if one.name == "db":
            raise KeyError("planted")

    monkeypatch.setattr(PodWorkers, "add", fail_for_one)
    first, events = _played()
    second = Cluster.create(_scenario())
    second.advance(3 * SECOND)
    second.take()
    third = Cluster.restore(second.checkpoint())
    for one in (second, third):
        one.advance(5 * MINUTE)
        one.take()
    assert len(_failures(events)) > 5
    assert first.digest() == second.digest() == third.digest()


def test_a_command_that_fails_unexpectedly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admission, "admit", _failing(Admission.admit, 0))
    cluster = Cluster.create(_scenario())
    cluster.advance(SECOND)
    monkeypatch.setattr(Admission, "admit", _failing(Admission.admit, 1))
    command = Command(verb="create", manifest=pod("other"))
    refused, accepted = cluster.apply(command), cluster.apply(command)
    assert [refused.applied, accepted.applied] == [False, True]
    assert refused.reason.startswith("InternalError: AttributeError")


def test_a_command_that_fails_names_what_it_creates(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster.create(_scenario())
    monkeypatch.setattr(Admission, "admit", _failing(Admission.admit, 1))
    cluster.apply(Command(verb="create", manifest=pod("other")))
    (found,) = _failures(cluster.take().events)
    assert [found.object, found.component] == ["pod/default/other", "command"]
    assert "left undone" in found.message


@pytest.mark.parametrize(
    ("owner", "method", "subject"),
    [
        (Admission, "admit", "class/disk"),
        (Admission, "_admit_pod", "pod/default/db"),
        (QuotaAdmission, "counted", "resourcequota/default/few"),
        (KnownFields, "initial", "run"),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_an_initial_object_that_fails_is_left_out(
    owner: type, method: str, subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, original = _scenario(), getattr(owner, method)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": "9"}}}
    quota["metadata"] = {"name": "few", "namespace": "default"}
    scenario = replace(scenario, objects=(*scenario.objects, quota))
    histories: list[str] = []
    for _ in range(2):
        monkeypatch.setattr(owner, method, _failing(original, 1))
        cluster = Cluster.create(scenario)
        cluster.advance(MINUTE)
        (found,) = _failures(cluster.take().events)
        assert [found.component, found.object] == ["kube-apiserver", subject]
        assert subject == "run" or cluster.held_view().get(subject) is None
        assert cluster.unexpected == 1
        histories.append(cluster.digest())
    assert histories[0] == histories[1]


def test_old_object_of_wrong_type_ends_no_run() -> None:
    cluster = Cluster.create(_scenario())
    bad: dict[str, Any] = deployment("bad", 1)
    bad["kind"] = "StatefulSet"
    bad["spec"] |= {"serviceName": "bad", "persistentVolumeClaimRetentionPolicy": "Delete"}
    good = {**bad, "metadata": {"name": "good", "namespace": "default"}}
    good["spec"] = {**bad["spec"], "persistentVolumeClaimRetentionPolicy": None}
    # As an older version stored it: today the manifest is refused.
    for manifest in (bad, good):
        cluster.store.create(from_manifest(manifest), by="command")
    cluster.advance(MINUTE)
    found = _failures(cluster.take().events)
    assert {(event.object, event.component) for event in found} == {
        ("statefulset/default/bad", "statefulset-controller")
    }
    assert cluster.store.find("Pod", "default/good-0") is not None


def test_memory_that_is_used_up_is_not_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(Scheduler, "_decide", full)
    with pytest.raises(MemoryError):
        _played()


def test_a_test_hears_of_what_was_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    Boundary.loud = heard = []
    monkeypatch.setattr(Scheduler, "_decide", _failing(Scheduler._decide, 1))
    with pytest.raises(AttributeError):
        _played()
    assert heard == ["AttributeError in engine.scheduler.cycle.scheduler:Scheduler.schedule_one"]


def test_no_delay_grows_beyond_the_longest() -> None:
    assert WorkQueue.MAX_DELAY == MAX_DELAY


def test_what_is_due_next_goes_before_the_rest() -> None:
    loop, ran = EventLoop(), []
    loop.call_at(5, ran.append, "second")
    loop.call_at(5, loop.call_next, ran.append, "third")
    loop.call_at(5, ran.append, "fourth")
    loop.run(until=5)
    assert ran == ["second", "third", "fourth"]
