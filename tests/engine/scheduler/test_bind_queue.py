"""Volumes bound by v1.11's BindQueue, beside the ways of v1.16 and v1.34."""

from itertools import pairwise

import pytest

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.recorder import Event
from engine.kernel.units import MILLISECOND, SECOND
from engine.scheduler.cycle.binding.bind_queue import STARTED
from tests.builders import (
    Manifest,
    claim,
    host,
    local_disk,
    local_volume,
    node_of,
    played,
    pod,
    scene,
    storage_class,
    user_of,
)


def cluster_of(*objects: Manifest, profile: str = "v1.11", **fields: object) -> Cluster:
    return Cluster.create(scene(*objects, **fields), profile=profile, tie_break="name")


def one_pod() -> tuple[Manifest, ...]:
    return (*local_disk("data", "a"), host("a"), host("b"), user_of("data"))


def at(events: list[Event], kind: str) -> int:
    return next(one.seq for one in events if one.kind == kind)


def condition(cluster: Cluster, name: str = "p") -> Manifest:
    return cluster.store.get("Pod", f"default/{name}").status["conditions"][0]


@pytest.mark.parametrize("profile", ["v1.16", "v1.20", "v1.34"])
def test_later_versions_assume_pods_before_binding_their_volumes(profile: str) -> None:
    cluster = played(cluster_of(*one_pod(), profile=profile))
    events = cluster.take().events
    assert at(events, "PodAssumed") < at(events, "VolumePreBound") < at(events, "PodBound")
    assert not any(one.kind == "VolumeBindingQueued" for one in events)


def test_v1_11_binds_volumes_before_it_assumes_the_pod() -> None:
    cluster = played(cluster_of(*one_pod()))
    assert node_of(cluster, "p") == "a"
    events = cluster.take().events
    order = ["VolumeBindingQueued", "VolumePreBound", "ClaimBound", "PodAssumed", "PodBound"]
    assert [at(events, kind) for kind in order] == sorted(at(events, kind) for kind in order)


def test_the_pod_always_returns_to_the_queue() -> None:
    cluster = played(cluster_of(*one_pod()))
    slice_ = cluster.take()
    told = [one for one in slice_.events if one.kind == "FailedScheduling"]
    assert [(one.message, one.data) for one in told] == [
        (STARTED, {"event": True, "type": "Normal"})
    ]
    assert [one.result for one in slice_.attempts] == ["error", "scheduled"]
    first = slice_.attempts[0].evidence
    assert first is not None
    assert first["volume_binding"] == {
        "node": "a",
        "bind": {"default/data": "data-disk"},
        "provision": {},
    }


def test_the_condition_says_what_is_waited_for() -> None:
    cluster = cluster_of(*one_pod())
    while "conditions" not in cluster.store.get("Pod", "default/p").status:
        cluster.advance(cluster.now + MILLISECOND)
    assert condition(cluster)["reason"] == "VolumeBindingWaiting"
    assert condition(cluster)["status"] == "False"


def test_a_pod_waits_for_the_pv_controller() -> None:
    """Nothing is left to write, so the BindQueue is not asked again."""
    fault = {"fail": "write", "kind": "PersistentVolumeClaim", "by": "pv-controller", "times": 2}
    cluster = cluster_of(*one_pod())
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    played(cluster, 60)
    events = cluster.take().events
    assert [one.kind for one in events].count("VolumeBindingQueued") == 1
    assert [one.message for one in events if one.kind == "FailedScheduling"].count(STARTED) > 1
    assert node_of(cluster, "p") == "a"


def test_other_pods_may_take_the_room_meanwhile() -> None:
    objects = (*local_disk("data", "a"), host("a", cpu="1"), user_of("data"), pod("quick"))
    cluster = played(cluster_of(*objects), 30)
    assert node_of(cluster, "quick") == "a"
    assert node_of(cluster, "p") == ""
    assert "1 Insufficient cpu" in condition(cluster)["message"]
    # Its volume is bound all the same.
    assert cluster.store.get("PersistentVolumeClaim", "default/data").spec["volumeName"]


