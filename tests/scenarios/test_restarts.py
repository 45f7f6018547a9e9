"""A controller that restarts loses what it had in memory, and the run comes to rest all the same."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from engine.api_server.store.faults import PROCESSES, RESTARTABLE
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.scenario import Scenario, Step
from engine.kernel.units import MILLISECOND, MINUTE, SECOND
from tests.scenarios.played import Played
from tests.scenarios.test_golden import claim, fault, node, pod, storage_class, volume

_STORAGE = {
    "pv-controller": "pv_controller",
    "attach-detach": "attach_detach",
    "volume-expand": "expand_controller",
    "pvc-protection": "claim_protection",
    "pv-protection": "volume_protection",
    "vac-protection": "class_protection",
    "external-provisioner": "provisioners",
    "external-resizer": "resizers",
    "csi-attacher": "csi_attacher",
}
_WORKLOADS = {
    "namespace-controller": "namespaces",
    "deployment-controller": "deployments",
    "replicaset-controller": "replica_sets",
    "statefulset-controller": "stateful_sets",
    "daemonset-controller": "daemon_sets",
    "job-controller": "jobs",
    "resourcequota-controller": "resource_quotas",
    "disruption-controller": "disruption",
    "ephemeral-volume-controller": "ephemeral",
    "pod-garbage-collector": "pod_gc",
    "garbage-collector": "garbage_collector",
    "node-controller": "node_lifecycle",
    "taint-controller": "taint_manager",
}


def deployment(name: str, replicas: int) -> dict[str, Any]:
    template = pod("x")["spec"]
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template},
        },
    }


def _objects() -> tuple[dict[str, Any], ...]:
    return (
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


def _end(played: Played) -> dict[str, tuple[str, ...]]:
    """What it has come to, names that are drawn left aside."""
    pods = sorted(phase for phase, _ in played.pods().values())
    return {"pods": tuple(pods), "claims": tuple(sorted(played.claims()))}


def _component(cluster: Cluster, name: str) -> Any:
    if name in _STORAGE:
        return getattr(cluster.volumes, _STORAGE[name])
    return getattr(cluster.workloads, _WORKLOADS[name])


@pytest.mark.parametrize("after", [1, 10, 300, 1_500, 4_000])
@pytest.mark.parametrize("name", ["scheduler", "kube-controller-manager", "csi-attacher", "n1"])
def test_restart_at_any_time_changes_no_end(name: str, after: int) -> None:
    steps = (fault(at=after * MILLISECOND, restart=name),)
    played = Played(Scenario(name="r", objects=_objects(), steps=steps, until=5 * MINUTE))
    calm = Played(Scenario(name="r", objects=_objects(), until=5 * MINUTE))
    assert _end(played) == _end(calm)
    assert any(event.kind == "ControllerRestarted" for event in played.events)


@pytest.fixture
def young() -> Iterator[None]:
    """Keep what a test makes in the collector's first generation, which is looked through at once.

    A look at everything that earlier tests have left takes half a second.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("young")
@pytest.mark.parametrize("name", [one for one in RESTARTABLE if one not in PROCESSES])
def test_nothing_of_the_old_controller_lives_on(name: str) -> None:
    scenario = Scenario(name="r", objects=_objects(), until=5 * MINUTE)
    cluster = Cluster.create(scenario)
    cluster.advance(1200 * MILLISECOND)
    old = weakref.ref(_component(cluster, name))
    assert cluster.apply(Command(verb="fault", patch={"restart": name})).applied
    gc.collect(0)
    assert old() is None
    events = cluster.take().events
    told = next(event for event in events if event.kind == "ControllerRestarted")
    assert told.component == name
    cluster.advance(5 * MINUTE)
    assert cluster.next_at is None


@pytest.mark.usefixtures("young")
def test_nothing_of_the_old_scheduler_lives_on() -> None:
    cluster = Cluster.create(Scenario(name="r", objects=_objects(), until=5 * MINUTE))
    cluster.advance(1200 * MILLISECOND)
    old = weakref.ref(cluster.scheduler)
    assert cluster.apply(Command(verb="fault", patch={"restart": "scheduler"})).applied
    gc.collect(0)
    assert old() is None


def test_claim_half_bound_at_restart_is_bound_later() -> None:
    """The new controller finds the volume's claimRef, and goes on from there.

    After ten failures the old one would have tried again after 1.7 s.
    """
    played = Played(
        Scenario(
            name="r",
            objects=(storage_class("Immediate"), volume("pv"), claim("data")),
            steps=(
                fault(fail="write", by="pv-controller", kind="PersistentVolumeClaim", times=10),
                fault(at=SECOND, restart="pv-controller"),
            ),
            until=MINUTE,
        )
    )
    before, after = played.at(0.9), played.at(1.1)
    assert before["volume/pv"]["claim"] == "default/data"
    assert "volume" not in before["claim/default/data"]
    assert after["claim/default/data"]["volume"] == "pv"


def test_next_controller_detaches_volumes_of_a_lost_pod() -> None:
    """No node reports it yet; its VolumeAttachment is all that tells of it (since 1.21)."""
    steps = (
        fault(at=SECOND, restart="attach-detach"),
        Step(at=SECOND, verb="delete", object="pod/default/web", grace_seconds=0),
    )
    objects = (storage_class("Immediate"), volume("pv"), claim("data"), node("n1", "z1"))
    played = Played(
        Scenario(name="r", objects=(*objects, pod("web", "data")), steps=steps, until=10 * MINUTE)
    )
    assert any(event.kind == "VolumeAttachmentCreated" for event in played.events)
    assert not [entity for entity in played.end if entity.startswith("volumeattachment/")]


def test_unknown_restart_is_refused_with_the_known_ones() -> None:
    cluster = Cluster.create(Scenario(name="empty", objects=(node("n1", "z1"),)))
    for wrong, text in (("n2", "neither a node nor one of"), ("scheduler/x", "no scheduler x")):
        outcome = cluster.apply(Command(verb="fault", patch={"restart": wrong}))
        assert not outcome.applied
        assert text in outcome.reason