def test_one_worker_binds_one_pod_after_the_other() -> None:
    names = ("one", "two", "three")
    objects = [storage_class("local"), host("a")]
    for name in names:
        objects += [local_volume(f"{name}-disk", "a"), claim(name, "local"), user_of(name, name)]
    cluster = played(cluster_of(*objects))
    events = cluster.take().events
    writes = [one.at for one in events if one.kind == "VolumePreBound"]
    assert len(set(writes)) == 3
    assert all(later - earlier >= 2 * MILLISECOND for earlier, later in pairwise(writes))
    assert [node_of(cluster, name) for name in names] == ["a"] * 3
    assert cluster_findings(cluster) == []


def test_failed_write_returns_the_pod_to_the_queue() -> None:
    fault = {"fail": "write", "kind": "PersistentVolume", "by": "scheduler", "times": 1}
    cluster = cluster_of(*one_pod())
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    while "conditions" not in cluster.store.get("Pod", "default/p").status:
        cluster.advance(cluster.now + MILLISECOND)
    assert condition(cluster)["reason"] == "VolumeBindingFailed"
    played(cluster, 120)
    assert node_of(cluster, "p") == "a"
    kinds = [one.kind for one in cluster.take().events]
    assert kinds.count("VolumeBindingQueued") == 2


def test_pod_deleted_meanwhile_does_not_come_back() -> None:
    cluster = cluster_of(*one_pod())
    while not any(one.kind == "VolumeBindingQueued" for one in cluster.take().events):
        cluster.advance(cluster.next_at or 0, max_steps=1)
    gone = Command(verb="delete", object="pod/default/p", grace_seconds=0)
    assert cluster.apply(gone).applied
    played(cluster, 30)
    assert cluster.store.find("Pod", "default/p") is None
    assert not any(one.kind == "AttemptStarted" for one in cluster.take().events)


def test_a_checkpoint_during_a_round_changes_nothing() -> None:
    straight = played(cluster_of(*one_pod()))
    straight.take()
    cluster = cluster_of(*one_pod())
    while not any(one.kind == "VolumeBindingQueued" for one in cluster.take().events):
        cluster.advance(cluster.next_at or 0, max_steps=1)
    cluster = Cluster.restore(cluster.checkpoint())
    cluster.advance(straight.now)
    cluster.take()
    assert cluster.digest() == straight.digest()


def test_a_restarted_scheduler_has_an_empty_bind_queue() -> None:
    cluster = cluster_of(*one_pod())
    while not any(one.kind == "VolumeBindingQueued" for one in cluster.take().events):
        cluster.advance(cluster.next_at or 0, max_steps=1)
    for verb in ("stop_scheduler", "start_scheduler"):
        assert cluster.apply(Command(verb=verb, object="scheduler/default-scheduler")).applied
    assert node_of(played(cluster, 60), "p") == "a"


def _provisioned(**gates: bool) -> Cluster:
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
        "kind": "KubeSchedulerConfiguration",
        "featureGates": gates,
    }
    objects = (storage_class("net", "csi.example.com"), claim("data", "net"), host("a"))
    return cluster_of(*objects, user_of("data"), configuration=configuration, until=300 * SECOND)


def test_nothing_is_provisioned_without_the_feature_gate() -> None:
    cluster = played(_provisioned(), 30)
    assert condition(cluster)["message"] == (
        "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."
    )


def test_selected_node_leaves_the_claim_to_the_controller() -> None:
    cluster = played(_provisioned(DynamicProvisioningScheduling=True), 200)
    assert node_of(cluster, "p") == "a"
    told = [one.message for one in cluster.take().events if one.kind == "FailedScheduling"]
    assert told[0] == STARTED
    assert "pod has unbound PersistentVolumeClaims" in told[1]
